// SPDX-License-Identifier: Apache-2.0
// Lends the buffers that large bodies are gathered in, so that their memory is used again instead of waiting for the collector.

/** Beyond what one read of a socket brings, a body comes in several chunks. */
const SMALLEST_BYTES = 64 * 1024;
/** Holds a slice of 1,000 endpoints twice; the few bodies beyond get a buffer of their own. */
const LENT_BYTES = 1024 * 1024;

export interface BodyBuffers {
  /** Bytes that gathering a body of `bytes` holds: those of the buffer that `take` would lend, else the body's own. */
  cost(bytes: number): number;
  /** A buffer of `cost(bytes)`, or undefined where one is not worth it. */
  take(bytes: number): Buffer | undefined;
  /** Takes a buffer back; nothing may read or write it any more. */
  giveBack(buffer: Buffer): void;
  /** Buffers that wait to be lent again. */
  readonly idle: number;
}

/** `keep` buffers of 1 MiB at most wait for the next body; the default fits the 25 connections of an API server. */
export const createBodyBuffers = (keep = 16): BodyBuffers => {
  const idle: Buffer[] = [];
  const cost = (bytes: number): number => (bytes <= SMALLEST_BYTES ? bytes : Math.max(bytes, LENT_BYTES));
  return {
    cost,
    take(bytes) {
      if (bytes <= SMALLEST_BYTES) return undefined;
      const reused = bytes <= LENT_BYTES ? idle.pop() : undefined;
      return reused ?? Buffer.allocUnsafeSlow(cost(bytes));
    },
    giveBack(buffer) {
      if (buffer.length === LENT_BYTES && idle.length < keep) idle.push(buffer);
    },
    get idle() {
      return idle.length;
    },
  };
};
