// SPDX-License-Identifier: Apache-2.0
// From an observation to what the loop believes: which samples count, and what they say about demand.
import { aged, exactly, firstBelief, forZones } from '../demand/belief.ts';
import type { Belief } from '../demand/belief.ts';
import { estimateDemand } from '../demand/estimate.ts';
import { hintsOf } from '../demand/in-force.ts';
import { rowsOf, SATURATION } from '../demand/rows.ts';
import type { LoadRow, LoadSample } from '../demand/rows.ts';
import type { Demand } from '../types.ts';
import { observedZones, readyOf, sharesBetween } from './topology.ts';
import type { LoopPolicy, LoopState, MeasuredDemand, Observation, ObservedEndpoint } from './types.ts';
import { ownValue } from '../own.ts';

/** What the samples of one observation add. */
export interface Observed {
  readonly belief: Belief | null;
  readonly sampled: Readonly<Record<string, number>>;
  readonly freshAt: number;
  /** When the newest of the samples counted ended; null where none counted. */
  readonly countedAt: number | null;
  /** Endpoints that serve the same clients are all saturated. */
  readonly saturated: boolean;
  /** The endpoints together are saturated: no hints could place more. */
  readonly full: boolean;
  /** Demand to plan for where it has jumped: a window that the jump lies in shows only a part of it. */
  readonly surge: Demand | null;
  /** Demand has fallen by more than noise explains. */
  readonly plunge: boolean;
  readonly rank: number;
  /** Of the equations, ≥ 1; null where the samples do not tell all zones apart. */
  readonly condition: number | null;
}

interface Counted extends LoadSample {
  readonly name: string;
  readonly sampledAt: number;
}

/**
 * Samples that are new, of endpoints that were there all the time, and whose window lies wholly in the time of the plan in force, or
 * of the one before: a sample is late, and the first after a jump is often about the time before the plan that answers it.
 */
const countedSamples = (observation: Observation, state: LoopState, { settleSeconds }: LoopPolicy): Counted[] => {
  const inForce = { eras: state.eras, hintsOf: hintsOf(state.plan), plannedAt: state.plannedAt };
  const { previous } = state;
  const before = previous === null ? undefined : { ...previous, hintsOf: hintsOf(previous.plan) };
  return readyOf(observation).flatMap((endpoint) => {
    const { name, load, sampledAt, capacity } = endpoint;
    if (load === null || sampledAt === null || sampledAt > observation.time) return [];
    const from = sampledAt - observation.window;
    const under = before !== undefined && sampledAt <= before.until ? before : inForce;
    const since = Math.max(under.plannedAt ?? -Infinity, ownValue(state.members, name)?.since ?? Infinity);
    if (sampledAt <= (ownValue(state.sampled, name) ?? -Infinity) || from < since + settleSeconds) return [];
    const shares = sharesBetween(under, endpoint, from, sampledAt);
    return shares === undefined ? [] : [{ name, load, capacity, sampledAt, shares }];
  });
};

/** Clients' weights; where nothing is known of them all zones count the same. */
const weightsOf = ({ clients, zones }: Observation): Demand =>
  clients ?? Object.fromEntries(zones.map((zone) => [zone, 1]));

/** The demand that the rows together show, as if endpoints without sample had the mean load of the others. */
const totalOf = (rows: readonly LoadRow[], endpoints: number): number => {
  const sampled = rows.reduce((sum, { count }) => sum + count, 0);
  const load = rows.reduce((sum, row) => sum + row.load * row.count, 0);
  return sampled === 0 ? 0 : (load / sampled) * endpoints;
};

/** Newest first end of a window that any ready endpoint has, whether it counts or not. */
const newestSample = (observation: Observation): number =>
  readyOf(observation).reduce((newest, { load, sampledAt }) => {
    if (load === null || sampledAt === null || sampledAt > observation.time) return newest;
    return Math.max(newest, sampledAt);
  }, -Infinity);

/** What a measurement of the demand itself says; one that was seen already says nothing. */
const observeMeasured = (
  zones: readonly string[],
  { demand, sampledAt }: MeasuredDemand,
  before: Observed,
): Observed =>
  sampledAt <= (before.belief?.time ?? -Infinity)
    ? before
    : {
        ...before,
        belief: exactly(zones, demand, sampledAt),
        freshAt: Math.max(before.freshAt, sampledAt),
        countedAt: sampledAt,
        rank: zones.length,
        condition: 1,
      };

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** How much of a rise is expected to come still: a jump lies anywhere in the window that first shows it. */
const STILL_TO_COME = 0.5;

/** Demand after a jump, guessed from a window that it may lie in; the guess alone never fills the endpoints above `room`. */
const afterJump = (before: Belief, after: Belief, room: number): Demand => {
  const rises = after.mean.map((now, index) => STILL_TO_COME * Math.max(0, now - (before.mean[index] ?? 0)));
  const free = Math.max(0, room - sumOf(after.mean));
  const factor = Math.min(1, free / Math.max(Number.MIN_VALUE, sumOf(rises)));
  return Object.fromEntries(
    after.zones.map((zone, index) => [zone, (after.mean[index] ?? 0) + factor * (rises[index] ?? 0)]),
  );
};

/** Hardly anything is left anywhere, by the last that is known of each endpoint. */
const isFull = (ready: readonly ObservedEndpoint[]): boolean => {
  const known = ready.filter(({ load }) => load !== null);
  // A Pod may use more than it requests: what it does beyond that is no reason to leave room on others unused.
  const load = sumOf(known.map((endpoint) => Math.min(endpoint.load ?? 0, endpoint.capacity)));
  return load >= SATURATION * sumOf(known.map(({ capacity }) => capacity));
};

/** What samples of endpoints say: the belief that they leave, and whether demand is beyond what they show. */
const observeSamples = (
  policy: LoopPolicy,
  observation: Observation,
  counted: readonly Counted[],
  nothing: Observed,
): Observed => {
  const ready = readyOf(observation);
  const rows = rowsOf(counted, policy.idleCores);
  const countedAt = counted.reduce((newest, { sampledAt }) => Math.max(newest, sampledAt), -Infinity);
  const { belief: carried } = nothing;
  const before =
    carried === null
      ? firstBelief(observedZones(observation), totalOf(rows, ready.length), weightsOf(observation), countedAt)
      : aged(carried, countedAt);
  const { belief, rank, condition, surge, plunge, atLeast } = estimateDemand(before, rows);
  const room = policy.targetUtilization * sumOf(ready.map(({ capacity }) => capacity));
  return {
    ...nothing,
    belief,
    rank,
    condition: Number.isFinite(condition) ? condition : null,
    countedAt,
    saturated: atLeast,
    plunge: plunge && carried !== null && !atLeast,
    full: isFull(ready),
    // Saturated endpoints are taken to be asked for more anyhow.
    surge: surge && !atLeast && carried !== null ? afterJump(carried, belief, room) : null,
  };
};

/** Ends of the newest windows, of those endpoints that are still known. */
const sampledOf = (state: LoopState, counted: readonly Counted[]): Readonly<Record<string, number>> => {
  const known = Object.entries(state.sampled).filter(([name]) => ownValue(state.members, name) !== undefined);
  return Object.fromEntries([...known, ...counted.map(({ name, sampledAt }) => [name, sampledAt] as const)]);
};

/** Counts the new samples of an observation; `state` is of the hints, zones and endpoints in force up to now. */
export const observe = (policy: LoopPolicy, state: LoopState, observation: Observation): Observed => {
  const zones = observedZones(observation);
  const { measured, time } = observation;
  const nothing: Observed = {
    belief: state.belief === null ? null : forZones(state.belief, zones, weightsOf(observation)),
    sampled: state.sampled,
    freshAt: state.freshAt,
    countedAt: null,
    saturated: false,
    full: false,
    surge: null,
    plunge: false,
    rank: 0,
    condition: null,
  };
  if (measured !== undefined) return measured.sampledAt > time ? nothing : observeMeasured(zones, measured, nothing);
  const seen = { ...nothing, freshAt: Math.max(state.freshAt, newestSample(observation)) };
  const counted = countedSamples(observation, state, policy);
  if (counted.length === 0 || zones.length === 0) return seen;
  return { ...observeSamples(policy, observation, counted, seen), sampled: sampledOf(state, counted) };
};
