// Keeps the memory of bodies small: buffers are lent and used again, and the young generation is collected between reviews.
/**
 * Bytes between two collections: two reviews of a slice with 1,000 endpoints. V8 collects by itself when its young generation is
 * full, which is mostly in the middle of a parse: the text is alive then, is promoted, and stays until a full collection.
 */
const BYTES_BETWEEN = 1_200_000;
/** What bodies up to this size leave behind V8 collects well by itself, and cheaper (ADR 0007). */
export const SMALL_BYTES = 128 * 1024;

/** Notes that a review of `bytes` was answered; `collect` runs once the call stack is empty. */
export const createReclaim = (
  collect: () => void,
  schedule: (callback: () => void) => void = setImmediate,
): ((bytes: number) => void) => {
  let since = 0;
  return (bytes) => {
    if (bytes <= SMALL_BYTES) return;
    since += bytes;
    if (since < BYTES_BETWEEN) return;
    since = 0;
    schedule(collect);
  };
};

const KIBIBYTE = 1024;
/** What one read of a socket brings, and a review of a slice of 1,000 endpoints; the few bodies beyond get one of their own. */
const LENT_BYTES: readonly number[] = [64 * KIBIBYTE, 1024 * KIBIBYTE];

export interface BodyBuffers {
  /** The smallest buffer that is lent and holds `bytes`; `largest` where all of those are too small. */
  capacity(bytes: number, largest: number): number;
  /** A buffer of a size that `capacity` returned. */
  take(capacity: number): Buffer;
  /** Takes a buffer back; nothing may read or write it any more. */
  giveBack(buffer: Buffer): void;
  /** Buffers that wait to be lent again. */
  readonly idle: number;
}

/** `keep` buffers of each size at most wait for the next body; the default fits the 25 connections of an API server. */
export const createBodyBuffers = (keep = 16): BodyBuffers => {
  const idle = new Map<number, Buffer[]>(LENT_BYTES.map((bytes) => [bytes, []]));
  return {
    capacity: (bytes, largest) => LENT_BYTES.find((lent) => bytes <= lent) ?? largest,
    take: (capacity) => idle.get(capacity)?.pop() ?? Buffer.allocUnsafeSlow(capacity),
    giveBack(buffer) {
      const waiting = idle.get(buffer.length);
      if (waiting !== undefined && waiting.length < keep) waiting.push(buffer);
    },
    get idle() {
      return [...idle.values()].reduce((sum, { length }) => sum + length, 0);
    },
  };
};
