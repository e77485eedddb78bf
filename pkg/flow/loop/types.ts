// The data of the loop's one function: its observation, its state and its answer.
import type { Arrivals, CoresPerUnit, HintsInForce, sharingOf } from '../demand/arrivals.ts';
import type { Estimate } from '../demand/estimate.ts';
import type { Demand, FlowEndpoint, Plan, PlanInput, PlannedEndpoint } from '../types.ts';

/** How a Service's loop behaves; `DEFAULT_LOOP_POLICY` is what a FlowPolicy leaves out. */
export interface LoopPolicy extends Pick<PlanInput, 'targetUtilization' | 'cost' | 'effort'> {
  /** Load from which on a new plan is made, as a fraction of capacity; above the target. */
  readonly upperUtilization: number;
  /** How long load has to stay above it where noise could explain that, seconds. */
  readonly upDwellSeconds: number;
  /** How long demand has to stay so low that a plan with less traffic between zones would do, seconds. */
  readonly downDwellSeconds: number;
  /**
   * At least this long between two returns that do not wait for it, seconds: where demand fell by more than noise explains and stayed
   * there for the up dwell. Infinity: every return waits.
   */
  readonly quickReturnSeconds: number;
  /** At least this long between two plans, seconds, unless zones or endpoints change, endpoints are saturated or demand jumps. */
  readonly planIntervalSeconds: number;
  /** From this age of the newest sample on, seconds, zones get endpoints for a multiple of the demand last seen. */
  readonly holdAfterSeconds: number;
  /** Samples older than this lead to the safe mode, seconds. */
  readonly safeModeAfterSeconds: number;
  readonly safeMode: 'spread' | 'same-zone';
  /** Least number of endpoints for every zone with clients. */
  readonly minEndpoints: number;
  /** A plan that saves less than this fraction of the demand from crossing zones is not worth a change. */
  readonly worthwhileSaving: number;
  /** Proxies follow new hints within this time, seconds: samples from before are not counted. */
  readonly settleSeconds: number;
}

export interface ObservedEndpoint extends Omit<FlowEndpoint, 'forZones'> {
  readonly ready: boolean;
  /** Cores, averaged over the window; null without sample. */
  readonly load: number | null;
  /** End of the sample's window, seconds; null without sample. */
  readonly sampledAt: number | null;
}

export interface Observation {
  /** Seconds on any clock; never goes back. */
  readonly time: number;
  readonly zones: readonly string[];
  readonly endpoints: readonly ObservedEndpoint[];
  /** Relative weight of each zone's clients, if anything is known of them. */
  readonly clients?: Demand;
  /** Length of a sample's window, seconds. */
  readonly window: number;
  /** Demand by zone as clients' side metrics show it, averaged over a window: then nothing has to be estimated. */
  readonly measured?: MeasuredDemand;
}

export interface MeasuredDemand {
  /** Zones with clients that are not named have none. */
  readonly demand: Demand;
  /** End of the window, seconds. */
  readonly sampledAt: number;
  /** Demand counts these a second instead of load in the unit of the capacity: what one takes is learned from endpoints' load. */
  readonly counts?: {
    readonly unit: string;
    /** The same by zone of the endpoints that they arrived at. */
    readonly to: Demand;
    /** Seconds that they were counted over. */
    readonly window: number;
  };
}

/** Demand as it was believed at a time. */
export interface PastDemand {
  readonly time: number;
  readonly demand: Demand;
  /** Endpoints were saturated: a guess, forgotten once there is an estimate that is none. */
  readonly atLeast: boolean;
}

/** From when on the clients were shared like this. */
export interface HintPeriod extends Readonly<ReturnType<typeof sharingOf>> {
  readonly from: number;
}

/** A plan that was in force, and how the clients were shared under it. */
export interface PreviousPlan extends Pick<LoopState, 'plan' | 'plannedAt' | 'hintPeriods'> {
  /** When the next one took its place, seconds. */
  readonly until: number;
}

/** A ready endpoint, and since when it is known. */
export interface Member {
  readonly zone: string;
  readonly capacity: number;
  readonly since: number;
}

/** All that is remembered from step to step: plain JSON. */
export interface LoopState {
  readonly plan: HintsInForce;
  /** When the plan was last changed, seconds; null before the first change: samples that began before say nothing of it. */
  readonly plannedAt: number | null;
  /** How the clients were shared since then, oldest first; only what a sample may still be about. */
  readonly hintPeriods: readonly HintPeriod[];
  /**
   * Where the plan was made on a guess (saturated endpoints, a window that a jump lies in): the plan before it, since the next samples
   * are about that one and show how good the guess was. Null where it was not, or those samples are past.
   */
  readonly previous: PreviousPlan | null;
  readonly members: Readonly<Record<string, Member>>;
  /** Null until the first samples. */
  readonly estimate: Estimate | null;
  /** End of the newest window that was counted, by endpoint. */
  readonly sampled: Readonly<Record<string, number>>;
  /** End of the newest window of all, seconds; before there is one, when the loop began. */
  readonly freshAt: number;
  /** Estimates in a row above the upper threshold, when the window of the first began and the last ended, and what they add up to. */
  readonly high: {
    readonly since: number;
    readonly until: number;
    readonly estimates: number;
    /** By the sequential test, in standard deviations. */
    readonly evidence: number;
  } | null;
  /** Within the down dwell, oldest first. */
  readonly past: readonly PastDemand[];
  /** Since when, seconds, demand is lower than before by more than noise explains; null where it is not. */
  readonly fellAt: number | null;
  /** When the plan last went back without waiting for the down dwell, seconds. */
  readonly quickAt: number | null;
  readonly safe: boolean;
  /** Zones whose ready endpoints serve nothing, and since when, seconds. */
  readonly silent?: Demand;
  /** What was counted of late, and what one of it takes; only with a source that counts. */
  readonly counting?: Counting;
}

/** Of a source that counts connections or bytes. */
export interface Counting {
  readonly unit: string;
  readonly past: readonly Arrivals[];
  readonly known: CoresPerUnit | null;
  /** End of the newest window of load that was learned from, by zone. */
  readonly learnedAt: Demand;
}

export type LoopReason =
  | 'Adopted'
  | 'Steady'
  | 'TopologyChanged'
  | 'Overloaded'
  | 'Saturated'
  | 'Returned'
  | 'Waiting'
  | 'NoEndpoints'
  | 'MetricsStale'
  | 'MetricsLost'
  | 'MetricsBack';

export interface LoopDecision extends Pick<Plan, 'spread' | 'inZoneShare' | 'cutShort'> {
  readonly time: number;
  readonly changed: boolean;
  /** The whole plan in force from `time` on, in name order, empty when spread. */
  readonly endpoints: readonly PlannedEndpoint[];
  /** Estimated demand by zone, cores; empty while nothing is known. */
  readonly demand: Demand;
  readonly reason: LoopReason;
  /** How many zones' demand the last samples could separate; 0 where none were new. */
  readonly rank: number;
}
