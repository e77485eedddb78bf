// What the planner's benchmark measures and keeps.
import type { Environment } from '../environment.ts';

export interface Shape {
  readonly name: string;
  readonly zones: number;
  readonly endpoints: number;
  /** Cores of an endpoint: each has one of these, or each another one of `different`. */
  readonly capacities: readonly number[];
  /** Least and most cores. */
  readonly different?: readonly [number, number];
  readonly problems: number;
  /** The median that a plan may take, in milliseconds. */
  readonly targetMs?: number;
}

export interface Measurement {
  readonly contender: string;
  readonly medianMs: number;
  readonly p90Ms: number;
  /** Means over the problems, as fractions of the demand. */
  readonly inZoneShare: number;
  readonly overload: number;
  /** Fraction of the problems without overload. */
  readonly within: number;
  /** Fraction of the problems with a plan that is proven optimal; the planner alone says so. */
  readonly exact?: number;
}

export interface ShapeResults {
  readonly shape: Shape;
  /** Mean upper bound on the in-zone share, as a fraction. */
  readonly bound: number;
  readonly measurements: readonly Measurement[];
}

export interface PlannerResults {
  readonly environment: Environment;
  readonly shapes: readonly ShapeResults[];
}
