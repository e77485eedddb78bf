// Joins a caller's AbortSignal with a deadline of our own on an injected clock.
import type { Clock, TimerHandle } from './types.ts';

/** One signal that aborts with the caller's or when time is up, whichever is first. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** True when time was up before the caller aborted. */
  readonly expired: boolean;
  /**
   * True when time is up, also where the timer only had no turn yet: after a freeze of the process, answers that had
   * arrived meanwhile are handled before timers. Aborts the signal then.
   */
  check(): boolean;
  /** Starts the time anew: `delayMs` from now. */
  restart(delayMs: number): void;
  /** Aborts at once for a reason of the owner, neither expiry nor the caller. */
  abort(reason: unknown): void;
  /** Releases timer and listener; must be called, or both outlive the request. */
  dispose(): void;
}

export const createDeadline = (clock: Clock, delayMs: number, signal?: AbortSignal): Deadline => {
  // AbortSignal.any would do without the listener, but keeps the joined signal alive as long as the caller's.
  const controller = new AbortController();
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
    get expired() {
      return expired;
    },
    check() {
      if (clock.monotonic() >= dueAt) expire();
      return expired;
    },
    restart,
    abort: (reason) => controller.abort(reason),
    dispose() {
      timer?.cancel();
      dueAt = Number.POSITIVE_INFINITY;
      signal?.removeEventListener('abort', follow);
    },
  };
};
