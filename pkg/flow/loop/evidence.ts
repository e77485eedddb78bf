// How far the busiest endpoint is above the upper threshold, measured by the noise of what is known: a sequential test.
import type { Belief } from '../demand/belief.ts';
import { hintsOf, sharingOf } from '../demand/in-force.ts';
import type { HintsInForce } from '../demand/in-force.ts';
import { times } from '../demand/matrix.ts';
import type { FlowEndpoint } from '../types.ts';
import type { LoopPolicy } from './types.ts';

/** Noise never is less than this fraction of the capacity. */
const LEAST_DEVIATION = 0.01;

/** Estimates closer together than this say the same thing, seconds: noise lasts about as long. */
const INDEPENDENT_SECONDS = 15;

/** Of each estimate's excess this much is drift of a load at the threshold itself, which evidence has to outweigh. */
const DRIFT = 0.5;

/**
 * Evidence from which on a plan does not wait: an estimate two standard deviations above the threshold, or several that are less
 * above it. A load at the threshold itself comes to that with one estimate in 44 (the upper 2.3 % of a normal distribution).
 */
export const ENOUGH = 1.5;

/** Excess of the busiest endpoint's expected load over the upper threshold, in standard deviations; negative below it. */
export const excessOf = (
  { upperUtilization }: Pick<LoopPolicy, 'upperUtilization'>,
  plan: HintsInForce,
  endpoints: readonly FlowEndpoint[],
  { zones, mean, covariance }: Belief,
): number => {
  const { sharers, orphans } = sharingOf(zones, endpoints, plan);
  const hints = hintsOf(plan);
  const served = (endpoint: FlowEndpoint): number[] =>
    zones.map((zone, index) =>
      orphans.includes(zone) || hints(endpoint).includes(zone) ? 1 / (sharers[index] ?? 1) : 0,
    );
  const along = (left: readonly number[], right: readonly number[]): number =>
    left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
  return endpoints.reduce((most, endpoint) => {
    const shares = served(endpoint);
    const utilization = along(shares, mean) / endpoint.capacity;
    if (utilization <= upperUtilization) return most;
    const deviation = Math.sqrt(Math.max(0, along(shares, times(covariance, shares)))) / endpoint.capacity;
    return Math.max(most, (utilization - upperUtilization) / Math.max(LEAST_DEVIATION, deviation));
  }, 0);
};

/** Page's cumulative sum (Biometrika 1954): evidence so far, with one more estimate `seconds` after the last; Infinity before the first. */
export const accumulate = (evidence: number, excess: number, seconds: number): number =>
  Math.max(0, evidence + (excess - DRIFT) * Math.min(1, seconds / INDEPENDENT_SECONDS));
