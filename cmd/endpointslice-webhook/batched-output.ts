// Collects log lines of one turn of the event loop into one write: a system call a line costs as much as the admission itself.
import { Writable } from 'node:stream';

export interface BatchedOutput {
  /** What a logger writes to. */
  readonly stream: Writable;
  /** Writes what is still collected; for the end of the process. */
  flush(): void;
}

/** Most characters held before they are written in the middle of a turn. */
const MAX_CHARACTERS = 64 * 1024;

/** Nothing is dropped and nothing is reordered; lines are at most one turn of the event loop late. */
export const createBatchedOutput = (target: NodeJS.WritableStream): BatchedOutput => {
  let collected = '';
  let scheduled = false;
  const flush = (): void => {
    if (collected === '') return;
    const text = collected;
    collected = '';
    target.write(text);
  };
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      collected += chunk.toString();
      if (collected.length >= MAX_CHARACTERS) flush();
      else if (!scheduled) {
        scheduled = true;
        setImmediate(() => {
          scheduled = false;
          flush();
        });
      }
      done();
    },
  });
  return { stream, flush };
};
