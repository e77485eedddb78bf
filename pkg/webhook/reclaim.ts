// SPDX-License-Identifier: Apache-2.0
// Asks for a collection of the young generation between reviews, when nothing of them is alive.

/** What a review leaves behind beside its body, bytes: headers, log line, answer. */
const OVERHEAD_BYTES = 6_000;
/**
 * Bytes between two collections: two reviews of a slice with 1,000 endpoints, a hundred of one with three. V8 collects by itself
 * when its young generation is full, which is mostly in the middle of a parse: the text is alive then, is promoted, and stays
 * until a full collection.
 */
const BYTES_BETWEEN = 1_200_000;

/** Tells that a review of `bytes` was answered; `collect` runs once the call stack is empty. */
export const createReclaim = (
  collect: () => void,
  schedule: (callback: () => void) => void = setImmediate,
): ((bytes: number) => void) => {
  let since = 0;
  return (bytes) => {
    since += bytes + OVERHEAD_BYTES;
    if (since < BYTES_BETWEEN) return;
    since = 0;
    schedule(collect);
  };
};
