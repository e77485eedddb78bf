// Runs conntrack: one process that follows flows as they begin and end, and one for each list of the living.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createLineSplitter } from '../../pkg/kubernetes/lines.ts';
import { parseFlow } from '../../pkg/traffic/conntrack.ts';
import type { Flow } from '../../pkg/traffic/conntrack.ts';
import { readInBatches, withoutReadAhead } from './paced.ts';

export type TakeFlow = (flow: Flow) => void;

export interface Conntrack {
  /**
   * Follows flows until the signal aborts. `onOverrun` is called for each warning that the kernel dropped events.
   *
   * @throws ConntrackError when the process ends by itself or cannot be started.
   */
  follow(take: TakeFlow, onOverrun: () => void, signal: AbortSignal): Promise<void>;
  /**
   * Reads the whole table once.
   *
   * @throws ConntrackError when it did not come to its end: what was handed over is then not all of it.
   */
  list(take: TakeFlow, signal: AbortSignal): Promise<void>;
}

/** conntrack failed; the message is what it printed, or why it could not be started. */
export class ConntrackError extends Error {
  override readonly name = 'ConntrackError';
}

/** A flow is a line of some 300 bytes; what is longer is none. */
const MAX_LINE = 4_096;
/** Bytes of the socket's buffer, of which an event takes far more than its text. */
const BUFFER = 8 * 1024 * 1024;
const FORMAT = ['-o', 'extended,id'];
const KEPT_MESSAGE = 2_000;

const ended = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new ConntrackError(error.code === 'ENOENT' ? `${error.path ?? 'conntrack'} is not installed` : error.message),
      ),
    );
    child.once('close', (code, signal) =>
      resolve(code === null ? `ended by ${signal ?? 'a signal'}` : `exit code ${code}`),
    );
  });

/**
 * @param onTooLong - Called for each line that is too long for a flow and left out.
 * @param program - Name or path of the command of conntrack-tools 1.4.
 */
export const createConntrack = (onTooLong: () => void, program = 'conntrack'): Conntrack => {
  const run = async (
    args: readonly string[],
    take: TakeFlow,
    onMessage: (text: string) => void,
    signal: AbortSignal,
  ) => {
    signal.throwIfAborted();
    const child = withoutReadAhead(() => spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] }));
    const stop = (): void => void child.kill('SIGTERM');
    signal.addEventListener('abort', stop, { once: true });
    const lines = createLineSplitter(MAX_LINE, onTooLong);
    let message = '';
    readInBatches(child.stdout, (chunk) => {
      for (const line of lines.push(chunk)) {
        const flow = parseFlow(line);
        if (flow !== undefined) take(flow);
      }
    });
    child.stderr.on('data', (chunk: Buffer) => {
      const text = chunk.toString('utf8');
      message = `${message}${text}`.slice(-KEPT_MESSAGE);
      onMessage(text);
    });
    try {
      return { outcome: await ended(child), message: message.trim() };
    } finally {
      signal.removeEventListener('abort', stop);
    }
  };

  return {
    async follow(take, onOverrun, signal) {
      const args = ['-E', '-e', 'NEW,DESTROY', ...FORMAT, '--buffer-size', String(BUFFER)];
      const noteOverrun = (text: string): void => {
        if (text.includes('ENOBUFS')) onOverrun();
      };
      const { outcome, message } = await run(args, take, noteOverrun, signal);
      if (!signal.aborted) throw new ConntrackError(`conntrack -E: ${outcome}: ${message}`);
    },
    async list(take, signal) {
      for (const family of ['ipv4', 'ipv6']) {
        const { outcome, message } = await run(['-L', '-f', family, ...FORMAT], take, () => undefined, signal);
        signal.throwIfAborted();
        if (outcome !== 'exit code 0') throw new ConntrackError(`conntrack -L -f ${family}: ${outcome}: ${message}`);
      }
    },
  };
};
