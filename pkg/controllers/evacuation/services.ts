// Brings the slices of one Service to what the running evacuations make of it, and remembers what became of it.
import type { Node } from '../../apis/core.ts';
import { zonesOfNodes } from '../../apis/readings.ts';
import { decideInOrder } from '../../evacuation/decide.ts';
import type { Leave, OrderedDecision } from '../../evacuation/decide.ts';
import { outcomeIn } from '../../evacuation/outcomes.ts';
import type { Outcome, Outcomes } from '../../evacuation/outcomes.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type { Client, Clock, EventInput, EventRecorder, Reconciler, Result } from '../../kubernetes/types.ts';
import { operationsFor, writeSlices } from './apply.ts';
import type { Next } from './apply.ts';
import type { View } from './view.ts';

export interface ServicesOptions {
  client: Pick<Client, 'patch'>;
  /** Undefined while nothing is read. */
  view(): View | undefined;
  nodes(): readonly Node[];
  /** Of the evacuations that are about this Service, oldest first. */
  leavesOf(service: string): readonly Leave[];
  clock: Clock;
  events: Pick<EventRecorder, 'record'>;
  onWrite(slices: number): void;
}

export interface Services extends Reconciler {
  /** Services that no evacuation is about are not there. */
  readonly outcomes: Outcomes;
  /** Sends the Events that wait: no Service is waiting to be looked at. */
  release(): void;
  forget(): void;
}

const DONE: Result = { kind: 'done' };
const WINDOW_MS = 60_000;
const MAX_DELAY_MS = 30_000;

/** What another writer takes away is written again at once, then less and less often. */
const delayMs = (rewrites: number): number => (rewrites <= 2 ? 0 : Math.min(MAX_DELAY_MS, 500 * 2 ** (rewrites - 2)));

type Settled = Exclude<Outcome['state'], 'pending'>;

/**
 * Events about Services: what this process did, and what it leaves; what was so before it led is not said again. They wait for `release`:
 * an Event costs the API server about as much as a slice, and connections do not wait for Events.
 */
const createAnnouncer = ({ events }: Pick<ServicesOptions, 'events'>) => {
  const known = new Map<string, Map<string, Settled>>();
  let waiting: EventInput[] = [];
  const record = (key: string, type: 'Normal' | 'Warning', reason: string, message: string): void => {
    const [namespace = '', name = ''] = key.split('/');
    waiting.push({ regarding: { apiVersion: 'v1', kind: 'Service', namespace, name }, type, reason, message });
  };
  return {
    /** `wrote`: slices of it. */
    announce(key: string, found: ReadonlyMap<string, Outcome>, wrote: boolean, settled: boolean): void {
      const before = known.get(key) ?? new Map<string, Settled>();
      for (const [zone, { state, evacuated, message = '' }] of found) {
        if (state === 'pending' || before.get(zone) === state) continue;
        before.set(zone, state);
        if (state === 'left') record(key, 'Warning', 'NotEvacuated', `zone ${zone}: ${message}`);
        else if (wrote)
          record(key, 'Normal', 'EvacuatedFromZone', `zone ${zone}: ${evacuated} endpoint(s) get no new connections`);
      }
      for (const [zone, state] of settled ? before : []) {
        if (found.has(zone)) continue;
        before.delete(zone);
        if (state === 'moved')
          record(key, 'Normal', 'ReturnedToZone', `zone ${zone}: endpoints get new connections again`);
      }
      if (before.size === 0) known.delete(key);
      else known.set(key, before);
    },
    release() {
      for (const event of waiting) events.record(event);
      waiting = [];
    },
    forget() {
      known.clear();
      waiting = [];
    },
  };
};

export const createServices = (options: ServicesOptions): Services => {
  const { client, clock } = options;
  const outcomes = new Map<string, ReadonlyMap<string, Outcome>>();
  const guard = createRewriteGuard({ clock, delayMs, windowMs: WINDOW_MS, quietMs: () => WINDOW_MS });
  const announcer = createAnnouncer(options);
  /** Of which slices were written since their Service was last as it should be. */
  const wrote = new Set<string>();

  const remember = (key: string, leaves: readonly Leave[], ordered: OrderedDecision, settled: boolean, view: View) => {
    const slices = view.slicesOf(key);
    const found = new Map<string, Outcome>();
    for (const { zone } of leaves) {
      const outcome = outcomeIn(zone, slices, ordered, settled);
      if (outcome !== undefined) found.set(zone, outcome);
    }
    if (found.size === 0) outcomes.delete(key);
    else outcomes.set(key, found);
    announcer.announce(key, found, wrote.has(key), settled);
    if (settled) wrote.delete(key);
  };

  return {
    outcomes,
    release: announcer.release,
    forget() {
      outcomes.clear();
      wrote.clear();
      announcer.forget();
    },
    async reconcile(key, signal) {
      const view = options.view();
      // Once it is filled, every Service is looked at.
      if (view?.ready() !== true) return DONE;
      const leaves = options.leavesOf(key);
      const slices = view.slicesOf(key);
      const ordered = decideInOrder({ slices, clientZones: zonesOfNodes(options.nodes()), leaves });
      const { decision } = ordered;
      const next: Next = decision.kind === 'moved' ? decision : undefined;
      const write = { client, slices: view.slices, guard };
      const { written, retryMs } = await writeSlices(slices, next, write, signal);
      if (written > 0) {
        options.onWrite(written);
        wrote.add(key);
      }
      const settled = view.slicesOf(key).every((slice) => operationsFor(slice, next).length === 0);
      remember(key, leaves, ordered, settled, view);
      return retryMs === undefined ? DONE : { kind: 'requeue', afterMs: Math.max(1, retryMs) };
    },
  };
};
