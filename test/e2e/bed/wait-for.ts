// Waits for a condition of the real cluster by asking again and again, with a bound that only a broken cluster reaches.
import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  /** How long to go on, in seconds. Default 60: about ten times what a busy two-core machine needs. */
  readonly timeoutSeconds?: number;
  /** Pause between two attempts, in milliseconds. Default 50. */
  readonly intervalMs?: number;
  /** Called before each attempt; what it throws ends the wait. Default: nothing. */
  readonly assert?: () => void;
  readonly signal?: AbortSignal;
}

const describeOutcome = (outcome: unknown): string =>
  outcome instanceof Error ? outcome.message : (JSON.stringify(outcome) ?? 'nothing');

/**
 * Calls `probe` until `accept` is content with what it returns, and returns that. A probe that throws counts as not yet.
 *
 * @throws Error naming `what` and the last thing seen, when the time is over; the signal's reason when it is aborted.
 */
export const waitFor = async <T>(
  what: string,
  probe: () => Promise<T> | T,
  accept: (value: T) => boolean,
  { timeoutSeconds = 60, intervalMs = 50, assert, signal }: WaitOptions = {},
): Promise<T> => {
  const deadline = performance.now() + timeoutSeconds * 1000;
  for (;;) {
    signal?.throwIfAborted();
    assert?.();
    let outcome: unknown;
    try {
      const value = await probe();
      if (accept(value)) return value;
      outcome = value;
    } catch (error) {
      outcome = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`${what}: not after ${timeoutSeconds} s; last seen: ${describeOutcome(outcome)}`);
    }
    await delay(intervalMs, undefined, { signal });
  }
};
