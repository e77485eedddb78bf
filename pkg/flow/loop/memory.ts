// SPDX-License-Identifier: Apache-2.0
// What the loop remembers of demand: what it was within the down dwell, and for how long it has been high.
import { meanOf } from '../demand/belief.ts';
import type { Observed } from './observe.ts';
import type { LoopPolicy, LoopState, Observation, PastDemand } from './types.ts';

/** The entries of the down dwell, and the one that was true when it began: samples may come less often than that. */
const within = (
  { downDwellSeconds, holdAfterSeconds }: LoopPolicy,
  past: readonly PastDemand[],
  time: number,
): readonly PastDemand[] => {
  const begin = time - downDwellSeconds;
  const first = past.findLastIndex((entry) => entry.time <= begin && entry.time >= begin - holdAfterSeconds);
  return first < 0 ? past.filter((entry) => entry.time >= begin) : past.slice(first);
};

/** What was believed within the down dwell. Guesses end with the first estimate that is none. */
export const pastOf = (
  policy: LoopPolicy,
  past: readonly PastDemand[],
  { belief, countedAt, saturated, surge }: Observed,
  time: number,
): PastDemand[] => {
  const recent = [...within(policy, past, time)];
  if (countedAt === null || belief === null) return recent;
  const guess = saturated || surge !== null;
  const kept = guess ? recent : recent.filter(({ atLeast }) => !atLeast);
  return [...kept, { time, demand: surge ?? meanOf(belief), atLeast: guess }];
};

/** When demand fell by more than noise explains and has stayed there since; ended by a load above the upper threshold. */
export const fellOf = (
  { upperUtilization }: LoopPolicy,
  { fellAt }: LoopState,
  { countedAt, plunge, saturated, surge }: Observed,
  time: number,
  utilization: number,
): LoopState['fellAt'] => {
  if (countedAt === null) return fellAt;
  if (saturated || surge !== null || utilization > upperUtilization) return null;
  return plunge ? time : fellAt;
};

/** Estimates in a row with a load above the upper threshold. */
export const highOf = (
  { upperUtilization }: LoopPolicy,
  { high }: LoopState,
  { countedAt }: Observed,
  { window }: Observation,
  utilization: number,
): LoopState['high'] => {
  if (countedAt === null) return high;
  if (utilization <= upperUtilization) return null;
  return high === null ? { since: countedAt - window, estimates: 1 } : { ...high, estimates: high.estimates + 1 };
};
