// How far an evacuation has got, from what became of each Service, and the status that says so.
import { type EndpointSlice, isEndpointReady } from '../apis/core.ts';
import { byText, defined, refOfKey, sumBy, timeText } from '../apis/values.ts';
import type {
  ServiceLeft,
  ZoneEvacuation,
  ZoneEvacuationCondition,
  ZoneEvacuationStatus,
} from '../apis/zone-evacuation.ts';
import { expiryOf } from './accept.ts';
import type { decideInOrder } from './decide.ts';
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

/** @param settled - the slices are as decided. Undefined: the Service has nothing in the zone. */
export const outcomeIn = (
  zone: string,
  slices: readonly EndpointSlice[],
  { decision, refused }: ReturnType<typeof decideInOrder>,
  settled: boolean,
): Outcome | undefined => {
  const all = slices.flatMap((slice) => slice.endpoints ?? []);
  const ready = all.filter((endpoint) => endpoint.zone === zone && isEndpointReady(endpoint));
  const endpoints = ready.length;
  const left = refused.get(zone);
  if (left !== undefined) return { state: 'left', endpoints, evacuated: 0, reason: left.reason, message: left.message };
  if (decision.kind !== 'moved' || endpoints === 0) return undefined;
  if (!settled) return { state: 'pending', endpoints, evacuated: 0 };
  return { state: 'moved', endpoints, evacuated: ready.filter((endpoint) => isLeaving(endpoint, decision)).length };
};

export const outcomesOf = (zone: string, outcomes: Outcomes): Map<string, Outcome> =>
  new Map(
    [...outcomes].flatMap(([key, zones]) => {
      const outcome = zones.get(zone);
      return outcome === undefined ? [] : [[key, outcome] as const];
    }),
  );

export const countOutcomes = (outcomes: Outcomes) => {
  const all = [...outcomes.values()].flatMap((zones) => [...zones].map(([zone, { state }]) => ({ zone, state })));
  return [...Map.groupBy(all, ({ zone, state }) => `${zone} ${state}`).values()].flatMap((own) =>
    own.slice(0, 1).map((one) => ({ ...one, services: own.length })),
  );
};

const MAX_LISTED = 100;
const MAX_ZONES = 64;

type Said = Pick<ZoneEvacuationCondition, 'type' | 'status' | 'reason' | 'message'>;

const said = (type: Said['type'], is: boolean, reason: string, message: string): Said => ({
  type,
  status: is ? 'True' : 'False',
  reason,
  message,
});

/** With conditions that keep the time of their last change where their status is the same. */
const statusOf = (
  evacuation: ZoneEvacuation,
  phase: ZoneEvacuationStatus['phase'],
  more: ZoneEvacuationStatus,
  conditions: readonly Said[],
  now: number,
): ZoneEvacuationStatus => {
  const { metadata, status } = evacuation;
  const observedGeneration = metadata.generation ?? 0;
  const expiresAt = expiryOf(evacuation);
  return {
    observedGeneration,
    ...(expiresAt === undefined ? {} : { expiresAt: timeText(expiresAt) }),
    ...defined({ phase }),
    ...more,
    conditions: conditions.map((condition) => {
      const before = status?.conditions?.find(({ type }) => type === condition.type);
      const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : timeText(now);
      return { ...condition, lastTransitionTime, observedGeneration };
    }),
  };
};

export const refusedStatus = (
  evacuation: ZoneEvacuation,
  { reason, message, waiting }: { readonly reason: string; readonly message: string; readonly waiting: boolean },
  now: number,
): ZoneEvacuationStatus => {
  const conditions = [said('Accepted', false, reason, message), said('Evacuated', false, reason, 'nothing was moved')];
  return statusOf(evacuation, waiting ? 'Pending' : 'Refused', {}, conditions, now);
};

const leftOf = (outcomes: ReadonlyMap<string, Outcome>): ServiceLeft[] =>
  [...outcomes]
    .filter(([, { state }]) => state === 'left')
    .sort(([one], [other]) => byText(one, other))
    .map(([key, { reason = '', message = '' }]) => ({ ...refOfKey(key), reason, message }));

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
  const moved = all.filter(({ state }) => state === 'moved').length;
  const pending = all.length - moved - left.length;
  const done = !incomplete && pending === 0;
  const stay = left.length === 0 ? '' : `, ${left.length} stay`;
  const figures = {
    startedAt: evacuation.status?.startedAt ?? timeText(now),
    // More than the definition takes: admission leaves what is new to the leader.
    ...(clientZones.length > MAX_ZONES ? {} : { clientZones: [...clientZones] }),
    services: { total: all.length, moved, pending, left: left.length },
    endpoints: { total: sumBy(all, ({ endpoints }) => endpoints), evacuated: sumBy(all, ({ evacuated }) => evacuated) },
    left: left.slice(0, MAX_LISTED),
    ...(left.length > MAX_LISTED ? { omitted: left.length - MAX_LISTED } : {}),
  };
  const conditions = [
    said('Accepted', true, 'Accepted', 'slices are written, and kept by admission'),
    done
      ? said('Evacuated', true, 'Evacuated', `${moved} Service(s) moved${stay}`)
      : said('Evacuated', false, 'Moving', `${moved} of ${all.length} Service(s) moved, ${pending} to go${stay}`),
  ];
  return statusOf(evacuation, done ? 'Evacuated' : 'Moving', figures, conditions, now);
};

/** After its time. @param remaining - slices that still have the mark. */
export const returningStatus = (evacuation: ZoneEvacuation, remaining: number, now: number): ZoneEvacuationStatus => {
  const { startedAt, conditions: before = [] } = evacuation.status ?? {};
  const over = remaining === 0;
  const conditions = [
    ...before.filter(({ type }) => type === 'Accepted'),
    said('Evacuated', false, 'Expired', 'its time is over'),
    over
      ? said('Returned', true, 'Returned', 'no slice carries its mark any more')
      : said('Returned', false, 'Returning', `${remaining} slice(s) to go`),
  ];
  return statusOf(evacuation, over ? 'Returned' : 'Returning', defined({ startedAt }), conditions, now);
};
