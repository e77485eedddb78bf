// SPDX-License-Identifier: Apache-2.0
// Configuration that everything knows which takes part in admission: who carries it, where, and who the flow controller is.
import type { Static } from '@sinclair/typebox';
import * as Type from '@sinclair/typebox';
import { COMMANDS } from '../names.ts';
import type { CrossFieldProblem } from './config-kind.ts';
import { namespaceList, namespaceName, object, objectName, oneOf, userName } from './schema.ts';

/** What changes slices and keeps settings at admission: the webhook, policies of the API server, or whatever fits. */
export type AdmissionCarrier = (typeof ADMISSION_CARRIERS)[number];
export const ADMISSION_CARRIERS = ['auto', 'webhook', 'policy'] as const;

/** Schema of the admission backend. */
export const admissionSchema = (description: string) => oneOf(ADMISSION_CARRIERS, { default: 'auto', description });

/** Schema of what is known about the flow controller. */
export const FLOW_CONTROLLER_SCHEMA = object(
  {
    users: Type.Array(userName(), {
      uniqueItems: true,
      default: [],
      description:
        'User names whose planned hints are left unchanged; default: its ServiceAccount in the own namespace.',
    }),
    lease: object(
      {
        namespace: Type.Optional(namespaceName("Default: the Pod's own namespace.")),
        name: objectName('Name of the Lease.', { default: COMMANDS.flowController }),
      },
      { default: {}, description: 'The Lease that shows whether the flow-controller is alive.' },
    ),
  },
  { default: {}, description: 'About the flow-controller.' },
);

export type FlowControllerInformation = Static<typeof FLOW_CONTROLLER_SCHEMA>;

/** Fields that say which namespaces admission serves. */
export const SERVED_NAMESPACES = {
  includedNamespaces: namespaceList(
    'Namespaces to serve even though they are excluded by default (kube-system, default).',
  ),
  excludedNamespaces: namespaceList('Namespaces never served, besides kube-system, default and the own one.'),
};

/** Which namespaces admission serves. */
export interface ServedNamespaces {
  includedNamespaces: string[];
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
