// SPDX-License-Identifier: Apache-2.0
// Configuration that everything knows which takes part in admission: who carries it, where, and who the flow controller is.
import { COMMANDS } from '../names.ts';
import type { CrossFieldProblem } from './config-kind.ts';
import { namespaceName, object, objectName, userName } from './schema.ts';

/** What changes slices and keeps settings at admission: the webhook, policies of the API server, or whatever fits. */
export type AdmissionCarrier = (typeof ADMISSION_CARRIERS)[number];
export const ADMISSION_CARRIERS = ['auto', 'webhook', 'policy'] as const;

/** Schema of the carrier. */
export const admissionSchema = (description: string) => ({
  type: 'string',
  enum: [...ADMISSION_CARRIERS],
  default: 'auto',
  description,
});

/** What is known about the flow controller. */
export interface FlowControllerInformation {
  /** User names whose planned hints pass untouched; default: its ServiceAccount in the own namespace. */
  users: string[];
  /** The Lease that tells whether it is alive. */
  lease: {
    /** Default: the own namespace. */
    namespace?: string;
    /** Default `flow-controller`. */
    name: string;
  };
}

/** Schema of what is known about the flow controller. */
export const FLOW_CONTROLLER_SCHEMA = object(
  {
    users: {
      type: 'array',
      items: userName,
      uniqueItems: true,
      default: [],
      description: 'User names whose planned hints pass untouched; default: its ServiceAccount in our namespace.',
    },
    lease: object(
      {
        namespace: { ...namespaceName, description: "Default: the Pod's own namespace." },
        name: { ...objectName, default: COMMANDS.flowController, description: 'Name of the Lease.' },
      },
      { default: {}, description: 'The Lease that tells whether the flow controller is alive.' },
    ),
  },
  { default: {}, description: 'What is known about the flow controller.' },
);

/** Which namespaces admission serves. */
export interface ServedNamespaces {
  /** Of the namespaces that are excluded (kube-system and default), those to include after all. */
  includedNamespaces: string[];
  /** Namespaces excluded beside kube-system, default and our own. */
  excludedNamespaces: string[];
}

/** A namespace cannot be both; `field` is the block that holds the two lists. */
export const servedNamespacesProblems = (
  field: string,
  { includedNamespaces, excludedNamespaces }: ServedNamespaces,
): CrossFieldProblem[] => {
  const both = includedNamespaces.find((namespace) => excludedNamespaces.includes(namespace));
  if (both === undefined) return [];
  const message = `includes ${JSON.stringify(both)}, which ${field}.excludedNamespaces excludes.`;
  return [{ path: [field, 'includedNamespaces'], message }];
};
