// The world of a command that runs as a process.
import { createInterface } from 'node:readline';
import type { WriteStream } from 'node:tty';
import { untilSignal } from '../shared/exit.ts';
import type { Control, Io, Output } from './io.ts';

const DEFAULT_COLUMNS = 100;

const CONTROLS: Readonly<Record<Control, string>> = {
  'clear line': '\r\u001B[K',
  'clear screen': '\u001B[2J\u001B[H',
};

const outputOf = (
  stream: Pick<NodeJS.WriteStream, 'write'> & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>,
): Output => ({
  write: (text) => void stream.write(text),
  control: (sequence) => void stream.write(CONTROLS[sequence]),
  terminal: stream.isTTY ?? false,
  get columns() {
    return stream.columns ?? DEFAULT_COLUMNS;
  },
});

/** Reads and writes what the process has; the first SIGINT or SIGTERM aborts. */
export const processIo = (): Io => {
  // A pager that was closed, or `| head`: the reader is gone.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  return {
    out: outputOf(process.stdout),
    err: outputOf(process.stderr),
    env: process.env,
    readStdin: async () => (await import('./input/files.ts')).readToEnd(process.stdin, 'standard input'),
    lines: () => createInterface({ input: process.stdin, crlfDelay: Infinity }),
    now: () => Date.now(),
    signal: untilSignal(),
  };
};
