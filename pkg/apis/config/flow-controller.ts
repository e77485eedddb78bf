// SPDX-License-Identifier: Apache-2.0
// The flow-controller's configuration file: its type and its schema, with defaults and the checks between fields.
import type { LabelSelector } from '../admission.ts';
import { COMMANDS } from '../names.ts';
import { LOG_SCHEMA, endpointSchema, leaderElectionProblems, leaderElectionSchema } from './common.ts';
import type { EndpointConfiguration, LeaderElectionConfiguration, LogConfiguration } from './common.ts';
import type { ConfigHeader, ConfigKind, CrossFieldProblem } from './config-kind.ts';
import { INSTALLATION_SCHEMA } from './installation.ts';
import type { InstallationConfiguration } from './installation.ts';
import { METRIC_SOURCES_SCHEMA, metricSourcesProblems } from './load-sources.ts';
import type { MetricSourceConfiguration } from './load-sources.ts';
import { labelSelector, namespaceList, object } from './schema.ts';

/** FlowControllerConfiguration after defaulting. */
export interface FlowControllerConfiguration extends ConfigHeader {
  /** Only Services of namespaces with these labels; empty: all. Several controllers share a cluster this way. */
  namespaceSelector: LabelSelector;
  /** Namespaces never touched. */
  excludedNamespaces: string[];
  /** Where load comes from, the default first. */
  metricSources: MetricSourceConfiguration[];
  status: {
    /** Create a FlowPolicy, owned by the Service, where a load-aware Service has none: its status says what is done. */
    create: boolean;
    /** Least seconds between two writes of a status that only has new figures. */
    minIntervalSeconds: number;
  };
  /** KubeEdge's NodeGroups: zones of their Nodes, and Services with `apps.kubeedge.io/service-topology`. */
  nodeGroups: {
    enabled: boolean;
    /** Service writes a second that make endpoints follow a Node's new zone. */
    touchesPerSecond: number;
  };
  installation: InstallationConfiguration;
  leaderElection: LeaderElectionConfiguration;
  health: EndpointConfiguration;
  metrics: EndpointConfiguration;
  log: LogConfiguration;
}

const namespaceSelector = labelSelector({
  default: {},
  description: 'Only Services of namespaces with these labels; empty: all.',
});

const status = object(
  {
    create: {
      type: 'boolean',
      default: true,
      description: 'Create an empty FlowPolicy, owned by the Service, where a load-aware Service has none.',
    },
    minIntervalSeconds: {
      type: 'integer',
      minimum: 1,
      maximum: 3_600,
      default: 60,
      description: 'Least time between two writes of a status that only has new figures.',
    },
  },
  { default: {}, description: 'The status of FlowPolicies.' },
);

const nodeGroups = object(
  {
    enabled: {
      type: 'boolean',
      default: false,
      description:
        "Give Nodes of KubeEdge's NodeGroups with `spec.topologyEnabled` the group as their zone. Switch it on in one controller of a cluster.",
    },
    touchesPerSecond: {
      type: 'number',
      minimum: 0.1,
      maximum: 100,
      default: 5,
      description: "Service writes a second that make endpoints follow a Node's new zone.",
    },
  },
  { default: {}, description: "KubeEdge's NodeGroups; nothing happens where they are not installed." },
);

const check = (config: FlowControllerConfiguration): CrossFieldProblem[] => {
  const { matchExpressions = [] } = config.namespaceSelector;
  const problems = matchExpressions.flatMap(({ operator, values = [] }, index): CrossFieldProblem[] => {
    const wants = operator === 'In' || operator === 'NotIn';
    if (wants === values.length > 0) return [];
    const message = wants ? `must not be empty for ${operator}.` : `must be empty for ${operator}.`;
    return [{ path: ['namespaceSelector', 'matchExpressions', index, 'values'], message }];
  });
  return [
    ...problems,
    ...metricSourcesProblems('metricSources', config.metricSources),
    ...leaderElectionProblems(config.leaderElection),
  ];
};

/** What `loadConfiguration` needs to read the flow-controller's file. */
export const FLOW_CONTROLLER_CONFIGURATION: ConfigKind<FlowControllerConfiguration> = {
  kind: 'FlowControllerConfiguration',
  schema: {
    type: 'object',
    properties: {
      namespaceSelector,
      excludedNamespaces: namespaceList('Namespaces whose Services are never touched.'),
      metricSources: METRIC_SOURCES_SCHEMA,
      status,
      nodeGroups,
      installation: INSTALLATION_SCHEMA,
      leaderElection: leaderElectionSchema(COMMANDS.flowController),
      health: endpointSchema(8081),
      metrics: endpointSchema(8080),
      log: LOG_SCHEMA,
    },
  },
  check,
};
