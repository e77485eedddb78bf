// The ways to keep a Service's traffic in its zone, as settings of the Service, and which version knows them.
import type { Service } from '../../apis/core.ts';
import { defined } from '../../apis/defined.ts';
import {
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_STRATEGY,
  STRATEGIES,
} from '../../apis/names.ts';
import type { Strategy } from '../../apis/names.ts';
import { strategySettings, withOldProxies } from '../../routing/mechanism.ts';
import type { KubernetesVersion, RoutingSettings } from '../../routing/types.ts';
import { OLDEST_SUPPORTED_VERSION, atLeast, formatVersion } from '../../routing/version.ts';
import { distributionOf } from '../../upstream/index.ts';
import type { FeatureGates } from '../../upstream/index.ts';

const FIELD_VALUES = ['PreferClose', 'PreferSameZone', 'PreferSameNode'] as const;

/** In the order in which reports show them. */
export const MODE_NAMES = ['none', 'Auto', ...FIELD_VALUES, ...STRATEGIES] as const;
export type ModeName = (typeof MODE_NAMES)[number];

export const isStrategy = (mode: ModeName): mode is Strategy => (STRATEGIES as readonly string[]).includes(mode);
const isField = (mode: ModeName): boolean => (FIELD_VALUES as readonly string[]).includes(mode);

/** Of equally good modes the first is recommended: no setting, then what needs nothing installed, newest word first. */
export const SIMPLEST_FIRST: readonly ModeName[] = [
  'none',
  'PreferSameZone',
  'PreferClose',
  'Auto',
  'PreferSameNode',
  ...STRATEGIES,
];

/** `controlPlane` needs nothing installed, `webhook` the endpointslice-webhook, `planner` the flow-controller beside it. */
export type Carrier = 'controlPlane' | 'webhook' | 'planner';

/** `settings`: of the mode. The control plane alone carries a strategy where the field says the same. */
export const carrierOf = (mode: ModeName, settings: RoutingSettings, managed: boolean): Carrier => {
  if (mode === 'proportional' || mode === 'load-aware') return 'planner';
  const byField = managed && settings.trafficDistribution !== undefined;
  return isStrategy(mode) && !byField ? 'webhook' : 'controlPlane';
};

const minor = (number: number): KubernetesVersion => ({ major: 1, minor: number });

/** First version that knows the mode with the gates given; undefined: none does. */
const firstVersion = (mode: ModeName, gates: FeatureGates | undefined): KubernetesVersion => {
  const oldest = OLDEST_SUPPORTED_VERSION.minor;
  if (!isField(mode)) return OLDEST_SUPPORTED_VERSION;
  let first = oldest;
  while (distributionOf(mode, minor(first), gates) === undefined) first += 1;
  return minor(first);
};

export const sinceOf = (mode: ModeName, gates?: FeatureGates): string => formatVersion(firstVersion(mode, gates));

/** Whether the control plane (for strategies: this project) knows the mode on this version. */
export const isKnown = (mode: ModeName, version: KubernetesVersion, gates?: FeatureGates): boolean => {
  if (isField(mode)) return distributionOf(mode, version, gates) !== undefined;
  return !isStrategy(mode) || atLeast(version, OLDEST_SUPPORTED_VERSION.minor);
};

const NOTHING: RoutingSettings = { labels: {}, annotations: {} };

export interface SettingsFor {
  readonly version: KubernetesVersion;
  /** Some kube-proxy is 1.30 or older. */
  readonly oldProxies: boolean;
}

/** What the mode consists of: for strategies what this project sets, old proxies included. */
export const settingsOfMode = (mode: ModeName, { version, oldProxies }: SettingsFor): RoutingSettings => {
  if (mode === 'none') return NOTHING;
  if (mode === 'Auto') {
    const key = atLeast(version, 27) ? ANNOTATION_TOPOLOGY_MODE : ANNOTATION_TOPOLOGY_AWARE_HINTS;
    return { labels: {}, annotations: { [key]: 'Auto' } };
  }
  if (!isStrategy(mode)) return { ...NOTHING, trafficDistribution: mode };
  const settings = strategySettings(version, mode);
  return oldProxies ? withOldProxies(settings) : settings;
};

/** `field=value`, in a fixed order. */
export const settingsText = ({ labels, annotations, trafficDistribution }: RoutingSettings): string[] => [
  ...Object.entries(labels).map(([key, value]) => `metadata.labels[${key}]=${value}`),
  ...Object.entries(annotations).map(([key, value]) => `metadata.annotations[${key}]=${value}`),
  ...(trafficDistribution === undefined ? [] : [`spec.trafficDistribution=${trafficDistribution}`]),
];

const OWN_ANNOTATIONS: readonly string[] = [ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE];
export const OWN_LABELS: readonly string[] = [LABEL_CONSIDER, LABEL_STRATEGY];

export const withoutKeys = (
  map: Readonly<Record<string, string>> | undefined,
  keys: readonly string[],
): Record<string, string> => Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !keys.includes(key)));

/** The Service as it would be with these settings and no other topology settings. */
export const withSettings = (service: Service, settings: RoutingSettings): Service => {
  const { trafficDistribution: _, ...spec } = service.spec ?? {};
  const { labels, annotations, trafficDistribution } = settings;
  return {
    ...service,
    metadata: {
      ...service.metadata,
      labels: { ...withoutKeys(service.metadata?.labels, OWN_LABELS), ...labels },
      annotations: { ...withoutKeys(service.metadata?.annotations, OWN_ANNOTATIONS), ...annotations },
    },
    spec: { ...spec, ...defined({ trafficDistribution }) },
  };
};
