// What `kubectl topology simulate` takes, the ways to keep a Service's traffic in its zone, and the verdicts that only it knows.
import { STRATEGIES, type Strategy } from '../../apis/names.ts';
import type { Demand } from '../../flow/types.ts';
import { DISTRIBUTION_NAMES } from '../../upstream/features.ts';
import type { Reason, RouteInput } from '../../upstream/index.ts';
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

/** Of equally good modes the first is recommended: no setting, then what needs nothing installed, newest word first. */
export const SIMPLEST_FIRST: readonly ModeName[] = [
  'none',
  'PreferSameZone',
  'PreferClose',
  'Auto',
  'PreferSameNode',
  ...STRATEGIES,
];

export const DEFAULT_TARGET = 0.7;
/** Upstream's limit for its own heuristic, and the planner's default for `proportional`. */
export const DEFAULT_OVERLOAD = 0.2;

/** Weights of the zones: allocatable CPU of their Nodes as the control plane counts it, number of Nodes, or as given. */
export type Weights = 'cpu' | 'nodes' | Demand;

export interface SimulateOptions extends Stated, Pick<RouteInput, 'port' | 'family'> {
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
