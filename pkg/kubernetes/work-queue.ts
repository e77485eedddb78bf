// The work queue between event handlers and reconcilers, with the semantics of client-go's rate-limiting queue.
import { createTokenBucket } from './rate-limiter.ts';
import type { Clock, TimerHandle } from './types.ts';

/** What happens in the queue, for metrics; all durations in milliseconds. */
interface WorkQueueHooks {
  onAdd?(): void;
  onGet?(waitedMs: number): void;
  /** A key was added with back-off. */
  onRetry?(): void;
}

/** First delay of a failing key, doubled with each failure, and the longest one: client-go's values, as are those below. */
const [BASE_DELAY_MS, MAX_DELAY_MS] = [5, 1_000_000];
/** Rate-limited additions over all keys. */
const LIMIT = { ratePerSecond: 10, burst: 100 };

/**
 * client-go's work queue: a key is never with two workers, additions while it is processed coalesce into one more turn.
 *
 * Keys live in two sets: `dirty` (wants a turn) and `processing` (a worker has it). A key is in the ready list when it
 * is dirty and not processing, so it can be there once only and never with two workers; what is added during its
 * turn stays dirty and becomes ready at `done`.
 */
export const createWorkQueue = ({ clock, hooks = {} }: { clock: Clock; hooks?: WorkQueueHooks }) => {
  const bucket = createTokenBucket({ clock, ...LIMIT });
  /** Key → failures in a row. */
  const failures = new Map<string, number>();
  /** In the order they came. */
  const ready = new Set<string>();
  /** Key → when it became dirty. */
  const dirty = new Map<string, number>();
  const processing = new Set<string>();
  const delayed = new Map<string, { readonly dueAt: number; readonly timer: TimerHandle }>();
  const waiters = new Set<(key: string | undefined) => void>();
  let stopped = false;

  const backoffMs = (key: string): number => {
    const before = failures.get(key) ?? 0;
    failures.set(key, before + 1);
    return Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** before);
  };

  const take = (): string | undefined => {
    const [key] = ready;
    if (key === undefined) return undefined;
    ready.delete(key);
    const now = clock.monotonic();
    hooks.onGet?.(now - (dirty.get(key) ?? now));
    dirty.delete(key);
    processing.add(key);
    return key;
  };

  const makeReady = (key: string): void => {
    ready.add(key);
    const [waiter] = waiters;
    if (waiter === undefined) return;
    waiters.delete(waiter);
    waiter(take());
  };

  const add = (key: string): void => {
    if (stopped || dirty.has(key)) return;
    dirty.set(key, clock.monotonic());
    hooks.onAdd?.();
    if (!processing.has(key)) makeReady(key);
  };

  const addAfter = (key: string, delayMs = 0): void => {
    if (stopped) return;
    if (!(delayMs > 0)) return add(key);
    const dueAt = clock.monotonic() + delayMs;
    const earlier = delayed.get(key);
    if (earlier !== undefined) {
      if (earlier.dueAt <= dueAt) return;
      earlier.timer.cancel();
    }
    const fire = (): void => {
      delayed.delete(key);
      add(key);
    };
    delayed.set(key, { dueAt, timer: clock.setTimeout(fire, delayMs) });
  };

  return {
    addAfter,
    /** Adds after the key's own exponential back-off (and the queue's overall rate). */
    addRateLimited(key: string): void {
      if (stopped) return;
      hooks.onRetry?.();
      addAfter(key, Math.max(backoffMs(key), bucket.reserve()));
    },
    /** Ends the key's back-off. */
    forget: (key: string): void => void failures.delete(key),
    /** Resolves with the next key, or undefined once shut down. The caller must call `done`. */
    async get(): Promise<string | undefined> {
      const key = take();
      return key !== undefined || stopped ? key : new Promise((resolve) => void waiters.add(resolve));
    },
    done(key: string): void {
      if (processing.delete(key) && dirty.has(key)) makeReady(key);
    },
    shutDown(): void {
      stopped = true;
      for (const { timer } of delayed.values()) timer.cancel();
      delayed.clear();
      for (const waiter of waiters) waiter(undefined);
      waiters.clear();
    },
    length: () => ready.size,
  };
};

export type WorkQueue = ReturnType<typeof createWorkQueue>;
