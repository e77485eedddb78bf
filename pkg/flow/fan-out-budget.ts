// SPDX-License-Identifier: Apache-2.0
// How much proxies may receive a minute because of changes that can wait.
import { sumBy } from '../apis/sum.ts';

/** What one Service's writes sent to the proxies. */
export interface Sent {
  /** Seconds on any clock. */
  readonly at: number;
  readonly bytes: number;
}

export const WINDOW_SECONDS = 60;
/** No write counts for longer than so many windows, however large it is. */
const MOST_WINDOWS = 60;

/** A write counts for a minute; one that alone is above the budget for as many minutes as it uses budgets up. */
const countsFor = (bytes: number, limit: number): number =>
  WINDOW_SECONDS * Math.min(MOST_WINDOWS, Math.max(1, bytes / limit));

/** What still counts against the limit, bytes a minute. */
export const counting = (sent: readonly Sent[], limit: number, time: number): Sent[] =>
  sent.filter(({ at, bytes }) => time - at < countsFor(bytes, limit));

/** Whether so many bytes keep to the limit. What alone is above it goes when nothing else counts: it would wait for ever otherwise. */
export const fits = (sent: readonly Sent[], limit: number, bytes: number, time: number): boolean => {
  const sum = sumBy(counting(sent, limit, time), (one) => one.bytes);
  return bytes === 0 || sum === 0 || sum + bytes <= limit;
};
