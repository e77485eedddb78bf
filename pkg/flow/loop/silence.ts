// Endpoints that serve nothing, or are gone, though clients ask for as much as before: what is believed of those meanwhile.
import { sumOf } from '../../apis/values.ts';
import type { Estimate, LoadSample } from '../demand/estimate.ts';
import { type Demand, ownValue } from '../types.ts';
import { readyOf } from './periods.ts';
import type { LoopPolicy, LoopState, Observation } from './types.ts';

/** A sample that is new, of an endpoint that was there all the time. */
export interface Counted extends LoadSample {
  readonly name: string;
  readonly zone: string;
  readonly sampledAt: number;
}

/** Windows that the end of what endpoints serve may lie in, where each ends at a time of its own, and one before. */
const RECENT_WINDOWS = 3;

/** Endpoints serve nothing: this much of what was expected of them, which was at least this much of their capacity. */
const SILENT = { ofExpected: 0.05, ofCapacity: 0.05 };

/**
 * Zones whose ready endpoints all serve nothing although clients were believed to use them, and since when: Pods that hang look like this
 * until they are no longer ready. What they do not serve is no evidence of what they are asked for, for as long as metrics may be missing;
 * demand that ended is believed then.
 */
const silentZones = (state: LoopState, observation: Observation, counted: readonly Counted[]): Demand => {
  const mean = state.estimate?.mean ?? [];
  const found: [string, number][] = [];
  for (const [zone, endpoints] of Map.groupBy(readyOf(observation), (endpoint) => endpoint.zone)) {
    const since = ownValue(state.silent ?? {}, zone);
    const own = counted.filter((sample) => sample.zone === zone);
    const expected = sumOf(own.map(({ shares }) => sumOf(shares.map((share, index) => share * (mean[index] ?? 0)))));
    const capacity = sumOf(own.map((sample) => sample.capacity));
    const served = sumOf(endpoints.map(({ load }) => load ?? 0));
    const silent = expected > SILENT.ofCapacity * capacity && served <= SILENT.ofExpected * expected;
    if (own.length === 0 ? since !== undefined : silent) found.push([zone, since ?? observation.time]);
  }
  return Object.fromEntries(found);
};

/** The largest demand of late of the zones that `applies` names by index: before endpoints served less and less. */
const asOfLate = (
  estimate: Estimate,
  { past }: LoopState,
  { time, window }: Observation,
  applies: (index: number) => boolean,
): Estimate => {
  const recent = past.filter((entry) => !entry.atLeast && entry.time >= time - RECENT_WINDOWS * window);
  return {
    ...estimate,
    mean: estimate.mean.map((now, index) => {
      if (!applies(index)) return now;
      return recent.reduce((most, { demand }) => Math.max(most, demand[estimate.zones[index] ?? ''] ?? 0), now);
    }),
  };
};

/** What is believed of zones that lost all their endpoints, as dying Pods serve less before they are gone. */
export const beforeLoss = (estimate: Estimate, state: LoopState, observation: Observation): Estimate => {
  const present = new Set(readyOf(observation).map(({ zone }) => zone));
  const lost = new Set(Object.values(state.members).flatMap(({ zone }) => (present.has(zone) ? [] : [zone])));
  return asOfLate(estimate, state, observation, (index) => lost.has(estimate.zones[index] ?? ''));
};

/** The samples that are evidence; what is believed of zones whose clients only silent endpoints serve; which are silent, and since when. */
export const separateSilence = (
  { holdAfterSeconds }: LoopPolicy,
  state: LoopState,
  observation: Observation,
  counted: readonly Counted[],
  estimate: Estimate | null,
) => {
  const silent = silentZones(state, observation, counted);
  const evidence = counted.filter(
    ({ zone }) => !(observation.time - (ownValue(silent, zone) ?? -Infinity) <= holdAfterSeconds),
  );
  const serves = (samples: readonly Counted[], index: number): boolean =>
    samples.some(({ shares }) => (shares[index] ?? 0) > 0);
  const unheard = (index: number): boolean => serves(counted, index) && !serves(evidence, index);
  return { evidence, believed: estimate === null ? null : asOfLate(estimate, state, observation, unheard), silent };
};
