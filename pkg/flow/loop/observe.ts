// From an observation to what the loop believes: which samples count, and what they say about demand.
import { sumBy, sumOf } from '../../apis/values.ts';
import { coresPerUnit, hintsOf, learnFrom, remembered, steadyRate, type ZoneCpu } from '../demand/arrivals.ts';
import { SATURATION, aged, estimateDemand, exactly, firstEstimate, forZones, rowsOf } from '../demand/estimate.ts';
import type { Estimate, LoadRow } from '../demand/estimate.ts';
import { at as entryOf } from '../demand/matrix.ts';
import { type Demand, ownValue } from '../types.ts';
import { observedZones, readyOf, sharesBetween } from './periods.ts';
import { type Counted, beforeLoss, separateSilence } from './silence.ts';
import type { Counting, LoopPolicy, LoopState, MeasuredDemand, Observation, ObservedEndpoint } from './types.ts';

/** What the samples of one observation add. */
export interface Observed extends Pick<LoopState, 'estimate' | 'sampled' | 'freshAt' | 'counting'> {
  /** When the newest of the samples counted ended; null where none counted. */
  readonly countedAt: number | null;
  /** Endpoints that serve the same clients are all saturated. */
  readonly saturated: boolean;
  /** The endpoints together are saturated: no hints could place more. */
  readonly full: boolean;
  /** Demand to plan for where it has jumped: a window that the jump lies in shows only a part of it. */
  readonly jump: Demand | null;
  /** Demand has fallen by more than noise explains. */
  readonly fall: boolean;
  readonly rank: number;
  /** Zones whose endpoints serve nothing, and since when, seconds. */
  readonly silent?: Demand | undefined;
}

/**
 * Samples that are new, of endpoints that were there all the time, and whose window lies wholly in the time of the plan in force, or
 * of the one before: a sample is late, and the first after a jump is often about the time before the plan that answers it.
 */
const countedSamples = (observation: Observation, state: LoopState, { settleSeconds }: LoopPolicy): Counted[] => {
  const inForce = { hintPeriods: state.hintPeriods, hintsOf: hintsOf(state.plan), plannedAt: state.plannedAt };
  const { previous } = state;
  const before = previous === null ? undefined : { ...previous, hintsOf: hintsOf(previous.plan) };
  return readyOf(observation).flatMap((endpoint) => {
    const { name, zone, load, sampledAt, capacity } = endpoint;
    if (load === null || sampledAt === null || sampledAt > observation.time) return [];
    const from = sampledAt - observation.window;
    const under = before !== undefined && sampledAt <= before.until ? before : inForce;
    const since = Math.max(under.plannedAt ?? -Infinity, ownValue(state.members, name)?.since ?? Infinity);
    if (sampledAt <= (ownValue(state.sampled, name) ?? -Infinity) || from < since + settleSeconds) return [];
    const shares = sharesBetween(under, endpoint, from, sampledAt);
    return shares === undefined ? [] : [{ name, zone, load, capacity, sampledAt, shares }];
  });
};

/** Clients' weights; where nothing is known of them all zones count the same. */
const weightsOf = ({ clients, zones }: Observation): Demand =>
  clients ?? Object.fromEntries(zones.map((zone) => [zone, 1]));

/** The demand that the rows together show, as if endpoints without sample had the mean load of the others. */
const totalOf = (rows: readonly LoadRow[], endpoints: number): number => {
  const sampled = sumBy(rows, ({ count }) => count);
  return sampled === 0 ? 0 : (sumBy(rows, ({ load, count }) => load * count) / sampled) * endpoints;
};

/** Newest first end of a window that any ready endpoint has, whether it counts or not. */
const newestSample = ({ time, endpoints }: Observation): number =>
  endpoints
    .filter(({ ready, load, sampledAt }) => ready && load !== null && sampledAt !== null && sampledAt <= time)
    .reduce((newest, { sampledAt }) => Math.max(newest, sampledAt ?? -Infinity), -Infinity);

/** How much of a rise is expected to come still: a jump lies anywhere in the window that first shows it. */
const STILL_TO_COME = 0.5;

/** Demand after a jump, guessed from a window that it may lie in; the guess alone never fills the endpoints above `room`. */
const afterJump = (before: Estimate, after: Estimate, room: number): Demand => {
  const rises = after.mean.map((now, index) => STILL_TO_COME * Math.max(0, now - (before.mean[index] ?? 0)));
  const factor = Math.min(1, Math.max(0, room - sumOf(after.mean)) / Math.max(Number.MIN_VALUE, sumOf(rises)));
  return Object.fromEntries(
    after.zones.map((zone, index) => [zone, (after.mean[index] ?? 0) + factor * (rises[index] ?? 0)]),
  );
};

/** So many standard deviations of both are a jump or a fall. */
const SURPRISE = 3;

/** Whether a zone's demand differs by more than noise explains, the same way for all zones that do. */
const differs = (before: Estimate, after: Estimate, sign: 1 | -1): boolean =>
  after.mean.some((now, index) => {
    const variance = entryOf(after.covariance, index, index) + entryOf(before.covariance, index, index);
    return sign * (now - (before.mean[index] ?? 0)) > SURPRISE * Math.sqrt(variance);
  });

const capacityOf = (observation: Observation): number => sumBy(readyOf(observation), ({ capacity }) => capacity);

const roomOf = ({ targetUtilization }: LoopPolicy, observation: Observation): number =>
  targetUtilization * capacityOf(observation);

/** By a measurement of the demand: jumps and falls are seen in it as in samples of endpoints. One that was seen already says nothing. */
const observeMeasured = (
  policy: LoopPolicy,
  observation: Observation,
  { demand, sampledAt }: MeasuredDemand,
  nothing: Observed,
  uncertainty = 0,
): Observed => {
  const { estimate: before, freshAt } = nothing;
  if (sampledAt <= (before?.time ?? -Infinity)) return nothing;
  const zones = observedZones(observation);
  const estimate = exactly(zones, demand, sampledAt, uncertainty);
  const rose = before !== null && differs(before, estimate, 1);
  return {
    ...nothing,
    estimate,
    freshAt: Math.max(freshAt, sampledAt),
    countedAt: sampledAt,
    jump: rose ? afterJump(before, estimate, roomOf(policy, observation)) : null,
    fall: before !== null && differs(before, estimate, -1),
    rank: zones.length,
  };
};

/** Hardly anything is left anywhere, by the last that is known of each endpoint. */
const isFull = (ready: readonly ObservedEndpoint[]): boolean => {
  const known = ready.filter(({ load }) => load !== null);
  // A Pod may use more than it requests: what it does beyond that is no reason to leave room on others unused.
  const load = sumBy(known, (endpoint) => Math.min(endpoint.load ?? 0, endpoint.capacity));
  return load >= SATURATION * sumBy(known, ({ capacity }) => capacity);
};

/** A saturated endpoint is taken to be asked for this much more than it gave, and for more where that was guessed before and was too little. */
const BEYOND_SATURATION = { first: 1.25, again: 1.5 };

/** And at least by this part of that where the others have no room for more. */
const LEAST_GUESS = 0.3;

/** Demand where endpoints are saturated: a guess, which alone fills the endpoints up to half-way between the threshold and all they have. */
const beyondSaturation = (
  { upperUtilization }: LoopPolicy,
  observation: Observation,
  before: Estimate,
  rows: readonly LoadRow[],
  again: boolean,
): Estimate => {
  const { estimate: least } = estimateDemand(before, rows);
  const { estimate: more } = estimateDemand(before, rows, BEYOND_SATURATION[again ? 'again' : 'first']);
  const room = ((upperUtilization + 1) / 2) * capacityOf(observation) - sumOf(least.mean);
  const rises = more.mean.map((value, index) => Math.max(0, value - (least.mean[index] ?? 0)));
  const factor = Math.min(1, Math.max(LEAST_GUESS, room / Math.max(Number.MIN_VALUE, sumOf(rises))));
  return { ...more, mean: least.mean.map((value, index) => value + factor * (rises[index] ?? 0)) };
};

/** What samples of endpoints say: the estimate that they leave, and whether demand is beyond what they show. */
const observeSamples = (
  policy: LoopPolicy,
  observation: Observation,
  counted: readonly Counted[],
  nothing: Observed,
  previous: LoopState['previous'],
): Observed => {
  const ready = readyOf(observation);
  const rows = rowsOf(counted);
  const countedAt = counted.reduce((newest, { sampledAt }) => Math.max(newest, sampledAt), -Infinity);
  const { estimate: carried } = nothing;
  const before =
    carried === null
      ? firstEstimate(observedZones(observation), totalOf(rows, ready.length), weightsOf(observation), countedAt)
      : aged(carried, countedAt);
  const { estimate, rank, jump, fall, atLeast } = estimateDemand(before, rows);
  // Under the plan that a guess led to.
  const again = previous !== null && countedAt > previous.until;
  return {
    ...nothing,
    estimate: atLeast ? beyondSaturation(policy, observation, before, rows, again) : estimate,
    rank,
    countedAt,
    saturated: atLeast,
    fall: fall && carried !== null && !atLeast,
    full: isFull(ready),
    // Saturated endpoints are taken to be asked for more anyhow.
    jump: jump && !atLeast && carried !== null ? afterJump(carried, estimate, roomOf(policy, observation)) : null,
  };
};

/** Ends of the newest windows, of those endpoints that are still known. */
const sampledOf = (state: LoopState, counted: readonly Counted[]): Readonly<Record<string, number>> => {
  const known = Object.entries(state.sampled).filter(([name]) => ownValue(state.members, name) !== undefined);
  return Object.fromEntries([...known, ...counted.map(({ name, sampledAt }) => [name, sampledAt] as const)]);
};

/** Load of the endpoints of each zone of which every endpoint has a sample that is newer than the last one learned from. */
const zoneCpu = (observation: Observation, learnedAt: Demand): ZoneCpu[] =>
  [...Map.groupBy(readyOf(observation), ({ zone }) => zone)].flatMap(([zone, endpoints]) => {
    const ends = endpoints.map(({ load, sampledAt }) => (load === null ? null : sampledAt));
    if (ends.includes(null)) return [];
    const [first, last] = [Math.min(...ends.map(Number)), Math.max(...ends.map(Number))];
    if (first <= (ownValue(learnedAt, zone) ?? -Infinity) || last > observation.time) return [];
    const cores = sumBy(endpoints, ({ load }) => load ?? 0);
    return [{ zone, cores, at: last, window: observation.window + last - first }];
  });

/** Windows are remembered for as long as late samples of load may be about them. */
const KEPT_SECONDS = 180;

/** What a source counted, and what the load of the endpoints teaches of it. */
const countingOf = (before: Counting | undefined, observation: Observation): Counting | undefined => {
  const { measured } = observation;
  if (measured?.counts === undefined || measured.sampledAt > observation.time) return before;
  const { unit, to, window } = measured.counts;
  // Another unit begins anew.
  const own = before?.unit === unit ? before : { unit, past: [], known: null, learnedAt: {} };
  const past = remembered(own.past, { at: measured.sampledAt, window, from: measured.demand, to }, KEPT_SECONDS);
  const cpu = zoneCpu(observation, own.learnedAt);
  const learnedAt = Object.fromEntries([
    ...Object.entries(own.learnedAt),
    ...cpu.map(({ zone, at }) => [zone, at] as const),
  ]);
  return { unit, past, known: learnFrom(own.known, past, cpu), learnedAt };
};

/** Less sure than this, or counted longer ago, seconds, demand is estimated from the load of the endpoints as without a meter. */
const SURE_ENOUGH = 0.3;
const COUNTED_LATELY_SECONDS = 30;

/**
 * By what was counted, in the unit of capacity; undefined while it is not known well enough what one of it takes. A rise needs no guess,
 * it is all there.
 */
const observeCounted = (
  policy: LoopPolicy,
  observation: Observation,
  { known, past }: Counting,
  nothing: Observed,
): Observed | undefined => {
  const [each, rate, newest] = [coresPerUnit(known), steadyRate(past), past.at(-1)];
  if (!each || each.uncertainty > SURE_ENOUGH || rate === undefined || newest === undefined) return undefined;
  if (observation.time - newest.at > COUNTED_LATELY_SECONDS) return undefined;
  const demand = Object.fromEntries(Object.entries(rate.rates).map(([zone, value]) => [zone, value * each.cores]));
  const seen = observeMeasured(policy, observation, { demand, sampledAt: newest.at }, nothing, each.uncertainty);
  if (seen.countedAt === null) return seen;
  const full = sumOf(Object.values(demand)) >= SATURATION * capacityOf(observation);
  return { ...seen, full, jump: rate.rose ? demand : null, fall: rate.fell };
};

/** Counts the new samples of an observation; `state` is of the hints, zones and endpoints in force up to now. */
export const observe = (policy: LoopPolicy, state: LoopState, observation: Observation): Observed => {
  const zones = observedZones(observation);
  const { measured, time } = observation;
  const nothing: Observed = {
    estimate: state.estimate === null ? null : forZones(state.estimate, zones, weightsOf(observation)),
    sampled: state.sampled,
    freshAt: state.freshAt,
    countedAt: null,
    saturated: false,
    full: false,
    jump: null,
    fall: false,
    rank: 0,
  };
  const counting = countingOf(state.counting, observation);
  if (counting !== undefined) {
    const counted = observeCounted(policy, observation, counting, nothing);
    return { ...(counted ?? observeLoads(policy, state, observation, nothing)), counting };
  }
  if (measured) return measured.sampledAt > time ? nothing : observeMeasured(policy, observation, measured, nothing);
  return observeLoads(policy, state, observation, nothing);
};

/** By the load of endpoints. */
const observeLoads = (policy: LoopPolicy, state: LoopState, observation: Observation, nothing: Observed): Observed => {
  const estimate = nothing.estimate === null ? null : beforeLoss(nothing.estimate, state, observation);
  const seen = { ...nothing, estimate, freshAt: Math.max(state.freshAt, newestSample(observation)) };
  const counted = countedSamples(observation, state, policy);
  if (counted.length === 0 || observedZones(observation).length === 0) return { ...seen, silent: state.silent };
  const { evidence, believed, silent } = separateSilence(policy, state, observation, counted, estimate);
  const known = { ...seen, estimate: believed, sampled: sampledOf(state, counted), silent };
  return evidence.length === 0 ? known : observeSamples(policy, observation, evidence, known, state.previous);
};
