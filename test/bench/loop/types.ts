// What a simulated Service is, what a rule sees of it, and what is measured.
import type { HintsInForce } from '../../../pkg/flow/demand/arrivals.ts';
import type { MeasuredDemand, Observation } from '../../../pkg/flow/loop/types.ts';
import type { Demand } from '../../../pkg/flow/types.ts';

export interface PlantEndpoint {
  readonly name: string;
  readonly zone: string;
  /** Cores. */
  readonly capacity: number;
}

/** A Service and its clients over time; all times in seconds. */
export interface Scenario {
  readonly name: string;
  readonly zones: readonly string[];
  readonly durationSeconds: number;
  /** Cores that the clients of each zone ask for, without noise. */
  readonly demand: (time: number) => Demand;
  /** Endpoints that are ready; asked once a second. */
  readonly endpoints: (time: number) => readonly PlantEndpoint[];
  /** A zone whose endpoints hang: ready, and serving nothing. */
  readonly hanging?: (time: number) => string | undefined;
  /** No sample reaches the rule from the first of these times to the second. */
  readonly metricsGap?: readonly [from: number, to: number];
  /** One zone is hot from the first of these times to the second: what reaction and recovery are counted from. */
  readonly surge?: readonly [from: number, to: number];
  /** Fraction of demand on connections that stay where they are. */
  readonly longLivedShare?: number;
  /** Mean life of those, seconds. */
  readonly longLivedSeconds?: number;
  /** Load of an endpoint without demand, cores. */
  readonly idleCores?: number;
  /** Replicas follow mean utilisation as a HorizontalPodAutoscaler does; `endpoints` is where it begins. */
  readonly autoscaler?: { readonly target: number; readonly capacity: number; readonly most: number };
}

/** What a rule may use; the rules that stand for perfect knowledge also get the true demand of some time ago. */
export interface RuleInput {
  readonly observation: Observation;
  /** Fifteen seconds ago. */
  readonly trueDemand: Demand;
  readonly endpoints: readonly PlantEndpoint[];
  /** Of each endpoint. Default 0. */
  readonly idleCores?: number;
  /** For rules of proxies that see each request: what the clients of each zone asked for in the last second, cores. */
  readonly asked: Demand;
  /** What traffic-meters counted in the newest window that they show. */
  readonly counted?: MeasuredDemand | undefined;
}

/** Fractions of each zone's new connections by endpoint, of proxies that weigh; no object is written for them. */
export interface Weights {
  readonly weights: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** A new instance a run. Undefined leaves everything as it is. */
export type Rule = () => (input: RuleInput) => HintsInForce | Weights | undefined;

/** Of one run; fractions of all demand of the run. */
export interface Experience {
  readonly overload: number;
  readonly regret: number;
  /** Hint changes of endpoints that were there before and after, per endpoint and hour. */
  readonly changes: number;
  /** Fraction of demand that stays in its zone. */
  readonly inZone: number;
  /** Seconds from the beginning of the surge to the last of its first 300 with avoidable overload above 1 %; undefined without surge. */
  readonly reactSeconds: number | undefined;
  /** Seconds from its end to the last of the next 900 in which more than 5 % of demand crosses needlessly. */
  readonly recoverySeconds: number | undefined;
}
