// Runs a reconciler on the keys of a work queue: workers, time limit, retries, and nothing that a reconcile throws escapes.
import { setImmediate } from 'node:timers/promises';
import { aborted, createDeadline, within } from './wait.ts';
import type { Reconciler, Uses } from './types.ts';
import type { WorkQueue } from './work-queue.ts';

/** How a turn of a key ended; `aborted`: the controller stopped meanwhile. */
type ReconcileOutcome = 'success' | 'requeue' | 'error' | 'timeout' | 'aborted';

/** How long `run` waits for reconciles that ignore their signal when it stops. */
const STOP_GRACE_MS = 10_000;

/** Reconciles that find everything in caches follow each other without an end: so often others get their turn, milliseconds. */
const UNINTERRUPTED_MS = 10;

export const createController = (
  options: Uses<'clock' | 'logger'> & {
    name: string;
    reconciler: Reconciler;
    /** Owned by the controller from `run` on: it is shut down when the controller stops. */
    queue: WorkQueue;
    /** Keys that are worked on at the same time; default 1. */
    concurrency?: number;
    /** After this the reconcile's signal aborts and the turn counts as an error, milliseconds; default 120,000. */
    timeoutMs?: number;
    hooks?: {
      onReconcile?(outcome: ReconcileOutcome, durationMs: number): void;
      onActive?(workers: number): void;
    };
  },
) => {
  const { name, reconciler, queue, clock, concurrency = 1, timeoutMs = 120_000, hooks = {} } = options;
  const logger = options.logger.child({ controller: name });
  const active = new Set<string>();
  let breathedAt = clock.monotonic();

  /** Timers, answers of the API server, health and Lease come between two keys. */
  const breathe = async (): Promise<void> => {
    if (clock.monotonic() - breathedAt < UNINTERRUPTED_MS) return;
    await setImmediate();
    breathedAt = clock.monotonic();
  };

  /** One call of the reconciler under its time limit, and what it means for the key, which the caller gives back. */
  const takeTurn = async (key: string, stop: AbortSignal): Promise<ReconcileOutcome> => {
    using deadline = createDeadline(clock, timeoutMs, stop);
    const onAbort = (): void => {
      // Said at once: a reconcile that ignores its signal may never get to the error below.
      if (deadline.expired) logger.warn('reconcile exceeded its time limit, aborting it', { item: key, timeoutMs });
    };
    deadline.signal.addEventListener('abort', onAbort, { once: true });
    try {
      const result = await reconciler.reconcile(key, deadline.signal);
      queue.forget(key);
      if (result.kind === 'done') return 'success';
      queue.addAfter(key, result.afterMs);
      return 'requeue';
    } catch (thrown) {
      if (stop.aborted) return 'aborted';
      // Whatever the reconcile made of its aborted signal, the cause is the time limit.
      const overdue = `reconcile took longer than ${timeoutMs} ms and was aborted`;
      const error = deadline.expired ? new Error(overdue, { cause: thrown }) : thrown;
      // Named `item`, not `key`: values under `key` are redacted as key material.
      logger.error('reconcile failed, will retry with back-off', { item: key, error });
      queue.addRateLimited(key);
      return deadline.expired ? 'timeout' : 'error';
    }
  };

  const work = async (key: string, stop: AbortSignal): Promise<void> => {
    const startedAt = clock.monotonic();
    active.add(key);
    hooks.onActive?.(active.size);
    try {
      const outcome = await takeTurn(key, stop);
      hooks.onReconcile?.(outcome, clock.monotonic() - startedAt);
    } catch (error) {
      // Only our own bookkeeping or a hook can end here; a worker must outlive both.
      logger.error('controller failed outside of a reconcile', { item: key, error });
    } finally {
      active.delete(key);
      hooks.onActive?.(active.size);
      queue.done(key);
    }
  };

  const worker = async (stop: AbortSignal): Promise<void> => {
    // After the stop keys may still be in the queue; the next start lists everything again, so they are left there.
    for (let key = await queue.get(); key !== undefined && !stop.aborted; key = await queue.get()) {
      await work(key, stop);
      await breathe();
    }
  };

  return {
    /** Works until the signal aborts and all workers have ended; rejects never. */
    async run(stop: AbortSignal): Promise<void> {
      const onStop = (): void => queue.shutDown();
      if (stop.aborted) onStop();
      else stop.addEventListener('abort', onStop, { once: true });
      const workers = Promise.all(Array.from({ length: concurrency }, () => worker(stop)));
      await Promise.race([workers, aborted(stop)]);
      if (!(await within(workers, STOP_GRACE_MS, clock)))
        logger.warn('stopped although reconciles ignored their abort signal', { items: [...active] });
    },
  };
};
