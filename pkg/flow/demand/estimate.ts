// Demand of the clients by zone from the load of endpoints: non-negative least squares with a ridge to what was believed.
import { sumBy, sumOf } from '../../apis/values.ts';
import { type Demand, amountOf } from '../types.ts';
import { type Matrix, at, dot, inverse, matrixOf, minimiseNonNegative, matrixRank, times } from './matrix.ts';

/** A normal distribution of demand; plain numbers, so that it can be stored. */
export interface Estimate {
  /** In name order. */
  readonly zones: readonly string[];
  /** Cores by zone; not negative. */
  readonly mean: readonly number[];
  /** Square cores. */
  readonly covariance: readonly (readonly number[])[];
  /** When it was true, seconds. */
  readonly time: number;
}

/** Standard deviation of a zone's demand after `DRIFT_SECONDS`, as a fraction of its own and of an average zone's demand. */
const DRIFT = 0.25;
const DRIFT_SECONDS = 15;
/** Standard deviation of a measured demand, as a fraction of it. */
const BELIEF_NOISE = 0.05;

const squared = (value: number): number => value * value;

const diagonal = (values: readonly number[]): Matrix =>
  matrixOf(values.length, (row, column) => (row === column ? (values[row] ?? 0) : 0));

export const meanOf = ({ zones, mean }: Estimate): Record<string, number> =>
  Object.fromEntries(zones.map((zone, index) => [zone, mean[index] ?? 0]));

/**
 * The first estimate: the demand that all samples together show, shared out by weight, as unsure as it is large.
 *
 * Zones in name order. Without any weight all zones have the same.
 */
export const firstEstimate = (zones: readonly string[], total: number, weights: Demand, time: number): Estimate => {
  const sorted = [...zones].sort();
  const sum = sumBy(sorted, (zone) => amountOf(weights, zone));
  const mean = sorted.map((zone) => total * (sum > 0 ? amountOf(weights, zone) / sum : 1 / sorted.length));
  const deviation = mean.map((value) => Math.max(value, total / Math.max(1, sorted.length), 1e-6));
  return { zones: sorted, mean, covariance: diagonal(deviation.map(squared)), time };
};

/** Demand that was measured: nothing to doubt but noise, and `doubt`, as a fraction of it. Zones that it does not name have none. */
export const exactly = (zones: readonly string[], demand: Demand, time: number, doubt = 0): Estimate => {
  const sorted = [...zones].sort();
  const mean = sorted.map((zone) => amountOf(demand, zone));
  return {
    zones: sorted,
    mean,
    covariance: diagonal(mean.map((value) => squared(Math.max(BELIEF_NOISE, doubt) * value))),
    time,
  };
};

/** The same estimate some time later: demand may have changed by as much as zones usually do. Never shrinks. */
export const aged = (estimate: Estimate, time: number): Estimate => {
  const elapsed = Math.max(0, time - estimate.time);
  if (elapsed === 0) return estimate;
  const average = sumOf(estimate.mean) / Math.max(1, estimate.mean.length);
  const growth = DRIFT ** 2 * (elapsed / DRIFT_SECONDS);
  const drift = estimate.mean.map((value) => growth * Math.max(value, 0.2 * average, 1e-6) ** 2);
  const covariance = diagonal(drift).map((more, row) =>
    more.map((value, column) => at(estimate.covariance, row, column) + value),
  );
  return { ...estimate, time: estimate.time + elapsed, covariance };
};

/** The estimate about other zones: what is known of those that stay is kept, a new zone is expected to have its weight's share. */
export const forZones = (estimate: Estimate, zones: readonly string[], weights: Demand): Estimate => {
  const sorted = [...zones].sort();
  if (sorted.length === estimate.zones.length && sorted.every((zone, index) => zone === estimate.zones[index]))
    return estimate;
  const fresh = firstEstimate(sorted, sumOf(estimate.mean), weights, estimate.time);
  const known = sorted.map((zone) => estimate.zones.indexOf(zone));
  return {
    zones: sorted,
    time: estimate.time,
    mean: known.map((from, index) => (from === -1 ? fresh.mean[index] : estimate.mean[from]) ?? 0),
    covariance: matrixOf(sorted.length, (row, column) => {
      const [left, right] = [known[row] ?? -1, known[column] ?? -1];
      return left === -1 || right === -1 ? at(fresh.covariance, row, column) : at(estimate.covariance, left, right);
    }),
  };
};

/** The load of an endpoint over a window, and the share of each zone's demand that it carried meanwhile. */
export interface LoadSample {
  /** Cores, averaged over the window. */
  readonly load: number;
  /** Cores. */
  readonly capacity: number;
  /** By zone, in the order of the zones asked about, averaged over the window. */
  readonly shares: readonly number[];
}

/** Samples with the same shares and capacity are one row: the mean of their loads. */
export interface LoadRow extends LoadSample {
  /** How many samples it is the mean of. */
  readonly count: number;
  /** The endpoints were saturated: the load is the least that it can have been. */
  readonly saturated: boolean;
}

/** From this fraction of its capacity on an endpoint's load says "at least". */
export const SATURATION = 0.95;

/** Rows in the order of their first samples. */
export const rowsOf = (samples: readonly LoadSample[]): LoadRow[] => {
  const groups = Map.groupBy(samples, ({ capacity, shares }) => [capacity, ...shares].join(' '));
  return [...groups.values()].map((group) => {
    const [{ capacity, shares } = { capacity: 0, shares: [] }] = group;
    const load = sumBy(group, (sample) => sample.load) / group.length;
    return { capacity, shares, load, count: group.length, saturated: load >= SATURATION * capacity };
  });
};

/** Noise of one endpoint's load as a fraction of it: connections are few, and samples short. */
const NOISE = 0.1;
/** And at least this fraction of its capacity. */
const NOISE_FLOOR = 0.005;
/** A row this many standard deviations away from what was believed says that demand has jumped. */
const SURPRISE = 3;

const expected = ({ shares }: LoadRow, mean: readonly number[]): number => dot(shares, mean);

const varianceOf = ({ load, count, capacity }: LoadRow): number =>
  squared(NOISE * load) / count + squared(NOISE_FLOOR * capacity);

/** The load that a row stands for: more than was seen where the endpoints could not give more. */
const loadOf = (row: LoadRow, mean: readonly number[], beyond: number): number =>
  row.saturated ? Math.max(row.load * beyond, expected(row, mean)) : row.load;

/** How much wider the estimate has to be for these samples not to be a surprise, ≥ 1. */
const widening = (rows: readonly LoadRow[], { mean, covariance }: Estimate, beyond: number): number =>
  rows.reduce((most, row) => {
    const spread = dot(times(covariance, row.shares), row.shares);
    const excess = squared(loadOf(row, mean, beyond) - expected(row, mean)) / squared(SURPRISE) - varianceOf(row);
    return spread > 0 ? Math.max(most, (excess * squared(SURPRISE)) / spread) : most;
  }, 1);

/** A row is above what was expected of it by more than noise. */
const jumps = (rows: readonly LoadRow[], { mean }: Estimate): boolean =>
  rows.some((row) => row.load - expected(row, mean) > SURPRISE * Math.sqrt(varianceOf(row)));

/** A row is below what was expected of it by more than the noise of what was expected. */
const falls = (rows: readonly LoadRow[], { mean }: Estimate): boolean =>
  rows.some((row) => {
    const load = expected(row, mean);
    return load - row.load > SURPRISE * Math.sqrt(varianceOf({ ...row, load }));
  });

/** Of the equations: the Gram matrix of their columns. */
const rankOfRows = (rows: readonly LoadRow[], size: number): number =>
  matrixRank(
    matrixOf(size, (left, right) =>
      sumBy(rows, ({ shares, count }) => count * (shares[left] ?? 0) * (shares[right] ?? 0)),
    ),
  );

/**
 * What is believed of demand once these samples are known: the non-negative `d` with the least
 * Σ ((y − A·d) / σ)² + (d − m)ᵀ P⁻¹ (d − m), where m and P are what was believed before.
 *
 * The second term is the ridge: what the samples do not show stays as it was. A zone that the samples do not separate
 * from another keeps its proportion to it. `beyond`: what saturated endpoints are asked for, as a multiple of what they gave.
 *
 * `rank`: of the samples, the number of zones if every zone's demand can be separated. `atLeast`: some endpoints were saturated, and demand is at
 * least this. `jump`, `fall`: endpoints carried so much more, or less, than was expected of them that no noise explains it.
 */
export const estimateDemand = (before: Estimate, rows: readonly LoadRow[], beyond = 1) => {
  const size = before.zones.length;
  const atLeast = rows.some(({ saturated }) => saturated);
  if (rows.length === 0 || size === 0) return { estimate: before, rank: 0, atLeast, jump: false, fall: false };
  const factor = widening(rows, before, beyond);
  const precision: Matrix = inverse(before.covariance.map((row) => row.map((value) => value * factor)));
  const weights = rows.map((row) => 1 / varianceOf(row));
  const hessian = matrixOf(size, (left, right) =>
    rows.reduce(
      (sum, { shares }, index) => sum + (weights[index] ?? 0) * (shares[left] ?? 0) * (shares[right] ?? 0),
      at(precision, left, right),
    ),
  );
  const gradient = times(precision, before.mean).map((value, zone) =>
    rows.reduce(
      (sum, row, index) => sum + (weights[index] ?? 0) * (row.shares[zone] ?? 0) * loadOf(row, before.mean, beyond),
      value,
    ),
  );
  const estimate: Estimate = {
    zones: before.zones,
    mean: minimiseNonNegative(hessian, gradient),
    covariance: inverse(hessian),
    time: before.time,
  };
  return { estimate, rank: rankOfRows(rows, size), atLeast, jump: jumps(rows, before), fall: falls(rows, before) };
};
