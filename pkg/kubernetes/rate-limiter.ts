// A token bucket as in client-go's default rate limiter, a map that forgets what was used longest ago, and a limit on log lines.
import type { LogFields, Logger } from '../telemetry/log.ts';
import type { Clock } from './types.ts';

/** Behaves as golang.org/x/time/rate.Limiter: reservations queue up behind each other, time is monotonic. */
export const createTokenBucket = (options: {
  clock: Pick<Clock, 'monotonic'>;
  /** Tokens that flow in each second; above 0. */
  ratePerSecond: number;
  /** Most tokens that can wait, and what the bucket starts with; at least 1. */
  burst: number;
}) => {
  const { clock, ratePerSecond, burst } = options;
  let tokens = burst;
  let updatedAt = clock.monotonic();

  const refill = (): void => {
    const now = clock.monotonic();
    tokens = Math.min(burst, tokens + ((now - updatedAt) / 1_000) * ratePerSecond);
    updatedAt = now;
  };

  return {
    /** Takes one token, on credit if need be, and returns how many milliseconds the caller must wait for it. */
    reserve(): number {
      refill();
      tokens -= 1;
      return tokens >= 0 ? 0 : (-tokens / ratePerSecond) * 1_000;
    },
    /** Takes one token if there is one now. */
    tryTake(): boolean {
      refill();
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
};

export type TokenBucket = ReturnType<typeof createTokenBucket>;

/** Holds at most `capacity` entries; reading an entry counts as use. */
export const createLru = <V>(capacity: number) => {
  const entries = new Map<string, V>();
  const put = (key: string, value: V): void => {
    // Maps keep the order of insertion: the oldest entry is the first.
    entries.delete(key);
    entries.set(key, value);
    const [oldest] = entries.keys();
    if (entries.size > capacity && oldest !== undefined) entries.delete(oldest);
  };
  return {
    get(key: string): V | undefined {
      const value = entries.get(key);
      if (value !== undefined) put(key, value);
      return value;
    },
    set: put,
    delete: (key: string): void => void entries.delete(key),
  };
};

/** Things that are remembered; of the others the limit begins anew. */
const REMEMBERED = 4_096;

/**
 * A logger that leaves lines out beyond the limit, except errors. The next line about the same says how many in `leftOut`;
 * what must be counted in full is a metric.
 */
export const limitLog = (options: {
  logger: Logger;
  clock: Clock;
  /** What a line is about, for example a namespace. Lines about the same share one limit. */
  about(fields: LogFields): string;
  /** Lines about one thing that may come at once. Default 50. */
  burst?: number;
  /** Lines about one thing in the long run, a second. Default one in ten seconds. */
  ratePerSecond?: number;
}): Logger => {
  const { clock, about, burst = 50, ratePerSecond = 0.1 } = options;
  const known = createLru<{ readonly bucket: TokenBucket; leftOut: number }>(REMEMBERED);

  /** How many lines were left out before this one; undefined where it is left out itself. */
  const admit = (fields: LogFields): number | undefined => {
    const key = about(fields);
    const entry = known.get(key) ?? { bucket: createTokenBucket({ clock, ratePerSecond, burst }), leftOut: 0 };
    known.set(key, entry);
    if (!entry.bucket.tryTake()) {
      entry.leftOut += 1;
      return undefined;
    }
    const { leftOut } = entry;
    entry.leftOut = 0;
    return leftOut;
  };

  const wrap = (logger: Logger, bound: LogFields): Logger => {
    const at =
      (level: 'debug' | 'info' | 'warn') =>
      (message: string, fields: LogFields = {}): void => {
        const leftOut = admit({ ...bound, ...fields });
        if (leftOut === undefined) return;
        logger[level](message, leftOut === 0 ? fields : { ...fields, leftOut });
      };
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: (message, fields) => logger.error(message, fields),
      child: (fields) => wrap(logger.child(fields), { ...bound, ...fields }),
    };
  };
  return wrap(options.logger, {});
};
