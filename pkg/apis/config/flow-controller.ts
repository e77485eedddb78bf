// The flow-controller's configuration file: its schema and type, with defaults and the checks between fields.
import * as Type from '@sinclair/typebox';
import { COMMANDS } from '../names.ts';
import { CLOSED, block, flag, labelSelector, whole } from '../schema.ts';
import {
  INSTALLATION_SCHEMA,
  OBSERVED_FIELDS,
  leaderElectionProblems,
  leaderElectionSchema,
  namespaceList,
} from './schema.ts';
import type { ConfigKind } from './load.ts';
import { METRIC_SOURCES_SCHEMA, metricSourcesProblems } from './load-sources.ts';

const status = block('The status of FlowPolicies.', {
  create: flag('Create an empty FlowPolicy, owned by the Service, where a load-aware Service has none.', true),
  minIntervalSeconds: whole(1, 3_600, 'Least time between two status writes if only figures changed.', 60),
});

const nodeGroups = block("KubeEdge's NodeGroups; no effect where they are not installed.", {
  enabled: flag(
    "Give Nodes of KubeEdge's NodeGroups with `spec.topologyEnabled` the group as their zone. Switch it on in one controller of a cluster.",
    false,
  ),
  touchesPerSecond: Type.Number({
    minimum: 0.1,
    maximum: 100,
    default: 5,
    description: "Service writes per second that make endpoints follow a Node's new zone.",
  }),
});

const trafficProof = block('Whether measured connections follow the hints.', {
  enabled: flag(
    'Read the traffic-meters, and report in the condition TrafficDistributionHonored of FlowPolicies whether connections follow the hints.',
    false,
  ),
  namespace: Type.String({ minLength: 1, default: 'topology-traffic-meter', description: 'Namespace of the meters.' }),
  intervalSeconds: whole(5, 300, 'Time between two readings of all meters.', 10),
});

const schema = Type.Object({
  // Several controllers share a cluster this way.
  namespaceSelector: labelSelector('Only Services of namespaces with these labels; empty: all.', CLOSED, {
    default: {},
  }),
  excludedNamespaces: namespaceList('Namespaces whose Services are never changed.'),
  metricSources: METRIC_SOURCES_SCHEMA,
  status,
  nodeGroups,
  trafficProof,
  installation: INSTALLATION_SCHEMA,
  leaderElection: leaderElectionSchema(COMMANDS.flowController),
  ...OBSERVED_FIELDS,
});

export type FlowControllerConfiguration = Type.Static<typeof schema>;

export const FLOW_CONTROLLER_CONFIGURATION: ConfigKind<FlowControllerConfiguration> = {
  kind: 'FlowControllerConfiguration',
  schema,
  check: ({ metricSources, leaderElection }) => [
    ...metricSourcesProblems('metricSources', metricSources),
    ...leaderElectionProblems(leaderElection),
  ],
};
