// What the loop remembers of demand: what it was within the down dwell, and for how long it has been high.
import { meanOf } from '../demand/belief.ts';
import { accumulate, ENOUGH } from './evidence.ts';
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

/** What was believed within the down dwell. A guess ends with the first estimate that is none, which then stands for its time too. */
export const pastOf = (
  policy: LoopPolicy,
  past: readonly PastDemand[],
  { belief, countedAt, saturated, surge }: Observed,
  time: number,
): PastDemand[] => {
  const recent = [...within(policy, past, time)];
  if (countedAt === null || belief === null) return recent;
  const guess = saturated || surge !== null;
  const demand = surge ?? meanOf(belief);
  const kept = guess ? recent : recent.map((entry) => (entry.atLeast ? { ...entry, demand, atLeast: false } : entry));
  return [...kept, { time, demand, atLeast: guess }];
};

/**
 * When demand fell by more than noise explains and has stayed there since; ended by a load above the upper threshold. A rise in another
 * zone that stays below it ends nothing: users of a zone that returned leave the others in the moment in which they come back to it.
 */
export const fellOf = (
  { upperUtilization }: LoopPolicy,
  { fellAt }: LoopState,
  { countedAt, plunge, saturated }: Observed,
  time: number,
  utilization: number,
): LoopState['fellAt'] => {
  if (countedAt === null) return fellAt;
  if (saturated || utilization > upperUtilization) return null;
  return plunge ? time : fellAt;
};

/** Estimates in a row with a load above the upper threshold; `excess`: of the newest, in standard deviations. */
export const highOf = (
  { upperUtilization }: LoopPolicy,
  { high }: LoopState,
  { countedAt }: Observed,
  { window }: Observation,
  utilization: number,
  excess: number,
): LoopState['high'] => {
  if (countedAt === null) return high;
  if (utilization <= upperUtilization) return null;
  const { since, estimates, evidence, until } = high ?? {
    since: countedAt - window,
    estimates: 0,
    evidence: 0,
    until: -Infinity,
  };
  return {
    since,
    until: countedAt,
    estimates: estimates + 1,
    evidence: accumulate(evidence, excess, countedAt - until),
  };
};

/** Load has been above the upper threshold for long enough, or by so much more than noise that there is nothing to wait for. */
export const isHighEnough = ({ upDwellSeconds }: LoopPolicy, high: LoopState['high'], time: number): boolean =>
  high !== null && (high.evidence >= ENOUGH || (high.estimates >= 2 && time - high.since >= upDwellSeconds));
