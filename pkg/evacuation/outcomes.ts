// What became of Services under the evacuations of zones.
import type { EndpointSlice } from '../apis/core.ts';
import { isEndpointReady } from '../apis/readings.ts';
import type { OrderedDecision } from './decide.ts';
import { isLeaving } from './slice.ts';

/** What became of one Service under the evacuation of one zone. */
export interface Outcome {
  readonly state: 'moved' | 'pending' | 'left';
  /** Ready endpoints in the zone. */
  readonly endpoints: number;
  /** Of these, those that get no new connections. */
  readonly evacuated: number;
  /** Of `left`. */
  readonly reason?: string;
  readonly message?: string;
}

/** By Service (`namespace/name`), then by zone. */
export type Outcomes = ReadonlyMap<string, ReadonlyMap<string, Outcome>>;

const inZone = (slices: readonly EndpointSlice[], zone: string) =>
  slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter((endpoint) => endpoint.zone === zone && isEndpointReady(endpoint));

/** @param settled - the slices are as decided. Undefined: the Service has nothing in the zone. */
export const outcomeIn = (
  zone: string,
  slices: readonly EndpointSlice[],
  { decision, refused }: OrderedDecision,
  settled: boolean,
): Outcome | undefined => {
  const endpoints = inZone(slices, zone);
  const left = refused.get(zone);
  if (left !== undefined)
    return { state: 'left', endpoints: endpoints.length, evacuated: 0, reason: left.reason, message: left.message };
  if (decision.kind !== 'moved' || endpoints.length === 0) return undefined;
  const evacuated = settled ? endpoints.filter((endpoint) => isLeaving(endpoint, decision)).length : 0;
  return { state: settled ? 'moved' : 'pending', endpoints: endpoints.length, evacuated };
};

/** Of one zone, by Service. */
export const outcomesOf = (zone: string, outcomes: Outcomes): Map<string, Outcome> => {
  const found = new Map<string, Outcome>();
  for (const [key, zones] of outcomes) {
    const outcome = zones.get(zone);
    if (outcome !== undefined) found.set(key, outcome);
  }
  return found;
};

export interface OutcomeCount {
  readonly zone: string;
  readonly state: Outcome['state'];
  readonly services: number;
}

export const countOutcomes = (outcomes: Outcomes): OutcomeCount[] => {
  const found = new Map<string, OutcomeCount>();
  for (const zones of outcomes.values()) {
    for (const [zone, { state }] of zones) {
      const key = `${zone} ${state}`;
      found.set(key, { zone, state, services: (found.get(key)?.services ?? 0) + 1 });
    }
  }
  return [...found.values()];
};
