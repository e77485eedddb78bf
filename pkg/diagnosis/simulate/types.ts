// What `kubectl topology simulate` takes and answers; the report is its JSON, field by field.
// Verdicts on modes and reasons of recommendations that only a simulation knows, beside the rules of the models.
// The ways to keep a Service's traffic in its zone, as settings of the Service, and which version knows them.
import type { Service } from '../../apis/core.ts';
import { defined } from '../../apis/values.ts';
import {
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_STRATEGY,
  STRATEGIES,
  type Strategy,
  TRAFFIC_DISTRIBUTIONS,
} from '../../apis/names.ts';
import type { Demand } from '../../flow/types.ts';
import { strategySettings, withOldProxies } from '../../routing/plan.ts';
import type { KubernetesVersion, RoutingSettings } from '../../routing/types.ts';
import { OLDEST_SUPPORTED_VERSION, atLeast, formatVersion } from '../../routing/version.ts';
import { type FeatureGates, type Reason, distributionOf } from '../../upstream/index.ts';
import type { PriceTable } from '../prices.ts';
import type { RoutersReport, Stated } from '../routers/types.ts';

interface SimulationRule {
  /** What it means, for the reference. */
  readonly sentence: string;
  readonly remedy: string;
}

const NOTHING_TO_DO = 'Nothing to do.';

export const VERDICT_REASONS = {
  VersionTooOld: {
    sentence: 'This Kubernetes version (or its feature gates) does not know the mode.',
    remedy: 'Upgrade, or choose a mode that it knows: the strategy `same-zone` works on every supported version.',
  },
  DemandUnknown: {
    sentence: 'The mode follows measured load; none was given, and no FlowPolicy observed any.',
    remedy:
      'Give the demand of the clients of each zone with `--demand`, and `--capacity` where Pods have no CPU requests.',
  },
  CapacityUnknown: {
    sentence: 'The mode needs the capacity of an endpoint: none was given, and the Pods have no CPU requests.',
    remedy: 'Give it with `--capacity`, or give the Pods CPU requests.',
  },
  ConnectionsFail: {
    sentence: 'Some connections find no endpoint at all.',
    remedy: 'Remove `internalTrafficPolicy: Local`, or run a Pod on every Node with clients.',
  },
  Spread: {
    sentence: 'No hints: every endpoint serves clients of every zone alike.',
    remedy: 'Choose another mode if cost or latency matters.',
  },
  PlanIsSpread: {
    sentence: 'The planner found that no hints keep more traffic in its zone without overload, so it writes none.',
    remedy: 'Run more replicas, or run them where the clients are.',
  },
  Overloads: {
    sentence:
      'Traffic stays in its zone at the price of an endpoint above the limit: 120 % of its fair share, or its target utilization.',
    remedy: 'Choose a mode that plans with the limit (`proportional`, `load-aware`), or move replicas to the zone.',
  },
  KeepsAll: {
    sentence: 'All traffic stays in its zone and no endpoint is above the limit.',
    remedy: NOTHING_TO_DO,
  },
  KeepsMost: {
    sentence: 'No endpoint is above the limit; what stays in its zone is as much as the hints allow.',
    remedy: 'For more, run replicas where the clients are.',
  },
} as const satisfies Readonly<Record<string, SimulationRule>>;

export const RECOMMENDATION_REASONS = {
  MostInZone: {
    sentence: 'Of the modes within the limit, it keeps the most traffic in its zone; of equals it is the simplest.',
    remedy: NOTHING_TO_DO,
  },
  LeastCost: {
    sentence: 'Of the modes within the limit, it costs least; of equals it is the simplest.',
    remedy: NOTHING_TO_DO,
  },
  LeastOverload: {
    sentence: 'Every mode exceeds the limit; this one exceeds it least.',
    remedy: 'Run more replicas.',
  },
  NothingToGain: {
    sentence: 'No mode within the limit is noticeably better than no hints at all.',
    remedy: 'Run more replicas, or run them where the clients are.',
  },
} as const satisfies Readonly<Record<string, SimulationRule>>;

/** Stable code of a verdict: the rule of the models that decided, or one of these. */
type VerdictReason = Reason | keyof typeof VERDICT_REASONS;
type RecommendationReason = keyof typeof RECOMMENDATION_REASONS;

/** In the order in which reports show them. */
export const MODE_NAMES = ['none', 'Auto', ...TRAFFIC_DISTRIBUTIONS, ...STRATEGIES] as const;
export type ModeName = (typeof MODE_NAMES)[number];

export const isStrategy = (mode: ModeName): mode is Strategy => (STRATEGIES as readonly string[]).includes(mode);
const isField = (mode: ModeName): boolean => (TRAFFIC_DISTRIBUTIONS as readonly string[]).includes(mode);

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
type NeededComponent = 'controlPlane' | 'webhook' | 'planner';

/** `settings`: of the mode. The control plane alone carries a strategy where the field says the same. */
export const neededComponentOf = (mode: ModeName, settings: RoutingSettings, managed: boolean): NeededComponent => {
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

interface SettingsFor {
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
  /** Default: the built-in table of AWS. */
  readonly prices?: PriceTable;
}

/** Shares of all connections, by the client's zone, then the endpoint's; the empty name is for no zone. */
export type Matrix = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Where traffic goes. */
export interface Outcome {
  /** Ready endpoints that carry a hint. */
  readonly hinted: number;
  readonly matrix: Matrix;
  /** Fraction of the connections that arrive which stay in their zone. */
  readonly inZoneShare: number;
  /** Fraction of the connections that find no endpoint. */
  readonly lostShare: number;
  /** How far the busiest endpoint is above its fair share of the traffic: 0 = all alike, 1 = twice the fair share. */
  readonly worstOverload: number;
  /** Zone of that endpoint. */
  readonly busiestZone: string;
  /** Load of the busiest endpoint as a fraction of its capacity; null where demand or capacity is not known. */
  readonly maxUtilization: number | null;
  /** Only with gigabytes a day. */
  readonly costPerMonth?: number;
}

export interface Verdict {
  readonly reason: VerdictReason;
  /** One sentence. */
  readonly message: string;
}

export interface ModeReport {
  readonly mode: ModeName;
  /** Kubernetes version since which the mode exists, `1.34`. */
  readonly since: string;
  readonly neededComponent: NeededComponent;
  /** What to set on the Service, `field=value` each. */
  readonly settings: readonly string[];
  /** What the Service asks for as it is. */
  readonly inForce: boolean;
  readonly recommended: boolean;
  /** Null where the mode cannot be simulated; the verdict says why. */
  readonly outcome: Outcome | null;
  readonly verdict: Verdict;
}

export interface DemandReport {
  /** `demand`: cores, as given; `flowPolicy`: cores, as observed; `weights`: as given. */
  readonly source: 'demand' | 'flowPolicy' | 'weights' | 'cpu' | 'nodes';
  /** What was asked for and could not be had, one sentence; empty if nothing. */
  readonly note: string;
  /** Sum over the zones; null where weights are no cores. */
  readonly cores: number | null;
  readonly zones: Readonly<Record<string, ZoneReport>>;
}

interface ZoneReport {
  /** Fraction of all demand. */
  readonly share: number;
  /** Null where weights are no cores. */
  readonly cores: number | null;
  /** Ready Nodes with clients. */
  readonly nodes: number;
  /** Ready endpoints. */
  readonly endpoints: number;
}

export interface CapacityReport {
  readonly source: 'given' | 'flowPolicy' | 'requests';
  /** Sum over the ready endpoints, in cores. */
  readonly cores: number;
  readonly targetUtilization: number;
}

export interface WhatIfReport {
  readonly replicas: Readonly<Record<string, { readonly before: number; readonly after: number }>>;
}

export interface PricesReport {
  readonly gigabytesPerDay: number;
  readonly currency: string;
  readonly source: string;
  readonly date: string;
}

export interface Recommendation {
  readonly mode: ModeName;
  readonly reason: RecommendationReason;
  /** One sentence. */
  readonly message: string;
  /** It is better than what happens now, by more than a hundredth of what crosses in the worst mode. */
  readonly improves: boolean;
}

export interface SimulationReport extends RoutersReport {
  readonly namespace: string;
  readonly name: string;
  readonly kubernetesVersion: string;
  readonly addressType: string;
  readonly port: string;
  /** Null where nothing but the cluster as it is was asked about. */
  readonly whatIf: WhatIfReport | null;
  /** Ready endpoints. */
  readonly endpoints: number;
  readonly demand: DemandReport;
  /** How far an endpoint may be above its fair share: what counts as overload where `capacity` is null. */
  readonly maxOverload: number;
  /** Null where demand or capacity is not known. */
  readonly capacity: CapacityReport | null;
  /** Only with gigabytes a day. */
  readonly prices?: PricesReport;
  /** With the hints as they are stored; in a what-if with those that the Service's own settings lead to. */
  readonly now: Outcome & { readonly mode: ModeName };
  readonly modes: readonly ModeReport[];
  readonly recommendation: Recommendation;
}

/** Why there is nothing to simulate. */
export type RefusalReason =
  | 'ExternalName'
  | 'Headless'
  | 'NotProxied'
  | 'NoNodes'
  | 'RouterUnknown'
  | 'NoReadyEndpoints'
  | 'EndpointWithoutZone'
  | 'UnknownZone'
  | 'NoDemand';

export type Simulation =
  | { readonly kind: 'simulated'; readonly report: SimulationReport }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly message: string };
