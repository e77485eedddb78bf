// Reads the body of a watch: lines of JSON become typed events, and whatever is not an event becomes an error.
import type { KubernetesObject, Status } from '../apis/meta.ts';
import { parseJson } from '../apis/values.ts';
import { invalidAnswer as invalid } from './request.ts';
import { ConnectionError, type RequestIdentity, apiErrorOf } from './errors.ts';
import { createGrowingBuffer } from './exchange.ts';
import type { WatchEvent } from './types.ts';

const NEWLINE = 0x0a;

/**
 * Bytes are joined before they are decoded, so a character may be cut between two chunks.
 *
 * @param limit - Bytes of the longest line.
 * @param onTooLong - Called once for each longer line, which is then left out.
 */
export const createLineSplitter = (limit: number, onTooLong?: () => void) => {
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
    /**
     * UTF-8 text of the lines that `chunk` completes, without their newlines; empty lines are left out.
     *
     * @throws RangeError when a line is longer than the limit, complete or not, unless `onTooLong` is given.
     */
    push(chunk: Uint8Array): string[] {
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
    /** Bytes after the last newline: not zero at the end of a stream means that it ended inside a line. */
    pendingBytes: () => pending.length,
  };
};

/**
 * Bytes of one event. etcd takes objects of 1.5 MiB (`--max-request-bytes`), of built-in types in a form of about half the length of
 * JSON: what is longer than this is no event.
 */
const MAX_EVENT_BYTES = 8 * 1024 * 1024;

const parseLine = <T>(line: string, request: RequestIdentity): { type?: unknown; object?: T } => {
  const event = parseJson(line);
  // Nothing of the line is quoted: it may be part of a Secret.
  if (event === undefined)
    throw invalid(request, `the watch sent a line of ${line.length} characters that is not JSON`);
  if (typeof event !== 'object' || event === null) throw invalid(request, 'the watch sent a line that is no object');
  return event;
};

const inStreamError = (object: unknown, request: RequestIdentity): Error => {
  const status = (object ?? {}) as Status;
  // A Status without a code is still an error; 500 is what the server means by that.
  return apiErrorOf(request, typeof status.code === 'number' ? status.code : 500, { kind: 'Status', ...status });
};

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/**
 * One event of a watch.
 *
 * @throws ApiError for an ERROR event (410 included); ConnectionError `InvalidResponse` for anything unknown: dropping
 * it would let a cache drift in silence.
 */
export const parseEvent = <T extends KubernetesObject>(line: string, request: RequestIdentity): WatchEvent<T> => {
  const { type, object } = parseLine<T>(line, request);
  if (type === 'ERROR') throw inStreamError(object, request);
  if (typeof object !== 'object' || object === null) throw invalid(request, 'the watch sent an event without object');
  const { name, resourceVersion }: { name?: unknown; resourceVersion?: unknown } = object.metadata ?? {};
  if (type === 'BOOKMARK') {
    if (!isText(resourceVersion)) throw invalid(request, 'a BOOKMARK event has no resourceVersion');
    return { type, resourceVersion };
  }
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED')
    throw invalid(request, 'the watch sent an event of unknown type');
  if (!isText(name)) throw invalid(request, `an event of type ${type} has no object name`);
  // Without it the watch could not be continued from here: everything until the next one would be missed.
  if (!isText(resourceVersion)) throw invalid(request, `an event of type ${type} has no resourceVersion`);
  return { type, object };
};

/**
 * Events of a watch body, until it ends or the signal aborts.
 *
 * @throws ConnectionError `Cut` when the body ends inside an event; the signal's reason as soon as it aborts, even with
 * events received but not yet handed out; errors of the stream itself pass through.
 */
export const readEvents = async function* <T extends KubernetesObject>(
  body: AsyncIterable<Uint8Array>,
  request: RequestIdentity,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>, void> {
  const splitter = createLineSplitter(MAX_EVENT_BYTES);
  const linesOf = (chunk: Uint8Array): string[] => {
    try {
      return splitter.push(chunk);
    } catch {
      throw invalid(request, `the watch sent an event of more than ${MAX_EVENT_BYTES} bytes`);
    }
  };
  for await (const chunk of body) {
    for (const line of linesOf(chunk)) {
      signal.throwIfAborted();
      yield parseEvent<T>(line, request);
    }
  }
  signal.throwIfAborted();
  if (splitter.pendingBytes() > 0)
    throw new ConnectionError({ ...request, reason: 'Cut', message: 'the watch ended inside an event' });
};

const MIN_TIMEOUT_SECONDS = 300;

/** Random 300..599 s: spreads the watches of many processes, so that they do not come back in one instant. */
export const watchTimeoutSeconds = (random: () => number): number =>
  MIN_TIMEOUT_SECONDS + Math.floor(random() * MIN_TIMEOUT_SECONDS);
