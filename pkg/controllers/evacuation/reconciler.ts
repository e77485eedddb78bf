// One ZoneEvacuation: begins it where that can be done, says how far it is, and returns the zone once it is over.
// Begins to read every slice when something is to be evacuated or returned, and stops when nothing is: else that would be held for nothing.
// Has every Service looked at when what is asked for has changed, and now and then.
import { type ReportOptions, writeStatus } from './report.ts';
import { type EndpointSlice, type Node, SWITCHED_OFF, zonesOfNodes } from '../../apis/core.ts';
import { keyOf } from '../../apis/values.ts';
import type { ZoneEvacuation, ZoneEvacuationStatus } from '../../apis/zone-evacuation.ts';
import { type Refusal, expiryOf, isRunning } from '../../evacuation/accept.ts';
import { isMarked, markedSlices } from '../../evacuation/decide.ts';
import { type Outcomes, outcomesOf, refusedStatus, returningStatus, runningStatus } from '../../evacuation/progress.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import { sleep } from '../../kubernetes/wait.ts';
import type { Client, Clock, Reconciler, Result } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Acceptance } from './acceptance.ts';
import { createView, inOrder, readTraffic, serviceKeyOf } from './evacuations.ts';
import type { Evacuations, Traffic, View, ViewOptions } from './evacuations.ts';

interface ReadingOptions extends ViewOptions {
  /** A cache of slices that is there anyway, which holds the marks. */
  readonly marked: Pick<Cache<EndpointSlice>, 'onChange'>;
  /** Whether there is an evacuation that is not over. */
  needed(): boolean;
  onFilled(): void;
  /** A slice came, changed or went, once all are there. */
  onSlice(service: string, slice: EndpointSlice): void;
}

const LOOK_MS = 5_000;
const FILLED_MS = 50;

export const createReading = (options: ReadingOptions) => {
  const { clock } = options;
  const marked = new Set<string>();
  let view: View | undefined;
  let wake = new AbortController();

  options.marked.onChange(
    (slice, _previous, deleted) => {
      const key = keyOf(slice);
      if (deleted || !isMarked(slice)) marked.delete(key);
      else marked.add(key);
    },
    { replay: true },
  );

  const needed = (): boolean => marked.size > 0 || options.needed();
  const pause = async (milliseconds: number, signal: AbortSignal): Promise<void> => {
    // Rejects when aborted or woken, which ends the pause.
    await sleep(clock, milliseconds, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
    if (wake.signal.aborted) wake = new AbortController();
  };

  const read = async (signal: AbortSignal): Promise<void> => {
    const stop = new AbortController();
    const current = createView(options);
    let filled = false;
    current.onSlice((slice) => {
      const key = serviceKeyOf(slice);
      if (filled && key !== undefined) options.onSlice(key, slice);
    });
    view = current;
    const running = current.run(AbortSignal.any([signal, stop.signal]));
    while (!signal.aborted && needed()) {
      if (!filled && current.ready()) {
        filled = true;
        options.onFilled();
      }
      await pause(filled ? LOOK_MS : FILLED_MS, signal);
    }
    view = undefined;
    stop.abort();
    await running;
  };

  return {
    view: (): View | undefined => view,
    /** Look again whether it is needed. */
    look: (): void => wake.abort(),
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        if (needed()) await read(signal);
        else await pause(LOOK_MS, signal);
      }
    },
  };
};

type Reading = ReturnType<typeof createReading>;

export const createSweep = (options: {
  readonly evacuations: Pick<Evacuations, 'running' | 'isAccepted'>;
  readonly caches: { readonly nodes: Pick<Cache<Node>, 'list'> };
  readonly client: Pick<Client, 'pages'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Key of the webhook's own Service, which is the first. */
  readonly own: string;
  /** Has a Service looked at, by `namespace/name`. */
  enqueue(service: string): void;
}) => {
  const { evacuations, caches, clock, own } = options;
  /** What Services were looked at for, as text. */
  let last = '';
  let lastAt = 0;
  let traffic: Traffic = new Map();
  const pending = new Set<string>();

  const asked = (): string =>
    JSON.stringify([
      evacuations.running().map((one) => [one.metadata.uid, one.metadata.generation, evacuations.isAccepted(one)]),
      zonesOfNodes(caches.nodes.list()),
    ]);

  return {
    /** Services were looked at since this process leads. */
    get began() {
      return last !== '';
    },
    /** Services that are still to be looked at for what is asked now. */
    get pending() {
      return pending.size;
    },
    /** Reads what orders Services: those with most traffic come first. */
    async sort(signal: AbortSignal): Promise<void> {
      traffic = await readTraffic(options, signal);
    },
    run(slices: readonly EndpointSlice[]): void {
      const now = asked();
      if (now === last && clock.monotonic() - lastAt < RESYNC_MS) return;
      const keys = inOrder(slices, traffic, own);
      if (now !== last) for (const key of keys) pending.add(key);
      last = now;
      lastAt = clock.monotonic();
      for (const key of keys) options.enqueue(key);
    },
    /** A Service was looked at. */
    done: (service: string): void => void pending.delete(service),
    forget(): void {
      last = '';
      pending.clear();
    },
  };
};

type Sweep = ReturnType<typeof createSweep>;

interface EvacuationReconcilerOptions extends ReportOptions {
  readonly evacuations: Evacuations;
  readonly caches: { readonly nodes: Pick<Cache<Node>, 'list'> };
  readonly reading: Pick<Reading, 'look' | 'view'>;
  readonly acceptance: Acceptance;
  readonly sweep: Pick<Sweep, 'sort' | 'run' | 'pending'>;
  /** Of Services. */
  readonly outcomes: Outcomes;
  /** Whether slices are this installation's to change. */
  isHeld(): boolean;
  /** Hints are switched off in the whole cluster. */
  off(): boolean;
  /** What was begun for the webhook itself is to go back. */
  onRefused(): void;
  readonly clock: Clock;
}

/** The key of slices whose evacuation's object is gone: no object has an empty name. */
export const ORPHANED_SLICES = '';

export const SOON_MS = 100;
const PROGRESS_MS = 1_000;
export const RESYNC_MS = 15_000;

const DONE: Result = { kind: 'done' };
export const again = (afterMs: number): Result => ({ kind: 'requeue', afterMs });

/** Slices by zone with a mark about a zone that no evacuation leaves any more. */
export const overdueSlices = (
  slices: readonly EndpointSlice[],
  running: readonly ZoneEvacuation[],
): Map<string, number> => {
  const found = markedSlices(slices);
  for (const { spec } of running) found.delete(spec.zone);
  return found;
};

/** The key is the name of a ZoneEvacuation, or `ORPHANED_SLICES`. */
export const createEvacuationReconciler = (options: EvacuationReconcilerOptions): Reconciler => {
  const { evacuations, caches, reading, acceptance, sweep, outcomes, clock } = options;
  const slices = (): EndpointSlice[] => reading.view()?.slices.list() ?? [];
  const write = (one: ZoneEvacuation, status: ZoneEvacuationStatus, signal: AbortSignal): Promise<void> =>
    writeStatus(one, status, options, signal);

  const refuse = async (one: ZoneEvacuation, refusal: Refusal, signal: AbortSignal): Promise<Result> => {
    const waiting = refusal.reason === 'WaitingForAdmission';
    if (!waiting) evacuations.refuse(one);
    await write(one, refusedStatus(one, { ...refusal, waiting }, clock.now()), signal);
    if (!waiting) options.onRefused();
    return again(waiting ? SOON_MS : RESYNC_MS);
  };

  const begin = async (one: ZoneEvacuation, signal: AbortSignal): Promise<Result> => {
    if (options.off()) {
      evacuations.end(one);
      sweep.run(slices());
      return refuse(one, SWITCHED_OFF, signal);
    }
    const refusal = evacuations.isAccepted(one) ? undefined : await acceptance.refusalOf(one, signal);
    if (refusal !== undefined) return refuse(one, refusal, signal);
    if (!evacuations.isBegun(one)) await sweep.sort(signal);
    evacuations.begin(one);
    sweep.run(slices());
    const stand = {
      outcomes: outcomesOf(one.spec.zone, outcomes),
      incomplete: sweep.pending > 0,
      clientZones: zonesOfNodes(caches.nodes.list()),
    };
    const status = runningStatus(one, stand, clock.now());
    await write(one, status, signal);
    const untilEnd = (expiryOf(one) ?? clock.now()) - clock.now();
    const next = status.phase === 'Evacuated' ? RESYNC_MS : PROGRESS_MS;
    return again(Math.max(1, Math.min(next, untilEnd)));
  };

  const finish = async (one: ZoneEvacuation, signal: AbortSignal): Promise<Result> => {
    evacuations.end(one);
    sweep.run(slices());
    const { zone } = one.spec;
    const others = evacuations.running().some(({ spec }) => spec.zone === zone);
    const remaining = others || sweep.pending > 0 ? sweep.pending : (markedSlices(slices()).get(zone) ?? 0);
    await write(one, returningStatus(one, remaining, clock.now()), signal);
    return remaining === 0 ? DONE : again(PROGRESS_MS);
  };

  const finishOrphaned = (): Result => {
    sweep.run(slices());
    return overdueSlices(slices(), evacuations.running()).size > 0 ? again(PROGRESS_MS) : DONE;
  };

  return {
    async reconcile(name, signal) {
      if (!options.isHeld()) return again(RESYNC_MS);
      reading.look();
      const one = name === ORPHANED_SLICES ? undefined : evacuations.get(name);
      const over = one === undefined || !isRunning(one, clock.now());
      if (over && reading.view() === undefined) return DONE;
      if (reading.view()?.ready() !== true) return again(SOON_MS);
      if (one === undefined) return finishOrphaned();
      return over ? finish(one, signal) : begin(one, signal);
    },
  };
};
