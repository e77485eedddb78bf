// The two limits of client-go's default controller rate limiter: per-item exponential back-off and one overall token bucket.
import type { Clock } from './types.ts';

export interface TokenBucketOptions {
  clock: Clock;
  /** Tokens that flow in each second; above 0. */
  ratePerSecond: number;
  /** Most tokens that can wait, and what the bucket starts with; at least 1. */
  burst: number;
}

export interface TokenBucket {
  /** Takes one token, on credit if need be, and returns how many milliseconds the caller must wait for it. */
  reserve(): number;
  /** Takes one token if there is one now. */
  tryTake(): boolean;
  /** True when nothing was taken that has not flowed back: a full bucket can be forgotten. */
  readonly full: boolean;
}

/** Behaves as golang.org/x/time/rate.Limiter: reservations queue up behind each other, time is monotonic. */
export const createTokenBucket = ({ clock, ratePerSecond, burst }: TokenBucketOptions): TokenBucket => {
  if (!(ratePerSecond > 0)) throw new RangeError(`ratePerSecond must be above 0, got ${ratePerSecond}`);
  if (!(burst >= 1)) throw new RangeError(`burst must be at least 1, got ${burst}`);
  let tokens = burst;
  let updatedAt = clock.monotonic();

  const refill = (): void => {
    const now = clock.monotonic();
    tokens = Math.min(burst, tokens + ((now - updatedAt) / 1_000) * ratePerSecond);
    updatedAt = now;
  };

  return {
    reserve() {
      refill();
      tokens -= 1;
      return tokens >= 0 ? 0 : (-tokens / ratePerSecond) * 1_000;
    },
    tryTake() {
      refill();
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    get full() {
      refill();
      return tokens >= burst;
    },
  };
};

export interface ItemBackoffOptions {
  /** Delay after the first failure, milliseconds. */
  baseDelayMs: number;
  /** Longest delay, milliseconds. */
  maxDelayMs: number;
}

export interface ItemBackoff {
  /** Counts one more failure of `key` and returns its delay: base × 2^(failures before), at most the maximum. */
  next(key: string): number;
  forget(key: string): void;
  failures(key: string): number;
  /** Keys with failures. */
  readonly size: number;
}

/** client-go's ItemExponentialFailureRateLimiter. */
export const createItemBackoff = ({ baseDelayMs, maxDelayMs }: ItemBackoffOptions): ItemBackoff => {
  const failures = new Map<string, number>();
  return {
    next(key) {
      const before = failures.get(key) ?? 0;
      failures.set(key, before + 1);
      return Math.min(maxDelayMs, baseDelayMs * 2 ** before);
    },
    forget: (key) => void failures.delete(key),
    failures: (key) => failures.get(key) ?? 0,
    get size() {
      return failures.size;
    },
  };
};
