// Configuration of what takes part in admission: which namespaces it serves, and the flow-controller's Lease.
import * as Type from '@sinclair/typebox';
import { COMMANDS } from '../names.ts';
import type { CrossFieldProblem } from './config-kind.ts';
import { namespaceList, namespaceName, object, objectName } from './schema.ts';

export const PLANNER_LEASE_SCHEMA = object(
  {
    namespace: Type.Optional(namespaceName("Default: the Pod's own namespace.")),
    name: objectName('Name of the Lease.', { default: COMMANDS.flowController }),
  },
  { default: {}, description: 'The Lease that shows whether the flow-controller is alive.' },
);

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
