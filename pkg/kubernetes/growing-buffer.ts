// Joins the chunks of a stream up to a limit, at a cost that depends on their bytes and not on how many they are.

/** Bytes put one after another. */
export interface GrowingBuffer {
  /** @throws RangeError when `chunk` would take it over its limit; nothing is added then. */
  push(chunk: Uint8Array): void;
  /** What was pushed since the last call, as a view that is valid until the next `push`. */
  take(): Buffer;
  readonly length: number;
}

const FIRST_CAPACITY = 4_096;

/** Doubles its memory as it fills, so that a stream of one-byte chunks costs no more than one large chunk. */
export const createGrowingBuffer = (limit: number): GrowingBuffer => {
  let bytes = Buffer.alloc(0);
  let length = 0;

  const reserve = (wanted: number): void => {
    if (wanted <= bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(wanted, bytes.length * 2, FIRST_CAPACITY)));
    bytes.copy(grown, 0, 0, length);
    bytes = grown;
  };

  return {
    push(chunk) {
      const wanted = length + chunk.length;
      if (wanted > limit) throw new RangeError(`more than ${limit} bytes`);
      reserve(wanted);
      bytes.set(chunk, length);
      length = wanted;
    },
    take() {
      const taken = bytes.subarray(0, length);
      // What a large one needed is not kept for the small ones that usually follow.
      if (bytes.length > FIRST_CAPACITY) bytes = Buffer.alloc(0);
      length = 0;
      return taken;
    },
    get length() {
      return length;
    },
  };
};
