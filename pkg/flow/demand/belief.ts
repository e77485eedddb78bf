// What is believed about every zone's demand, and how sure: it widens with time and narrows with samples.
import { at, matrixOf } from './matrix.ts';
import type { Demand } from '../types.ts';
import { amountOf } from '../own.ts';

/** A normal distribution of demand; plain numbers, so that it can be stored. */
export interface Belief {
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
const NOISE = 0.05;

export const meanOf = ({ zones, mean }: Belief): Record<string, number> =>
  Object.fromEntries(zones.map((zone, index) => [zone, mean[index] ?? 0]));

/**
 * The first belief: the demand that all samples together show, shared out by weight, as unsure as it is large.
 *
 * Zones in name order. Without any weight all zones have the same.
 */
export const firstBelief = (zones: readonly string[], total: number, weights: Demand, time: number): Belief => {
  const sorted = [...zones].sort();
  const sum = sorted.reduce((all, zone) => all + amountOf(weights, zone), 0);
  const mean = sorted.map((zone) => total * (sum > 0 ? amountOf(weights, zone) / sum : 1 / sorted.length));
  const floor = total / Math.max(1, sorted.length);
  const deviation = mean.map((value) => Math.max(value, floor, 1e-6));
  return {
    zones: sorted,
    mean,
    covariance: matrixOf(sorted.length, (row, column) => (row === column ? (deviation[row] ?? 0) ** 2 : 0)),
    time,
  };
};

/** Demand that was measured: nothing to doubt but noise, and `doubt`, as a fraction of it. Zones that it does not name have none. */
export const exactly = (zones: readonly string[], demand: Demand, time: number, doubt = 0): Belief => {
  const sorted = [...zones].sort();
  const mean = sorted.map((zone) => amountOf(demand, zone));
  return {
    zones: sorted,
    mean,
    covariance: matrixOf(sorted.length, (row, column) =>
      row === column ? (Math.max(NOISE, doubt) * (mean[row] ?? 0)) ** 2 : 0,
    ),
    time,
  };
};

/** The same belief some time later: demand may have changed by as much as zones usually do. Never shrinks. */
export const aged = (belief: Belief, time: number): Belief => {
  const elapsed = Math.max(0, time - belief.time);
  if (elapsed === 0) return belief;
  const average = belief.mean.reduce((sum, value) => sum + value, 0) / Math.max(1, belief.mean.length);
  const growth = DRIFT ** 2 * (elapsed / DRIFT_SECONDS);
  const drift = belief.mean.map((value) => growth * Math.max(value, 0.2 * average, 1e-6) ** 2);
  const size = belief.mean.length;
  return {
    ...belief,
    time: belief.time + elapsed,
    covariance: matrixOf(
      size,
      (row, column) => at(belief.covariance, row, column) + (row === column ? (drift[row] ?? 0) : 0),
    ),
  };
};

/** The belief about other zones: what is known of those that stay is kept, a new zone is expected to have its weight's share. */
export const forZones = (belief: Belief, zones: readonly string[], weights: Demand): Belief => {
  const sorted = [...zones].sort();
  if (sorted.length === belief.zones.length && sorted.every((zone, index) => zone === belief.zones[index]))
    return belief;
  const total = belief.mean.reduce((sum, value) => sum + value, 0);
  const fresh = firstBelief(sorted, total, weights, belief.time);
  const known = sorted.map((zone) => belief.zones.indexOf(zone));
  return {
    zones: sorted,
    time: belief.time,
    mean: known.map((from, index) => (from === -1 ? fresh.mean[index] : belief.mean[from]) ?? 0),
    covariance: matrixOf(sorted.length, (row, column) => {
      const [left, right] = [known[row] ?? -1, known[column] ?? -1];
      return left === -1 || right === -1 ? at(fresh.covariance, row, column) : at(belief.covariance, left, right);
    }),
  };
};
