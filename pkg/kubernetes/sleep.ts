// The one way to wait on a clock.
import type { Clock } from './types.ts';

/** Resolves after `delayMs` on `clock`; rejects with the signal's reason as soon as it aborts, and leaves no timer behind. */
export const sleep = async (clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> => {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason as Error);
    };
    const timer = clock.setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, delayMs);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
};
