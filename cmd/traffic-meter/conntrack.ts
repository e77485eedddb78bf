// Runs conntrack: one process that follows flows as they begin and end, and one for each list of the living; both are read in batches,
// because waking up for each of a few hundred lines a second costs far more than reading them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Readable, getDefaultHighWaterMark, setDefaultHighWaterMark } from 'node:stream';
import { createLineSplitter } from '../../pkg/kubernetes/watch.ts';
import { type Flow, parseFlow } from '../../pkg/traffic/conntrack.ts';

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

type TakeFlow = (flow: Flow) => void;

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

const ended = async (child: ChildProcess): Promise<string> => {
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return code === null ? `ended by ${signal ?? 'a signal'}` : `exit code ${code}`;
  } catch (error) {
    const { code, path = 'conntrack', message } = error as NodeJS.ErrnoException;
    throw new ConntrackError(code === 'ENOENT' ? `${path} is not installed` : message);
  }
};

/**
 * @param onTooLong - Called for each line that is too long for a flow and left out.
 * @param program - Name or path of the command of conntrack-tools 1.4.
 */
export const createConntrack = (onTooLong: () => void, program = 'conntrack') => {
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
    /**
     * Follows flows until the signal aborts. `onOverrun` is called for each warning that the kernel dropped events.
     *
     * @throws ConntrackError when the process ends by itself or cannot be started.
     */
    async follow(take: TakeFlow, onOverrun: () => void, signal: AbortSignal): Promise<void> {
      const args = ['-E', '-e', 'NEW,DESTROY', ...FORMAT, '--buffer-size', String(BUFFER)];
      const onMessage = (text: string): void => void (text.includes('ENOBUFS') && onOverrun());
      const { outcome, message } = await run(args, take, onMessage, signal);
      if (!signal.aborted) throw new ConntrackError(`conntrack -E: ${outcome}: ${message}`);
    },
    /**
     * Reads the whole table once.
     *
     * @throws ConntrackError when it did not come to its end: what was handed over is then not all of it.
     */
    async list(take: TakeFlow, signal: AbortSignal): Promise<void> {
      for (const family of ['ipv4', 'ipv6']) {
        const { outcome, message } = await run(['-L', '-f', family, ...FORMAT], take, () => undefined, signal);
        signal.throwIfAborted();
        if (outcome !== 'exit code 0') throw new ConntrackError(`conntrack -L -f ${family}: ${outcome}: ${message}`);
      }
    },
  };
};
