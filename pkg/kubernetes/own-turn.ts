// Parts the parsing of large answers that arrive together: health and Leases get their turn in between.
import { setImmediate } from 'node:timers/promises';

/** Smaller ones take some ten milliseconds, whatever is in them. */
const LARGE_BYTES = 1024 * 1024;

let last: Promise<unknown> = Promise.resolve();

/** Before an answer of `bytes` is parsed. Large ones of the whole process get one turn of the event loop each. */
export const ownTurn = async (bytes: number): Promise<void> => {
  if (bytes < LARGE_BYTES) return;
  last = last.then(() => setImmediate());
  await last;
};
