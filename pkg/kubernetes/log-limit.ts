// Limits log lines by what they are about: an object that changes again and again gets no more than a few.
import type { LogFields, Logger } from '../telemetry/types.ts';
import { createLru } from './lru.ts';
import { createTokenBucket } from './rate-limiter.ts';
import type { TokenBucket } from './rate-limiter.ts';
import type { Clock } from './types.ts';

export interface LogLimitOptions {
  logger: Logger;
  clock: Clock;
  /** What a line is about, for example a namespace. Lines about the same share one limit. */
  about(fields: LogFields): string;
  /** Lines about one thing that may come at once. Default 50. */
  burst?: number;
  /** Lines about one thing in the long run, a second. Default one in ten seconds. */
  ratePerSecond?: number;
  /** Things that are remembered; of the others the limit begins anew. Default 4,096. */
  remembered?: number;
}

interface About {
  readonly bucket: TokenBucket;
  leftOut: number;
}

/**
 * A logger that leaves lines out beyond the limit, except errors. The next line about the same says how many in `leftOut`;
 * what must be counted in full is a metric.
 */
export const limitLog = (options: LogLimitOptions): Logger => {
  const { clock, about, burst = 50, ratePerSecond = 0.1, remembered = 4_096 } = options;
  const known = createLru<About>(remembered);

  /** How many lines were left out before this one; undefined where it is left out itself. */
  const admit = (fields: LogFields): number | undefined => {
    const key = about(fields);
    let entry = known.get(key);
    if (entry === undefined) {
      entry = { bucket: createTokenBucket({ clock, ratePerSecond, burst }), leftOut: 0 };
      known.set(key, entry);
    }
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
