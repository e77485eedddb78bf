// Reads a stream in batches: waking up for each of a few hundred lines a second costs far more than reading them.
import type { Readable } from 'node:stream';
import { getDefaultHighWaterMark, setDefaultHighWaterMark } from 'node:stream';

/** What a batch should hold: an eighth of the socket of a child's output, so that the child is not held up. */
const BATCH_BYTES = 8 * 1024;
const LONGEST_REST_MS = 100;
/** Shorter rests save nothing. */
const SHORTEST_REST_MS = 4;
/** Where there is no rest, the rate is looked at again after this. */
const LOOK_MS = 20;

/**
 * How long to leave a stream alone of which so many bytes came in so long; 0: not at all.
 *
 * @param elapsedMs - Since the batch before.
 */
export const restOf = (bytes: number, elapsedMs: number): number => {
  const rest = bytes === 0 ? LONGEST_REST_MS : Math.min(LONGEST_REST_MS, (BATCH_BYTES * elapsedMs) / bytes);
  return rest < SHORTEST_REST_MS ? 0 : rest;
};

/** Makes streams that stop reading as soon as they are paused, instead of reading ahead. */
export const withoutReadAhead = <T>(make: () => T): T => {
  const before = getDefaultHighWaterMark(false);
  setDefaultHighWaterMark(false, 1);
  try {
    return make();
  } finally {
    setDefaultHighWaterMark(false, before);
  }
};

/** Hands over what a stream has, batch by batch, until it ends. */
export const readInBatches = (stream: Readable, take: (chunk: Buffer) => void): void => {
  let bytes = 0;
  let lookedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    if (stream.destroyed) return;
    const now = performance.now();
    const rest = restOf(bytes, now - lookedAt);
    bytes = 0;
    lookedAt = now;
    if (rest > 0) stream.pause();
    timer = setTimeout(next, rest > 0 ? rest : LOOK_MS);
  };
  const next = (): void => {
    stream.resume();
    // After the poll that reads all there is.
    setImmediate(look);
  };
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    take(chunk);
  });
  stream.once('close', () => clearTimeout(timer));
  next();
};
