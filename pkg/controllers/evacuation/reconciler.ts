// One ZoneEvacuation: begins it where that can be done, says how far it is, and returns the zone once it is over.
import type { EndpointSlice, Node } from '../../apis/core.ts';
import type { ZoneEvacuation, ZoneEvacuationStatus } from '../../apis/zone-evacuation.ts';
import type { Refusal } from '../../evacuation/accept.ts';
import { expiryOf, isRunning } from '../../evacuation/active.ts';
import { markedSlices } from '../../evacuation/decide.ts';
import { outcomesOf } from '../../evacuation/outcomes.ts';
import type { Outcomes } from '../../evacuation/outcomes.ts';
import { refusedStatus, returningStatus, runningStatus } from '../../evacuation/progress.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { Clock, Reconciler, Result } from '../../kubernetes/types.ts';
import type { Acceptance } from './acceptance.ts';
import type { Evacuations } from './evacuations.ts';
import type { Reading } from './reading.ts';
import { writeStatus } from './report.ts';
import type { ReportOptions } from './report.ts';
import { SWITCHED_OFF, zonesOfNodes } from '../../apis/readings.ts';
import type { Sweep } from './sweep.ts';

export interface EvacuationReconcilerOptions extends ReportOptions {
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

/** The key of what is left of evacuations whose object is gone. */
export const REST = '';

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

/** The key is the name of a ZoneEvacuation, or `REST`. */
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

  const finishRest = (): Result => {
    sweep.run(slices());
    return overdueSlices(slices(), evacuations.running()).size > 0 ? again(PROGRESS_MS) : DONE;
  };

  return {
    async reconcile(name, signal) {
      if (!options.isHeld()) return again(RESYNC_MS);
      reading.look();
      const one = name === REST ? undefined : evacuations.get(name);
      const over = one === undefined || !isRunning(one, clock.now());
      if (over && reading.view() === undefined) return DONE;
      if (reading.view()?.ready() !== true) return again(SOON_MS);
      if (one === undefined) return finishRest();
      return over ? finish(one, signal) : begin(one, signal);
    },
  };
};
