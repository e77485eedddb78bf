// What a run of the benchmark keeps: means over the cases, in percent and points.
import type { Environment } from '../environment.ts';

export interface Means {
  readonly inZone: number;
  readonly maxDeviation: number;
  readonly deviationScore: number;
  readonly score: number;
  /** Cases without hints, in percent. */
  readonly spread: number;
  /** Largest deviation of any case, in percent. */
  readonly worst: number;
}

export interface PlanMeans extends Means {
  readonly theta: number;
  readonly lp: number;
  readonly integrality: number;
  /** Numbers of cases. */
  readonly above: number;
  readonly doubtfulSpread: number;
  readonly unproven: number;
}

export interface PassResults {
  readonly every: number;
  readonly cases: number;
  readonly spread: Means;
  readonly sameZone: Means;
  readonly upstream: Means;
  readonly plans: readonly PlanMeans[];
  readonly byScore?: Means;
  /** No plan has a better mean score. */
  readonly ceiling: number;
  /** Of the planner alone, per case, on one core. */
  readonly planMicroseconds: number;
}

export interface KepResults {
  readonly environment: Environment;
  readonly threads: number;
  /** At theta 0.2. */
  readonly grid: PassResults;
  /** All values of theta, and the search by score. */
  readonly sample: PassResults;
}
