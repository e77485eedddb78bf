// SPDX-License-Identifier: Apache-2.0
// What a simulated Service is, what a rule sees of it, and what is measured.
import type { HintsInForce } from '../../../pkg/flow/demand/in-force.ts';
import type { Observation } from '../../../pkg/flow/loop/types.ts';
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
  /** No sample reaches the rule from the first of these times to the second. */
  /** How often the rule is asked, seconds. Default 15. */
  readonly askSeconds?: number;
  /** Every endpoint's windows end at a time of its own. */
  readonly staggered?: boolean;
  readonly metricsGap?: readonly [from: number, to: number];
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
}

/** A new instance a run. Undefined leaves the hints as they are. */
export type Rule = () => (input: RuleInput) => HintsInForce | undefined;

/** Of one run; fractions of all demand of the run. */
export interface Outcome {
  readonly overload: number;
  readonly regret: number;
  /** Hint changes of endpoints that were there before and after, per endpoint and hour. */
  readonly changes: number;
}
