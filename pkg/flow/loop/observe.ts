// SPDX-License-Identifier: Apache-2.0
// From an observation to what the loop believes: which samples count, and what they say about demand.
import { aged, exactly, firstBelief, forZones } from '../demand/belief.ts';
import type { Belief } from '../demand/belief.ts';
import { estimateDemand } from '../demand/estimate.ts';
import { rowsOf } from '../demand/rows.ts';
import type { LoadRow, LoadSample } from '../demand/rows.ts';
import type { Demand } from '../types.ts';
import { readyOf, sharesBetween, zonesOf } from './topology.ts';
import type { LoopPolicy, LoopState, MeasuredDemand, Observation } from './types.ts';

/** What the samples of one observation add. */
export interface Observed {
  readonly belief: Belief | null;
  readonly sampled: Readonly<Record<string, number>>;
  readonly freshAt: number;
  /** When the newest of the samples counted ended; null where none counted. */
  readonly countedAt: number | null;
  /** Endpoints that serve the same clients are all saturated. */
  readonly saturated: boolean;
  /** All endpoints with samples are saturated: no hints could place more. */
  readonly full: boolean;
  readonly rank: number;
}

interface Counted extends LoadSample {
  readonly name: string;
  readonly sampledAt: number;
}

/** Samples that are new, of endpoints that were there all the time, and whose window lies wholly in the time of the plan. */
const countedSamples = (observation: Observation, state: LoopState, { settleSeconds }: LoopPolicy): Counted[] =>
  readyOf(observation).flatMap((endpoint) => {
    const { name, load, sampledAt, capacity } = endpoint;
    if (load === null || sampledAt === null || sampledAt > observation.time) return [];
    const from = sampledAt - observation.window;
    const since = Math.max(state.plannedAt ?? -Infinity, state.members[name]?.since ?? Infinity);
    if (sampledAt <= (state.sampled[name] ?? -Infinity) || from < since + settleSeconds) return [];
    const shares = sharesBetween(state, endpoint, from, sampledAt);
    return shares === undefined ? [] : [{ name, load, capacity, sampledAt, shares }];
  });

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
      };

/** Counts the new samples of an observation; `state` is of the hints, zones and endpoints in force up to now. */
export const observe = (policy: LoopPolicy, state: LoopState, observation: Observation): Observed => {
  const zones = zonesOf(observation);
  const weights = weightsOf(observation);
  const freshAt = Math.max(state.freshAt, newestSample(observation));
  const carried = state.belief === null ? null : forZones(state.belief, zones, weights);
  const nothing: Observed = {
    belief: carried,
    sampled: state.sampled,
    freshAt,
    countedAt: null,
    saturated: false,
    full: false,
    rank: 0,
  };
  const { measured, time } = observation;
  if (measured !== undefined)
    return measured.sampledAt > time
      ? nothing
      : observeMeasured(zones, measured, { ...nothing, freshAt: state.freshAt });
  const counted = countedSamples(observation, state, policy);
  if (counted.length === 0 || zones.length === 0) return nothing;
  const rows = rowsOf(counted, policy.idleCores);
  const countedAt = counted.reduce((newest, { sampledAt }) => Math.max(newest, sampledAt), -Infinity);
  const before =
    carried === null
      ? firstBelief(zones, totalOf(rows, readyOf(observation).length), weights, countedAt)
      : aged(carried, countedAt);
  const { belief, rank } = estimateDemand(before, rows);
  const known = Object.entries(state.sampled).filter(([name]) => state.members[name] !== undefined);
  const sampled = Object.fromEntries([...known, ...counted.map(({ name, sampledAt }) => [name, sampledAt] as const)]);
  return {
    belief,
    rank,
    freshAt,
    countedAt,
    sampled,
    saturated: rows.some((row) => row.saturated),
    full: rows.every((row) => row.saturated),
  };
};
