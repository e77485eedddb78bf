// What `kubectl topology simulate` takes, the ways to keep a Service's traffic in its zone, and the verdicts that only it knows.
import type { Service } from '../../apis/core.ts';
import type { StringMap } from '../../apis/meta.ts';
import { defined } from '../../apis/values.ts';
import {
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_STRATEGY,
  STRATEGIES,
  type Strategy,
  isPlannedStrategy,
} from '../../apis/names.ts';
import type { Demand } from '../../flow/types.ts';
import { strategySettings, withOldProxies } from '../../routing/plan.ts';
import type { KubernetesVersion, RoutingSettings } from '../../routing/types.ts';
import { OLDEST_SUPPORTED_VERSION, atLeast, formatVersion } from '../../routing/version.ts';
import { DISTRIBUTION_NAMES } from '../../upstream/features.ts';
import type { FeatureGates, Reason } from '../../upstream/index.ts';
import { askingAnnotation, distributionOf } from '../../upstream/wish.ts';
import type { PriceTable } from '../prices.ts';
import type { Stated } from '../routers/types.ts';

/** Stable codes; what each means and what to do stands in docs/reference/reasons.md. */
export const VERDICT_REASONS = [
  'VersionTooOld',
  'DemandUnknown',
  'CapacityUnknown',
  'ConnectionsFail',
  'Spread',
  'PlanIsSpread',
  'Overloads',
  'KeepsAll',
  'KeepsMost',
] as const;

export const RECOMMENDATION_REASONS = ['MostInZone', 'LeastCost', 'LeastOverload', 'NothingToGain'] as const;

/** Stable code of a verdict: the rule of the models that decided, or one of these. */
type VerdictReason = Reason | (typeof VERDICT_REASONS)[number];
export type RecommendationReason = (typeof RECOMMENDATION_REASONS)[number];

/** In the order in which reports show them. */
export const MODE_NAMES = ['none', 'Auto', ...DISTRIBUTION_NAMES, ...STRATEGIES] as const;
export type ModeName = (typeof MODE_NAMES)[number];

export const isStrategy = (mode: ModeName): mode is Strategy => (STRATEGIES as readonly string[]).includes(mode);
const isField = (mode: ModeName): boolean => (DISTRIBUTION_NAMES as readonly string[]).includes(mode);

/** Of equally good modes the first is recommended: no setting, then what needs nothing installed, newest word first. */
export const SIMPLEST_FIRST: readonly ModeName[] = [
  'none',
  'PreferSameZone',
  'PreferClose',
  'Auto',
  'PreferSameNode',
  ...STRATEGIES,
];

/**
 * `controlPlane` needs nothing installed, `webhook` the endpointslice-webhook, `planner` the flow-controller beside it.
 * `settings`: of the mode. The control plane alone carries a strategy where the field says the same.
 */
export const neededComponentOf = (mode: ModeName, settings: RoutingSettings, managed: boolean) => {
  if (isPlannedStrategy(mode)) return 'planner';
  const byField = managed && settings.trafficDistribution !== undefined;
  return isStrategy(mode) && !byField ? 'webhook' : 'controlPlane';
};

const minor = (number: number): KubernetesVersion => ({ major: 1, minor: number });

/** First version that knows the mode with the gates given, `1.34`. */
export const sinceOf = (mode: ModeName, gates?: FeatureGates): string => {
  let first = OLDEST_SUPPORTED_VERSION.minor;
  if (isField(mode)) while (distributionOf(mode, minor(first), gates) === undefined) first += 1;
  return formatVersion(minor(first));
};

/** Whether the control plane (for strategies: this project) knows the mode on this version. */
export const isKnown = (mode: ModeName, version: KubernetesVersion, gates?: FeatureGates): boolean => {
  if (isField(mode)) return distributionOf(mode, version, gates) !== undefined;
  return !isStrategy(mode) || atLeast(version, OLDEST_SUPPORTED_VERSION.minor);
};

const NOTHING: RoutingSettings = { labels: {}, annotations: {} };

/** What the mode consists of: for strategies what this project sets, `oldProxies` (some kube-proxy is 1.30 or older) included. */
export const settingsOfMode = (
  mode: ModeName,
  { version, oldProxies }: { readonly version: KubernetesVersion; readonly oldProxies: boolean },
): RoutingSettings => {
  if (mode === 'none') return NOTHING;
  if (mode === 'Auto') {
    const [key] = askingAnnotation(version);
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

export const withoutKeys = (map: StringMap | undefined, keys: readonly string[]): StringMap =>
  Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !keys.includes(key)));

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

export const DEFAULT_TARGET = 0.7;
/** Upstream's limit for its own heuristic, and the planner's default for `proportional`. */
export const DEFAULT_OVERLOAD = 0.2;

/** Weights of the zones: allocatable CPU of their Nodes as the control plane counts it, number of Nodes, or as given. */
export type Weights = 'cpu' | 'nodes' | Demand;

export interface SimulateOptions extends Stated {
  /** Of the control plane and every proxy; default: from the snapshot, for each. */
  readonly version?: KubernetesVersion;
  /** Name of the Service's port; default: its first. */
  readonly port?: string;
  /** addressType; default: the Service's first family. */
  readonly family?: string;
  /**
   * How clients are taken to be spread over the zones, and what the strategy `proportional` plans by. Default `cpu`, and
   * `nodes` where the CPU of the zones is not known.
   */
  readonly weights?: Weights;
  /**
   * Demand of the clients by zone, in cores: where it is given, `weights` are the plan's only. Default, where there are
   * no `weights` either: what the FlowPolicy of the Service observed.
   */
  readonly demand?: Demand;
  /** What each endpoint can serve, in cores; default: the CPU requests of its Pod. Used with `demand`. */
  readonly capacity?: number;
  /** How much of its capacity an endpoint should carry at most, as a fraction. Default 0.7. */
  readonly targetUtilization?: number;
  /**
   * How far an endpoint may be above its fair share, as a fraction: what counts as overload where capacity is not known,
   * and what `proportional` keeps to. Default 0.2, upstream's limit.
   */
  readonly maxOverload?: number;
  /** What if: ready endpoints by zone. */
  readonly replicas?: Readonly<Record<string, number>>;
  /** Traffic of the Service, requests and responses together; without it there is no money in the report. */
  readonly gigabytesPerDay?: number;
  /** Default: the list of the cloud that the Nodes' labels name. */
  readonly prices?: PriceTable;
}

export interface Verdict {
  readonly reason: VerdictReason;
  /** One sentence. */
  readonly message: string;
}
