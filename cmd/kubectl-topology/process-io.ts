// SPDX-License-Identifier: Apache-2.0
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

const readAll = async (): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

const onKey = (callback: (key: string) => void): (() => void) => {
  const { stdin } = process;
  if (!stdin.isTTY) return () => undefined;
  const listener = (data: Buffer): void => callback(data.toString('utf8'));
  stdin.setRawMode(true);
  stdin.on('data', listener);
  stdin.resume();
  return () => {
    stdin.off('data', listener);
    stdin.setRawMode(false);
    stdin.pause();
  };
};

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
    readStdin: readAll,
    lines: () => createInterface({ input: process.stdin, crlfDelay: Infinity }),
    onKey,
    now: () => Date.now(),
    signal: untilSignal(),
  };
};
