// Which mechanism keeps traffic in its zone on which Kubernetes version, and the settings it consists of.
import { defined } from '../apis/defined.ts';
import {
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_CONSIDER,
  LABEL_STRATEGY,
} from '../apis/names.ts';
import type { Strategy } from '../apis/names.ts';
import type { StringMap } from '../apis/meta.ts';
import type { KubernetesVersion, RoutingSettings } from './types.ts';
import { atLeast } from './version.ts';

/** How a Service routes by zone; stable words for reports and metrics. */
export type Mechanism =
  'TopologyAwareHintsAnnotation' | 'TopologyModeAnnotation' | 'PreferCloseAndLabel' | 'PreferClose' | 'PreferSameZone';

/** The value with which kube-proxy <= 1.30 accepts hints; lower case as Gardener writes it. */
const AUTO = 'auto';
const CONSIDER = { [LABEL_CONSIDER]: 'true' };

// One row a mechanism, the first that `from` admits wins. 1.31 keeps the label so that Services not yet reconciled
// after an upgrade from 1.30 go on working.
const TABLE: readonly { from: number; mechanism: Mechanism; settings: RoutingSettings }[] = [
  {
    from: 34,
    mechanism: 'PreferSameZone',
    settings: { labels: {}, annotations: {}, trafficDistribution: 'PreferSameZone' },
  },
  { from: 32, mechanism: 'PreferClose', settings: { labels: {}, annotations: {}, trafficDistribution: 'PreferClose' } },
  {
    from: 31,
    mechanism: 'PreferCloseAndLabel',
    settings: { labels: CONSIDER, annotations: {}, trafficDistribution: 'PreferClose' },
  },
  {
    from: 27,
    mechanism: 'TopologyModeAnnotation',
    settings: { labels: CONSIDER, annotations: { [ANNOTATION_TOPOLOGY_MODE]: AUTO } },
  },
  {
    from: 0,
    mechanism: 'TopologyAwareHintsAnnotation',
    settings: { labels: CONSIDER, annotations: { [ANNOTATION_TOPOLOGY_AWARE_HINTS]: AUTO } },
  },
];

const rowOf = (version: KubernetesVersion): { mechanism: Mechanism; settings: RoutingSettings } => {
  const row = TABLE.find(({ from }) => atLeast(version, from));
  // Only a major version 0 gets here; parseKubernetesVersion refuses it.
  if (row === undefined) throw new RangeError(`no mechanism for Kubernetes ${version.major}.${version.minor}`);
  return row;
};

/** The mechanism of same-zone routing on a version. */
export const mechanismOf = (version: KubernetesVersion): Mechanism => rowOf(version).mechanism;

/** Gardener's table (as of v1.141, the last that knew all versions): settings of a Service routed by zone, no strategy named. */
export const routingSettings = (version: KubernetesVersion): RoutingSettings => rowOf(version).settings;

/** Value of `service.kubernetes.io/topology-mode` that names one of our strategies; kube-controller-manager leaves such Services alone. */
export const domainPrefixedMode = (strategy: Strategy): string => `${GROUP}/${strategy}`;

const fieldFor = (version: KubernetesVersion, strategy: Strategy): string | undefined => {
  if (strategy === 'same-zone') return routingSettings(version).trafficDistribution;
  return strategy === 'same-node' && atLeast(version, 34) ? 'PreferSameNode' : undefined;
};

// Up to 1.26 kube-proxy insists on `auto`; from 1.27 any value will do, and a domain-prefixed one keeps the
// controller manager from writing hints of its own. From 1.31 nothing reads it.
const annotationsFor = (version: KubernetesVersion, strategy: Strategy): StringMap => {
  if (atLeast(version, 31)) return {};
  return atLeast(version, 27)
    ? { [ANNOTATION_TOPOLOGY_MODE]: domainPrefixedMode(strategy) }
    : { [ANNOTATION_TOPOLOGY_AWARE_HINTS]: AUTO };
};

/**
 * Settings of a Service that asks for a strategy by name: the label always (slices inherit it, so admission and the flow
 * controller see it), the field where it says the same.
 */
export const strategySettings = (version: KubernetesVersion, strategy: Strategy): RoutingSettings => {
  const trafficDistribution = fieldFor(version, strategy);
  return {
    labels: { [LABEL_STRATEGY]: strategy },
    annotations: annotationsFor(version, strategy),
    ...defined({ trafficDistribution }),
  };
};

/**
 * Settings of a Service for which another writer than its author names a strategy: a planned one is named in the annotation as well,
 * or the flow controller would take the label for a leftover.
 */
export const configuredSettings = (version: KubernetesVersion, strategy: Strategy): RoutingSettings => {
  const settings = strategySettings(version, strategy);
  if (strategy !== 'load-aware' && strategy !== 'proportional') return settings;
  const annotations = { ...settings.annotations, [ANNOTATION_TOPOLOGY_MODE]: domainPrefixedMode(strategy) };
  return { ...settings, annotations };
};

/**
 * The same settings for routers that know the value only by the name it had up to 1.33. Both names mean the same, and API servers
 * from 1.34 on take either.
 */
export const withOlderName = (settings: RoutingSettings): RoutingSettings =>
  settings.trafficDistribution === 'PreferSameZone' ? { ...settings, trafficDistribution: 'PreferClose' } : settings;

/**
 * The same settings for a cluster where some kube-proxy is 1.30 or older and uses hints only of annotated Services.
 * Never `auto`: from 1.31 that would beat the field in kube-controller-manager.
 */
export const withOldProxies = (settings: RoutingSettings): RoutingSettings => {
  const { annotations, labels } = settings;
  if (ANNOTATION_TOPOLOGY_MODE in annotations || ANNOTATION_TOPOLOGY_AWARE_HINTS in annotations) return settings;
  const mode = `${GROUP}/${labels[LABEL_STRATEGY] ?? 'same-zone'}`;
  return { ...settings, annotations: { ...annotations, [ANNOTATION_TOPOLOGY_MODE]: mode } };
};
