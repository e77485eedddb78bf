// One request and its answer: authentication, deadline, size limit, error mapping, and the few retries that are safe.
import type { Dispatcher } from 'undici';
import { defined, parseJson } from '../apis/values.ts';
import { hasItemsWithin } from '../apis/json-items.ts';
import { type Deadline, abortable, createDeadline, ownTurn, sleep } from './wait.ts';
import { SILENT_CONNECTION, type Transport, type TransportRequest } from './transport.ts';
import { type Credentials, type KubeConfigSource, authenticated } from './credentials.ts';
import { ApiError, ConnectionError, apiErrorOf, isServiceUnavailable, isTooManyRequests } from './errors.ts';
import type { ConnectionErrorReason, RequestIdentity } from './errors.ts';
import type { Uses } from './types.ts';

/** Waits of usually one second: longer than a burst, shorter than a renew deadline of leader election. */
const MAX_RETRIES = 4;
/** A server that asks for more than this gets no retry from us; the caller sees the error with its `retryAfterMs`. */
const MAX_RETRY_DELAY_MS = 10_000;

// What the API server's priority and fairness filter says when it refuses; used when a 429 carries no Retry-After.
const DEFAULT_DELAY_MS = 1_000;

/** `Retry-After` as milliseconds from `nowMs` (wall clock): seconds or an HTTP date; undefined when absent or malformed. */
export const parseRetryAfter = (header: string | undefined, nowMs: number): number | undefined => {
  if (header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * 1000 : undefined;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
};

/**
 * Milliseconds to wait before `error`'s request is sent again, or undefined when it must not be.
 *
 * A 429 was refused before anything was done, so every method may try again. A 503 may come from behind an admission
 * webhook that did something, so only reads do, and only when the server names a time.
 *
 * @param attempt - Retries already made.
 * @param random - In [0, 1): spreads clients that were refused together.
 */
export const retryDelay = (error: unknown, attempt: number, random: () => number): number | undefined => {
  if (!(error instanceof ApiError) || attempt >= MAX_RETRIES) return undefined;
  const readableLater = isServiceUnavailable(error) && error.method === 'GET' && error.retryAfterMs !== undefined;
  if (!isTooManyRequests(error) && !readableLater) return undefined;
  const asked = error.retryAfterMs ?? DEFAULT_DELAY_MS;
  return asked > MAX_RETRY_DELAY_MS ? undefined : asked * (1 + random() / 4);
};

const FIRST_CAPACITY = 4_096;

/** Doubles its memory as it fills, so that a stream of one-byte chunks costs no more than one large chunk. */
export const createGrowingBuffer = (limit: number) => {
  let bytes = Buffer.alloc(0);
  let length = 0;

  const reserve = (wanted: number): void => {
    if (wanted <= bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(wanted, bytes.length * 2, FIRST_CAPACITY)));
    bytes.copy(grown, 0, 0, length);
    bytes = grown;
  };

  return {
    /** @throws RangeError when `chunk` would take it over its limit; nothing is added then. */
    push(chunk: Uint8Array): void {
      const wanted = length + chunk.length;
      if (wanted > limit) throw new RangeError(`more than ${limit} bytes`);
      reserve(wanted);
      bytes.set(chunk, length);
      length = wanted;
    },
    /** What was pushed since the last call, as a view that is valid until the next `push`. */
    take(): Buffer {
      const taken = bytes.subarray(0, length);
      // What a large one needed is not kept for the small ones that usually follow.
      if (bytes.length > FIRST_CAPACITY) bytes = Buffer.alloc(0);
      length = 0;
      return taken;
    },
    get length(): number {
      return length;
    },
  };
};

export interface Call extends Omit<TransportRequest, 'headers' | 'body' | 'signal'> {
  contentType?: string;
  body?: unknown;
  headers?: TransportRequest['headers'];
}

/**
 * Bytes of one answer: a page of 500 large Pods has about 15 MB. A list that is longer is asked for in smaller pages (pages.ts), so
 * that the limit is one of memory and not of what can be read.
 */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** Values and keys of one answer, 30,000 PodMetrics: an API server also hands on what a metrics server says. */
const MAX_ANSWER_ITEMS = 1024 * 1024;

/** The answer is longer than what is read; its rest was not. */
export class AnswerTooLongError extends ConnectionError {
  constructor(request: RequestIdentity, most = `${MAX_ANSWER_BYTES} bytes`) {
    super({ ...request, reason: 'InvalidResponse', message: `the answer is longer than ${most}` });
  }
}

const header = (answer: Dispatcher.ResponseData, name: string): string | undefined => {
  const value = answer.headers[name];
  return Array.isArray(value) ? value[0] : value;
};

const describe = (error: unknown): string => {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return [code, message].filter((part) => typeof part === 'string' && part !== '').join(' ') || 'unknown error';
};

// How undici and Node name an established connection or stream that broke; everything else failed while connecting.
const CUT_CODES: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_INFO',
  'UND_ERR_ABORTED',
  'UND_ERR_DESTROYED',
  'UND_ERR_CLOSED',
  SILENT_CONNECTION,
]);

const reasonOf = (error: unknown): ConnectionErrorReason => {
  const { code, name } = error as { code?: unknown; name?: unknown };
  const http2 = typeof code === 'string' && code.startsWith('ERR_HTTP2');
  return CUT_CODES.has(code) || http2 || name === 'HTTPParserError' ? 'Cut' : 'Unreachable';
};

/** The whole body; what has more than `limit` bytes is broken off with `tooLong`. */
export const bytesWithin = async (
  limit: number,
  body: Dispatcher.ResponseData['body'],
  tooLong: () => Error,
): Promise<Buffer> => {
  const bytes = createGrowingBuffer(limit);
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    // Leaving the loop destroys the body, and with it the request.
    if (bytes.length + chunk.length > limit) throw tooLong();
    bytes.push(chunk);
  }
  return bytes.take();
};

const bytesOf = (body: Dispatcher.ResponseData['body'], request: RequestIdentity): Promise<Buffer> =>
  bytesWithin(MAX_ANSWER_BYTES, body, () => new AnswerTooLongError(request));

/** Undefined for what is no JSON, or for too many values to make of it. */
const parsed = (bytes: Buffer): unknown =>
  hasItemsWithin(MAX_ANSWER_ITEMS, bytes) ? parseJson(bytes.toString('utf8')) : undefined;

export interface ExchangeOptions extends Uses<'clock' | 'random'> {
  config: KubeConfigSource;
  transport: Transport;
  /** `<command>/<version> (<platform>)`; the server derives the default field manager from the part before the slash. */
  userAgent: string;
  /** From sending to the last byte of the answer; for a stream, to its head. */
  requestTimeoutMs: number;
}

export const createExchange = (options: ExchangeOptions) => {
  const { config, transport, userAgent, requestTimeoutMs, clock, random } = options;
  const credentialsFor = async (call: Call): Promise<Credentials> => {
    try {
      return await config.credentials();
    } catch (cause) {
      const message = `no credentials: ${describe(cause)}`;
      throw new ConnectionError({ ...call, reason: 'Credentials', message, cause });
    }
  };

  const failure = (error: unknown, call: Call, deadline: Deadline, signal?: AbortSignal): unknown => {
    if (signal?.aborted === true) return signal.reason;
    if (error instanceof ConnectionError || error instanceof ApiError) return error;
    if (deadline.expired)
      return new ConnectionError({ ...call, reason: 'Timeout', message: 'the deadline passed', cause: error });
    return new ConnectionError({ ...call, reason: reasonOf(error), message: describe(error), cause: error });
  };

  /** Rejects for every status but 2xx, with the body read so that the connection stays usable. */
  const head = async (call: Call, deadline: Deadline): Promise<Dispatcher.ResponseData> => {
    const { body: object, contentType = 'application/json', ...way } = call;
    const body = object === undefined ? undefined : JSON.stringify(object);
    const typed = body === undefined ? {} : { 'content-type': contentType };
    const headers = { ...way.headers, accept: 'application/json', 'user-agent': userAgent, ...typed };
    const request = { ...way, headers, ...defined({ body }), signal: deadline.signal };
    const source = { credentials: () => credentialsFor(call), refresh: () => config.refresh() };
    const answer = await authenticated(source, (credentials) => transport.send(request, credentials));
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer;
    const retryAfterMs = parseRetryAfter(header(answer, 'retry-after'), clock.now());
    const status = parsed(await abortable(bytesOf(answer.body, call), deadline.signal));
    throw apiErrorOf(call, answer.statusCode, status, retryAfterMs);
  };

  const attempt = async (call: Call, signal?: AbortSignal): Promise<Buffer> => {
    signal?.throwIfAborted();
    let refused: Error | undefined;
    const { refusal } = call;
    const asking = refusal === undefined ? call : { ...call, refusal: () => (refused = refusal()) };
    using deadline = createDeadline(clock, requestTimeoutMs, signal);
    try {
      const answer = await head(asking, deadline);
      return await abortable(bytesOf(answer.body, call), deadline.signal);
    } catch (error) {
      throw refused ?? failure(error, call, deadline, signal);
    }
  };

  const answered = async (call: Call, signal?: AbortSignal): Promise<Buffer> => {
    for (let retries = 0; ; retries++) {
      try {
        return await attempt(call, signal);
      } catch (error) {
        const wait = retryDelay(error, retries, random);
        if (wait === undefined) throw error;
        await sleep(clock, wait, signal);
      }
    }
  };

  return {
    failure,
    /** Sends and reads the whole answer. */
    text: async (call: Call, signal?: AbortSignal): Promise<string> => (await answered(call, signal)).toString('utf8'),
    /** The same, and parses it. */
    async json<T>(call: Call, signal?: AbortSignal): Promise<T> {
      const bytes = await answered(call, signal);
      await ownTurn(bytes.length);
      const value = parsed(bytes);
      if (value !== undefined) return value as T;
      if (!hasItemsWithin(MAX_ANSWER_ITEMS, bytes))
        throw new AnswerTooLongError(call, `${MAX_ANSWER_ITEMS} values and keys`);
      const message = `the answer (${bytes.length} bytes) is not JSON`;
      throw new ConnectionError({ ...call, reason: 'InvalidResponse', message });
    },
    /** Sends once, and hands over the stream. `deadline` belongs to the reader: it must be disposed. */
    async open(call: Call, signal: AbortSignal) {
      signal.throwIfAborted();
      const deadline = createDeadline(clock, requestTimeoutMs, signal);
      try {
        const { body } = await head(call, deadline);
        return { body, deadline };
      } catch (error) {
        deadline[Symbol.dispose]();
        throw failure(error, call, deadline, signal);
      }
    },
  };
};

export type Exchange = ReturnType<typeof createExchange>;
