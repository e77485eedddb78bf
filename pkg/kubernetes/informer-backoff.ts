// SPDX-License-Identifier: Apache-2.0
// How long an informer waits after its n-th failure in a row.

export interface InformerBackoff {
  /** First wait, milliseconds, before jitter. */
  baseMs: number;
  /** No wait is longer than this before jitter. */
  maxMs: number;
}

/** The values of client-go's reflector. */
export const DEFAULT_INFORMER_BACKOFF: InformerBackoff = { baseMs: 800, maxMs: 30_000 };

/**
 * The most of a server's wish that is followed, before jitter. A cache that waits is blind, also after the server has recovered; and a
 * wrong clock may make any date of it.
 */
const MAX_RETRY_AFTER_MS = 30_000;

/**
 * Milliseconds to wait: doubled with each failure, and up to doubled again by jitter.
 *
 * @param failures - Failures in a row, this one included: 1 or more.
 * @param retryAfterMs - What the server asked for; not undercut up to half a minute.
 */
export const informerDelay = (
  failures: number,
  { baseMs, maxMs }: InformerBackoff,
  random: () => number,
  retryAfterMs = 0,
): number =>
  Math.max(Math.min(baseMs * 2 ** (failures - 1), maxMs), Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)) * (1 + random());
