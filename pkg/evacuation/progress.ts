// How far an evacuation has got, from what became of each Service, and the status that says so.
// What became of Services under the evacuations of zones.
import { type EndpointSlice, isEndpointReady } from '../apis/core.ts';
import { defined, sumBy } from '../apis/values.ts';
import type {
  ServiceLeft,
  ZoneEvacuation,
  ZoneEvacuationCondition,
  ZoneEvacuationStatus,
} from '../apis/zone-evacuation.ts';
import { expiryOf } from './accept.ts';
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

/** Services by zone and state. */
export const countOutcomes = (outcomes: Outcomes) => {
  const found = new Map<string, { zone: string; state: Outcome['state']; services: number }>();
  for (const zones of outcomes.values()) {
    for (const [zone, { state }] of zones) {
      const key = `${zone} ${state}`;
      found.set(key, { zone, state, services: (found.get(key)?.services ?? 0) + 1 });
    }
  }
  return [...found.values()];
};

const MAX_LISTED = 100;
const MAX_ZONES = 64;
const iso = (milliseconds: number): string => new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z');

type Said = Pick<ZoneEvacuationCondition, 'type' | 'status' | 'reason' | 'message'>;

/** Conditions with the time of their last change: that of before where the status is the same. */
const conditionsOf = (
  { metadata, status }: ZoneEvacuation,
  said: readonly Said[],
  now: number,
): ZoneEvacuationCondition[] =>
  said.map((condition) => {
    const before = status?.conditions?.find(({ type }) => type === condition.type);
    return {
      ...condition,
      lastTransitionTime: before?.status === condition.status ? before.lastTransitionTime : iso(now),
      observedGeneration: metadata.generation ?? 0,
    };
  });

const common = (evacuation: ZoneEvacuation): ZoneEvacuationStatus => {
  const expiresAt = expiryOf(evacuation);
  return {
    observedGeneration: evacuation.metadata.generation ?? 0,
    ...(expiresAt === undefined ? {} : { expiresAt: iso(expiresAt) }),
  };
};

const said = (type: Said['type'], status: boolean, reason: string, message: string): Said => ({
  type,
  status: status ? 'True' : 'False',
  reason,
  message,
});

/** Nothing is done for a reason. */
export const refusedStatus = (
  evacuation: ZoneEvacuation,
  { reason, message, waiting }: { readonly reason: string; readonly message: string; readonly waiting: boolean },
  now: number,
): ZoneEvacuationStatus => ({
  ...common(evacuation),
  phase: waiting ? 'Pending' : 'Refused',
  conditions: conditionsOf(
    evacuation,
    [said('Accepted', false, reason, message), said('Evacuated', false, reason, 'nothing was moved')],
    now,
  ),
});

const countOf = (outcomes: readonly Outcome[], state: Outcome['state']): number =>
  outcomes.filter((outcome) => outcome.state === state).length;

const leftOf = (outcomes: ReadonlyMap<string, Outcome>): ServiceLeft[] =>
  [...outcomes]
    .filter(([, { state }]) => state === 'left')
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, { reason = '', message = '' }]) => {
      const [namespace = '', name = ''] = key.split('/');
      return { namespace, name, reason, message };
    });

/**
 * While it runs.
 *
 * @param progress - outcomes by `namespace/name`, whether Services are still to be looked at, and zones with Nodes in name order
 */
export const runningStatus = (
  evacuation: ZoneEvacuation,
  progress: {
    readonly outcomes: ReadonlyMap<string, Outcome>;
    readonly incomplete: boolean;
    readonly clientZones: readonly string[];
  },
  now: number,
): ZoneEvacuationStatus => {
  const { outcomes, incomplete, clientZones } = progress;
  const all = [...outcomes.values()];
  const left = leftOf(outcomes);
  const pending = countOf(all, 'pending');
  const moved = countOf(all, 'moved');
  const done = !incomplete && pending === 0;
  const stay = left.length === 0 ? '' : `, ${left.length} stay`;
  return {
    ...common(evacuation),
    phase: done ? 'Evacuated' : 'Moving',
    startedAt: evacuation.status?.startedAt ?? iso(now),
    // More than the definition takes: admission leaves what is new to the leader.
    ...(clientZones.length > MAX_ZONES ? {} : { clientZones: [...clientZones] }),
    services: { total: all.length, moved, pending, left: left.length },
    endpoints: { total: sumBy(all, ({ endpoints }) => endpoints), evacuated: sumBy(all, ({ evacuated }) => evacuated) },
    left: left.slice(0, MAX_LISTED),
    ...(left.length > MAX_LISTED ? { omitted: left.length - MAX_LISTED } : {}),
    conditions: conditionsOf(
      evacuation,
      [
        said('Accepted', true, 'Accepted', 'slices are written, and kept by admission'),
        done
          ? said('Evacuated', true, 'Evacuated', `${moved} Service(s) moved${stay}`)
          : said('Evacuated', false, 'Moving', `${moved} of ${all.length} Service(s) moved, ${pending} to go${stay}`),
      ],
      now,
    ),
  };
};

/** After its time. @param remaining - slices that still have the mark. */
export const returningStatus = (evacuation: ZoneEvacuation, remaining: number, now: number): ZoneEvacuationStatus => {
  const { startedAt, conditions = [] } = evacuation.status ?? {};
  const accepted = conditions.find(({ type }) => type === 'Accepted');
  return {
    ...common(evacuation),
    phase: remaining === 0 ? 'Returned' : 'Returning',
    ...defined({ startedAt }),
    conditions: conditionsOf(
      evacuation,
      [
        ...(accepted === undefined ? [] : [accepted]),
        said('Evacuated', false, 'Expired', 'its time is over'),
        remaining === 0
          ? said('Returned', true, 'Returned', 'no slice carries its mark any more')
          : said('Returned', false, 'Returning', `${remaining} slice(s) to go`),
      ],
      now,
    ),
  };
};
