// Splits a byte stream into lines, wherever the network cut it.
import { createGrowingBuffer } from './growing-buffer.ts';

const NEWLINE = 0x0a;

/** Collects chunks and hands out complete lines; one for each stream. */
export interface LineSplitter {
  /**
   * UTF-8 text of the lines that `chunk` completes, without their newlines; empty lines are left out.
   *
   * @throws RangeError when a line is longer than the limit, complete or not, unless `onTooLong` is given.
   */
  push(chunk: Uint8Array): string[];
  /** Bytes after the last newline: not zero at the end of a stream means that it ended inside a line. */
  readonly pendingBytes: number;
}

/**
 * Bytes are joined before they are decoded, so a character may be cut between two chunks.
 *
 * @param limit - Bytes of the longest line.
 * @param onTooLong - Called once for each longer line, which is then left out.
 */
export const createLineSplitter = (limit: number, onTooLong?: () => void): LineSplitter => {
  const pending = createGrowingBuffer(limit);
  /** The rest of a line that is left out is still to come. */
  let skipping = false;

  const fits = (part: Buffer): boolean => {
    if (skipping) return false;
    if (pending.length + part.length <= limit) return true;
    if (onTooLong === undefined) throw new RangeError(`more than ${limit} bytes`);
    pending.take();
    onTooLong();
    skipping = true;
    return false;
  };

  const lineOf = (tail: Buffer): Buffer => {
    if (pending.length === 0) return tail;
    pending.push(tail);
    return pending.take();
  };

  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      const lines: string[] = [];
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
        const tail = bytes.subarray(start, end);
        start = end + 1;
        if (fits(tail)) {
          const line = lineOf(tail);
          if (line.length > 0) lines.push(line.toString('utf8'));
        }
        skipping = false;
      }
      const rest = bytes.subarray(start);
      if (rest.length > 0 && fits(rest)) pending.push(rest);
      return lines;
    },
    get pendingBytes() {
      return pending.length;
    },
  };
};
