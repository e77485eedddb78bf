// Which refused requests are sent again, and after how long.
import { ApiError, isServiceUnavailable, isTooManyRequests } from './errors.ts';

export interface RetryPolicy {
  /** How often one request is sent again; the error of the last attempt is thrown. */
  maxRetries: number;
  /** A server that asks for more than this gets no retry from us; the caller sees the error with its `retryAfterMs`. */
  maxDelayMs: number;
}

/** Four waits of usually one second: longer than a burst, shorter than a renew deadline of leader election. */
export const DEFAULT_RETRY: RetryPolicy = { maxRetries: 4, maxDelayMs: 10_000 };

// What the API server's priority and fairness filter says when it refuses; used when a 429 carries no Retry-After.
const DEFAULT_DELAY_MS = 1_000;

/**
 * `Retry-After` as milliseconds from `nowMs` (wall clock): seconds or an HTTP date; undefined when absent or malformed.
 */
export const parseRetryAfter = (header: string | undefined, nowMs: number): number | undefined => {
  if (header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * 1000 : undefined;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
};

/**
 * Milliseconds to wait before `error`'s request is sent again, or undefined when it must not be.
 *
 * A 429 was refused before anything was done, so every method may try again. A 503 may come from behind an admission
 * webhook that did something, so only reads do, and only when the server names a time.
 *
 * @param attempt - Retries already made.
 * @param random - In [0, 1): spreads clients that were refused together.
 */
export const retryDelay = (
  error: unknown,
  attempt: number,
  policy: RetryPolicy,
  random: () => number,
): number | undefined => {
  if (!(error instanceof ApiError) || attempt >= policy.maxRetries) return undefined;
  const readableLater = isServiceUnavailable(error) && error.method === 'GET' && error.retryAfterMs !== undefined;
  if (!isTooManyRequests(error) && !readableLater) return undefined;
  const asked = error.retryAfterMs ?? DEFAULT_DELAY_MS;
  return asked > policy.maxDelayMs ? undefined : asked * (1 + random() / 4);
};
