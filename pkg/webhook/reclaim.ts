// SPDX-License-Identifier: Apache-2.0
// Asks for a collection of the young generation between reviews, when nothing of them is alive.

/**
 * Bytes of bodies between two collections: one body of a slice with 1,000 endpoints, a hundred of a slice with three. V8 collects
 * by itself when its young generation is full, which is mostly in the middle of a parse: the text is alive then, is promoted,
 * and stays until a full collection.
 */
const BYTES_BETWEEN = 600_000;

/** Tells that a review of `bytes` was answered; `collect` runs once the call stack is empty. */
export const createReclaim = (
  collect: () => void,
  schedule: (callback: () => void) => void = setImmediate,
): ((bytes: number) => void) => {
  let since = 0;
  return (bytes) => {
    since += bytes;
    if (since < BYTES_BETWEEN) return;
    since = 0;
    schedule(collect);
  };
};
