// Brings the slices of one Service to what the running evacuations make of it, one JSON Patch a slice that differs, and remembers what
// became of it.
import type { EndpointSlice } from '../../apis/core.ts';
import { lockOn } from '../../apis/json-patch.ts';
import { keyOf, refOf, refOfKey } from '../../apis/values.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { type ZoneRequest, decideInOrder } from '../../evacuation/decide.ts';
import { type Evacuated, evacuationPatch, isLeaving } from '../../evacuation/slice.ts';
import { type Outcome, outcomeIn } from '../../evacuation/progress.ts';
import { isNotFound, isStalePatch } from '../../kubernetes/errors.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import { CONFLICT_RETRY_MS, type EventInput, type Result, type Uses } from '../../kubernetes/types.ts';
import type { View } from './view.ts';

/** What slices are to be: under a mark, or undefined for without. */
type Next = Evacuated | undefined;

const leavingIn = ({ endpoints }: EndpointSlice, next: Next): number =>
  next === undefined ? 0 : (endpoints ?? []).filter((endpoint) => isLeaving(endpoint, next)).length;

const WINDOW_MS = 60_000;
const MAX_DELAY_MS = 30_000;

/** What another writer takes away is written again at once, then less and less often. */
const delayMs = (rewrites: number): number => (rewrites <= 2 ? 0 : Math.min(MAX_DELAY_MS, 500 * 2 ** (rewrites - 2)));

type Settled = Exclude<Outcome['state'], 'pending'>;

export const createServices = (
  options: Uses<'client' | 'clock' | 'events', 'patch'> & {
    /** Undefined while nothing is read. */
    view(): View | undefined;
    /** Zones with Nodes, in name order. */
    clientZones(): readonly string[];
    /** Of the evacuations that are about this Service, oldest first. */
    requestsOf(service: string): readonly ZoneRequest[];
    onWrite(slices: number): void;
  },
) => {
  const { client, clock, events } = options;
  const guard = createRewriteGuard({ clock, delayMs, windowMs: WINDOW_MS, quietMs: () => WINDOW_MS });
  /** By Service, then by zone; Services that no evacuation is about are not there. */
  const outcomes = new Map<string, ReadonlyMap<string, Outcome>>();
  /** Of which slices were written since their Service was last as it should be. */
  const wrote = new Set<string>();
  /** What was announced of Services, by zone. */
  const announced = new Map<string, Map<string, Settled>>();
  let waiting: EventInput[] = [];

  /** Writes slices one after the other, receivers before senders. Returns when to look again: another writer was faster, or is fought with. */
  const write = async (slices: readonly EndpointSlice[], next: Next, cache: View['slices'], signal: AbortSignal) => {
    const wanted = next === undefined ? '' : JSON.stringify([[...next.evacuated.keys()].sort(), next.alsoServe]);
    const ordered = [...slices].sort((left, right) => leavingIn(left, next) - leavingIn(right, next));
    let written = 0;
    let retryMs = Infinity;
    for (const slice of ordered) {
      const ref = refOf(slice);
      const key = keyOf(slice);
      const operations = evacuationPatch(slice, next);
      if (operations.length === 0) {
        guard.confirmed(key, wanted);
        continue;
      }
      const permit = guard.admit(key, wanted);
      if (permit.kind === 'wait') {
        retryMs = Math.min(permit.afterMs, retryMs);
        continue;
      }
      try {
        const end = cache.beginWrite(ref);
        const patch = [lockOn(slice), ...operations];
        end(await client.patch<EndpointSlice>(ENDPOINT_SLICES, ref, 'json', patch, {}, signal));
        guard.written(key, wanted);
        written += 1;
      } catch (error) {
        if (isStalePatch(error)) retryMs = Math.min(CONFLICT_RETRY_MS, retryMs);
        else if (!isNotFound(error)) throw error;
      }
    }
    return { written, retryMs };
  };

  /**
   * Events about Services: what this process did, and what it leaves; what was so before it led is not said again. They wait for `release`:
   * an Event costs the API server about as much as a slice, and connections do not wait for Events.
   */
  const announce = (key: string, found: ReadonlyMap<string, Outcome>, settled: boolean): void => {
    const before = announced.get(key) ?? new Map<string, Settled>();
    const record = (type: 'Normal' | 'Warning', reason: string, zone: string, message: string): void => {
      const regarding = { apiVersion: 'v1', kind: 'Service', ...refOfKey(key) };
      waiting.push({ regarding, type, reason, message: `zone ${zone}: ${message}` });
    };
    for (const [zone, { state, evacuated, message = '' }] of found) {
      if (state === 'pending' || before.get(zone) === state) continue;
      before.set(zone, state);
      if (state === 'left') record('Warning', 'NotEvacuated', zone, message);
      else if (wrote.has(key))
        record('Normal', 'EvacuatedFromZone', zone, `${evacuated} endpoint(s) get no new connections`);
    }
    for (const [zone, state] of settled ? before : []) {
      if (found.has(zone)) continue;
      before.delete(zone);
      if (state === 'moved') record('Normal', 'ReturnedToZone', zone, 'endpoints get new connections again');
    }
    if (before.size === 0) announced.delete(key);
    else announced.set(key, before);
  };

  return {
    outcomes,
    /** Sends the Events that wait: no Service is waiting to be looked at. */
    release(): void {
      for (const event of waiting) events.record(event);
      waiting = [];
    },
    forget(): void {
      for (const each of [outcomes, wrote, announced]) each.clear();
      waiting = [];
    },
    async reconcile(key: string, signal: AbortSignal): Promise<Result> {
      const view = options.view();
      // Once it is filled, every Service is looked at.
      if (view?.ready() !== true) return { kind: 'done' };
      const requests = options.requestsOf(key);
      const slices = view.slicesOf(key);
      const ordered = decideInOrder({ slices, clientZones: options.clientZones(), requests });
      const next: Next = ordered.decision.kind === 'moved' ? ordered.decision : undefined;
      const { written, retryMs } = await write(slices, next, view.slices, signal);
      if (written > 0) {
        options.onWrite(written);
        wrote.add(key);
      }
      const now = view.slicesOf(key);
      const settled = now.every((slice) => evacuationPatch(slice, next).length === 0);
      const found = new Map<string, Outcome>();
      for (const { zone } of requests) {
        const outcome = outcomeIn(zone, now, ordered, settled);
        if (outcome !== undefined) found.set(zone, outcome);
      }
      if (found.size === 0) outcomes.delete(key);
      else outcomes.set(key, found);
      announce(key, found, settled);
      if (settled) wrote.delete(key);
      return retryMs === Infinity ? { kind: 'done' } : { kind: 'requeue', afterMs: Math.max(1, retryMs) };
    },
  };
};
