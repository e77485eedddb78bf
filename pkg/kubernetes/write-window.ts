// SPDX-License-Identifier: Apache-2.0
// How many writes are on their way at once, by how the API server answers: more while answers come as fast as ever, half as many when they
// get slow or fail. Slowness alone leaves as many as in the beginning: a server that is busy with others answers late whatever we send, and
// one that is busy because of us says so by 429 and its flow control. Failures, and a 429 that was waited out, go down to one.
import { ApiError } from './errors.ts';
import type { Clock } from './types.ts';

export interface WriteWindowOptions {
  clock: Pick<Clock, 'monotonic'>;
  /** On their way at once in the beginning, and the least while answers are only slow; default 8. */
  initial?: number;
  /** Most at once, a bound on memory; default 64. */
  max?: number;
}

export interface WriteWindow {
  /** Resolves and rejects as `write` does, which waits for its turn. */
  run<T>(write: () => Promise<T>): Promise<T>;
  /** How many may be on their way now. */
  readonly size: number;
}

/** Slow is so many times the fastest answer, and no less than this many milliseconds: below, jitter decides. */
const SLOW_FACTOR = 4;
const SLOW_MS = 200;
/** The API server's flow control refuses for a second at least: an answer that late may have waited out a 429. */
const REFUSED_MS = 1_000;

/** A conflict, or what is gone, was answered as fast as anything. */
const isTrouble = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.status === 429 || error.status >= 500;

/** Additive increase, multiplicative decrease, as TCP's congestion window; a turn is given in the order of asking. */
export const createWriteWindow = ({ clock, initial = 8, max = 64 }: WriteWindowOptions): WriteWindow => {
  let size = initial;
  let fastest = Infinity;
  let running = 0;
  /** Answers to what was sent before the last decrease say nothing of the size since. */
  let decreasedAt = -Infinity;
  const waiting: (() => void)[] = [];

  const answered = (sentAt: number, failed: boolean): void => {
    const tookMs = clock.monotonic() - sentAt;
    if (!failed) fastest = Math.min(fastest, tookMs);
    if (failed || tookMs > Math.max(SLOW_MS, SLOW_FACTOR * fastest)) {
      if (sentAt <= decreasedAt) return;
      const least = failed || tookMs >= REFUSED_MS ? 1 : Math.min(size, initial);
      size = Math.max(least, size / 2);
      decreasedAt = clock.monotonic();
    } else size = Math.min(max, size + 1 / size);
  };

  const next = (): void => {
    while (running < Math.floor(size)) {
      const start = waiting.shift();
      if (start === undefined) return;
      running += 1;
      start();
    }
  };

  return {
    async run(write) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        next();
      });
      const sentAt = clock.monotonic();
      let failed = false;
      try {
        return await write();
      } catch (error) {
        failed = isTrouble(error);
        throw error;
      } finally {
        running -= 1;
        answered(sentAt, failed);
        next();
      }
    },
    get size() {
      return Math.floor(size);
    },
  };
};
