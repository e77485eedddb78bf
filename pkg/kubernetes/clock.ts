// The real clock; everything else takes a Clock so that tests own time.
import type { Clock, TimerHandle } from './types.ts';

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
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: startTimer,
};
