// Waits for signals, deadlines and promises on an injected clock.
import { setImmediate } from 'node:timers/promises';
import type { Clock, TimerHandle } from './types.ts';

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Wakes all who wait for it at once, and keeps nothing of those who gave up waiting. */
export const createBell = () => {
  let next = new AbortController();
  return {
    ring(): void {
      const rung = next;
      next = new AbortController();
      rung.abort();
    },
    /** Aborted by the next ring. */
    next: (): AbortSignal => next.signal,
  };
};

/**
 * Settles as `promise` does, or rejects with the signal's reason as soon as it aborts.
 *
 * undici cannot abort a request that it holds back for a new connection, for example after a GOAWAY frame.
 *
 * @param discard - Receives what `promise` resolves with after the abort, to release it.
 */
export const abortable = <T>(promise: Promise<T>, signal: AbortSignal, discard?: (late: T) => void): Promise<T> => {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => {
    reject(signal.reason as Error);
    promise.then(discard, () => undefined);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return Promise.race([promise.finally(() => signal.removeEventListener('abort', onAbort)), ended]);
};

/** Resolves after `delayMs` on `clock`; rejects with the signal's reason as soon as it aborts, and leaves no timer behind. */
export const sleep = async (clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> => {
  signal?.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.setTimeout(resolve, delayMs);
  await (signal === undefined ? promise : abortable(promise, signal)).finally(() => timer.cancel());
};

/** A `sleep` that the signal ends: false where it aborted before or meanwhile. Rejects never. */
export const pause = (clock: Clock, delayMs: number, signal: AbortSignal): Promise<boolean> =>
  sleep(clock, delayMs, signal).then(
    () => !signal.aborted,
    () => false,
  );

/** True if `work` is done within `limitMs`; rejects as it does before that. */
export const within = async (work: Promise<unknown>, limitMs: number, clock: Clock): Promise<boolean> => {
  const { promise: over, resolve } = Promise.withResolvers<false>();
  const timer = clock.setTimeout(() => resolve(false), limitMs);
  return Promise.race([work.then(() => true), over]).finally(() => timer.cancel());
};

/** One signal that aborts with the caller's or when time is up, whichever is first. */
export const createDeadline = (clock: Clock, delayMs: number, signal?: AbortSignal) => {
  // AbortSignal.any would do without the listener, but keeps the joined signal alive as long as the caller's.
  const controller: { readonly signal: AbortSignal; abort(reason?: unknown): void } = new AbortController();
  let expired = false;
  let timer: TimerHandle | undefined;
  let dueAt = Number.POSITIVE_INFINITY;
  const expire = (): void => {
    if (controller.signal.aborted) return;
    expired = true;
    controller.abort();
  };
  const follow = (): void => controller.abort(signal?.reason);
  if (signal?.aborted === true) follow();
  else signal?.addEventListener('abort', follow, { once: true });
  const restart = (next: number): void => {
    timer?.cancel();
    dueAt = clock.monotonic() + next;
    timer = clock.setTimeout(expire, next);
  };
  restart(delayMs);
  return {
    signal: controller.signal,
    /** True when time was up before the caller aborted. */
    get expired(): boolean {
      return expired;
    },
    /**
     * True when time is up, also where the timer only had no turn yet: after a freeze of the process, answers that had
     * arrived meanwhile are handled before timers. Aborts the signal then.
     */
    check(): boolean {
      if (clock.monotonic() >= dueAt) expire();
      return expired;
    },
    /** Starts the time anew: so many milliseconds from now. */
    restart,
    /** Aborts at once for a reason of the owner, neither expiry nor the caller. */
    abort: (reason: unknown): void => controller.abort(reason),
    /** Releases timer and listener, which outlive the request otherwise: a deadline is held with `using`. */
    [Symbol.dispose](): void {
      timer?.cancel();
      dueAt = Number.POSITIVE_INFINITY;
      signal?.removeEventListener('abort', follow);
    },
  };
};

export type Deadline = ReturnType<typeof createDeadline>;

/** Smaller ones take some ten milliseconds, whatever is in them. */
const LARGE_BYTES = 1024 * 1024;

let last: Promise<unknown> = Promise.resolve();

/** Before an answer of `bytes` is parsed. Large ones of the whole process get one turn of the event loop each. */
export const ownTurn = async (bytes: number): Promise<void> => {
  if (bytes < LARGE_BYTES) return;
  last = last.then(() => setImmediate());
  await last;
};

/** Longest delay that Node's timers can hold; anything above fires after 1 ms instead. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const startTimer = (callback: () => void, delayMs: number): TimerHandle => {
  let remaining = Math.max(0, delayMs);
  let handle: NodeJS.Timeout;
  const arm = (): void => {
    const slice = Math.min(remaining, MAX_TIMER_MS);
    remaining -= slice;
    handle = setTimeout(() => (remaining > 0 ? arm() : callback()), slice);
  };
  arm();
  return { cancel: () => clearTimeout(handle) };
};

/** Wall clock, monotonic clock and timers of this process. Pending timers keep the process alive until cancelled. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now(), setTimeout: startTimer };
