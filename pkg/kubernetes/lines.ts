// SPDX-License-Identifier: Apache-2.0
// Splits a byte stream into lines, wherever the network cut it.

const NEWLINE = 0x0a;

/** Collects chunks and hands out complete lines; one for each stream. */
export interface LineSplitter {
  /** UTF-8 text of the lines that `chunk` completes, without their newlines; empty lines are left out. */
  push(chunk: Uint8Array): string[];
  /** Bytes after the last newline: not zero at the end of a stream means that it ended inside a line. */
  readonly pendingBytes: number;
}

/** Bytes are joined before they are decoded, so a character may be cut between two chunks. */
export const createLineSplitter = (): LineSplitter => {
  let pending: Buffer[] = [];
  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      const lines: string[] = [];
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
        const tail = bytes.subarray(start, end);
        const line = pending.length === 0 ? tail : Buffer.concat([...pending, tail]);
        pending = [];
        start = end + 1;
        if (line.length > 0) lines.push(line.toString('utf8'));
      }
      if (start < bytes.length) pending.push(bytes.subarray(start));
      return lines;
    },
    get pendingBytes() {
      return pending.reduce((total, { length }) => total + length, 0);
    },
  };
};
