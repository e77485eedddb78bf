// Configuration blocks that several commands share.
import * as Type from '@sinclair/typebox';
import { COMMANDS } from '../names.ts';
import { block, flag, object, oneOf, text, whole } from '../schema.ts';
import type { CrossFieldProblem } from './load.ts';

export const namespaceName = (description: string, more: Type.StringOptions = {}) =>
  text(description, { maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', ...more });

export const objectName = (description: string, more: Type.StringOptions = {}) =>
  text(description, { maxLength: 253, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$', ...more });

export const userName = (more: Type.StringOptions = {}) => Type.String({ minLength: 1, maxLength: 512, ...more });

/** Distinct names of namespaces; none by default. */
export const namespaceList = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }), {
    uniqueItems: true,
    default: [],
    description,
  });

export const endpointFields = (port: number) => ({
  bindAddress: text('Address to listen on; `::` accepts both address families.', { default: '::' }),
  port: whole(0, 65_535, 'TCP port; 0 picks a free one and prints it.', port),
});

const endpointSchema = (port: number) => block('A listening port, plain HTTP.', endpointFields(port));

export type EndpointConfiguration = Type.Static<ReturnType<typeof endpointSchema>>;

const LOG_SCHEMA = block('Log lines, on standard error.', {
  level: oneOf(['debug', 'info', 'warn', 'error'], {
    default: 'info',
    description: 'Least severe level that is written.',
  }),
  format: oneOf(['json', 'console'], { default: 'json', description: '`json` for collectors, `console` for people.' }),
});

export type LogConfiguration = Type.Static<typeof LOG_SCHEMA>;

/** What every command of the cluster shows of itself. */
export const OBSERVED_FIELDS = { health: endpointSchema(8081), metrics: endpointSchema(8080), log: LOG_SCHEMA };

/** Schema of a duration, one second to an hour. */
export const seconds = (value: number, description: string) => whole(1, 3_600, description, value);

export const leaderElectionSchema = (name: string) =>
  block('One of several replicas is active at a time; the Lease decides which.', {
    enabled: flag('False runs without a Lease: only for a single replica.', true),
    namespace: Type.Optional(
      text("Namespace of the Lease; default: the Pod's own namespace, else `default`.", { maxLength: 63 }),
    ),
    name: text('Name of the Lease.', { maxLength: 253, default: name }),
    leaseDurationSeconds: seconds(15, 'After this time without renewal another replica may take the Lease.'),
    renewDeadlineSeconds: seconds(10, 'The leader gives up after failing to renew for this time.'),
    retryPeriodSeconds: seconds(2, 'Pause between two tries to take or renew the Lease.'),
  });

/** Leader election through one Lease; the durations are client-go's. */
export type LeaderElectionConfiguration = Type.Static<ReturnType<typeof leaderElectionSchema>>;

/** The order that keeps two leaders apart: 1.2 × retry < renew deadline < lease duration. */
export const leaderElectionProblems = (config: LeaderElectionConfiguration) => {
  const { leaseDurationSeconds: lease, renewDeadlineSeconds: renew, retryPeriodSeconds: retry } = config;
  const problem = (field: string, message: string) => [{ path: ['leaderElection', field], message }];
  if (renew >= lease) return problem('renewDeadlineSeconds', `must be less than leaseDurationSeconds (${lease}).`);
  // Candidates add up to 1.2 times the period at random; a renewal must still fit into the deadline.
  if (retry * 1.2 < renew) return [];
  return problem('retryPeriodSeconds', `times 1.2 must be less than renewDeadlineSeconds (${renew}).`);
};

const common = {
  clusterRole: Type.Optional(
    text("The component's own ClusterRole, the owner of its cluster-scoped objects. Unset: the own namespace is.", {
      maxLength: 253,
    }),
  ),
};

export const INSTALLATION_SCHEMA = block('The installation that this is part of.', common);

/** What the chart knows about the installation. */
export type InstallationConfiguration = Type.Static<typeof INSTALLATION_SCHEMA>;

/** Schema of the block for commands that take part in admission. */
export const SHARING_INSTALLATION_SCHEMA = block('The installation that this is part of.', {
  ...common,
  claim: Type.Optional(
    object(
      { namespace: namespaceName('Namespace of the Lease.'), name: objectName('Name of the Lease.') },
      {
        description:
          'The Lease that decides which of several installations changes slices. Unset: there is no other one.',
      },
    ),
  ),
  routingLabel: text(
    'Value of the namespace label `topology.extensions.gardener.cloud/routing` that this installation sets.',
    { maxLength: 63, pattern: '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$', default: 'true' },
  ),
});

export const PLANNER_LEASE_SCHEMA = block('The Lease that shows whether the flow-controller is alive.', {
  namespace: Type.Optional(namespaceName("Default: the Pod's own namespace.")),
  name: objectName('Name of the Lease.', { default: COMMANDS.flowController }),
});

/** Fields that say which namespaces admission serves. */
export const SERVED_NAMESPACES = {
  includedNamespaces: namespaceList(
    'Namespaces to serve even though they are excluded by default (kube-system, default).',
  ),
  excludedNamespaces: namespaceList('Namespaces never served, besides kube-system, default and the own one.'),
};

/** A namespace cannot be both; `field` is the block that holds the two lists. */
export const servedNamespacesProblems = (
  field: string,
  { includedNamespaces, excludedNamespaces }: Record<keyof typeof SERVED_NAMESPACES, string[]>,
): CrossFieldProblem[] => {
  const both = includedNamespaces.find((namespace) => excludedNamespaces.includes(namespace));
  if (both === undefined) return [];
  const message = `includes ${JSON.stringify(both)}, which ${field}.excludedNamespaces excludes.`;
  return [{ path: [field, 'includedNamespaces'], message }];
};
