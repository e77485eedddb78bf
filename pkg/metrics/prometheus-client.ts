// Sends instant queries to one Prometheus: deadline, size limit, no redirects, a fresh token after a refusal.
import type { Dispatcher } from 'undici';
import type { PrometheusSourceConfiguration } from '../apis/config/load-sources.ts';
import { PROMETHEUS_DEFAULTS } from '../apis/config/load-sources.ts';
import { hasItemsWithin } from '../apis/json-items.ts';
import { abortable } from '../kubernetes/abortable.ts';
import type { Credentials } from '../kubernetes/credentials.ts';
import { createDeadline } from '../kubernetes/deadline.ts';
import { createGrowingBuffer } from '../kubernetes/growing-buffer.ts';
import { ownTurn } from '../kubernetes/own-turn.ts';
import { createTransport } from '../kubernetes/transport.ts';
import type { TransportRequest } from '../kubernetes/transport.ts';
import type { Clock } from '../kubernetes/types.ts';
import { failureOf } from './prometheus-answer.ts';
import { openCredentials } from './prometheus-credentials.ts';
import { LoadError } from './types.ts';

export interface PrometheusClientOptions {
  config: PrometheusSourceConfiguration;
  clock: Clock;
  userAgent: string;
}

export interface PrometheusClient {
  /**
   * The body of the successful answer to an instant query, evaluated at the server's present.
   *
   * Rejects with a LoadError, or with the signal's reason.
   */
  query(promql: string, signal: AbortSignal): Promise<string>;
  /** Breaks every connection; pending queries reject. */
  close(): Promise<void>;
}

const PATH = '/api/v1/query';

/** An error needs no more, and what is not read is thrown away with its connection. */
const MAX_ERROR_BYTES = 65_536;

/** For each value and key that an answer may hold; in rows of a Prometheus each takes nine. */
const BYTES_AN_ITEM = 8;

const codeOf = (error: unknown): string => {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return [code, name].find((part) => typeof part === 'string') ?? 'unknown error';
};

/** The whole body as text. @throws LoadError when it has more than `limit` bytes, or values and keys out of proportion to it. */
const readBody = async (body: Dispatcher.ResponseData['body'], limit: number): Promise<string> => {
  const bytes = createGrowingBuffer(limit);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    // Leaving the loop destroys the stream and with it the connection.
    if (bytes.length + chunk.length > limit)
      throw new LoadError('BadAnswer', `the answer has more than ${limit} bytes`);
    bytes.push(chunk);
  }
  const text = bytes.take();
  const most = Math.floor(limit / BYTES_AN_ITEM);
  if (!hasItemsWithin(most, text)) throw new LoadError('BadAnswer', `the answer has more than ${most} values and keys`);
  await ownTurn(text.length);
  return text.toString('utf8');
};

/** The beginning of the body of an error; nothing where even that cannot be had. */
const readError = (body: Dispatcher.ResponseData['body']): Promise<string> =>
  readBody(body, MAX_ERROR_BYTES).catch(() => '');

const sameHeaders = (one: Credentials, other: Credentials): boolean =>
  JSON.stringify(one.headers) === JSON.stringify(other.headers);

export const createPrometheusClient = ({ config, clock, userAgent }: PrometheusClientOptions): PrometheusClient => {
  const { url, timeoutSeconds } = config;
  const { maxResponseBytes, lookbackSeconds } = { ...PROMETHEUS_DEFAULTS, ...config };
  const transport = createTransport({ server: url, proxyUrl: undefined, allowH2: false, clock });
  const credentials = openCredentials(config, clock);
  let method: 'GET' | 'POST' = config.method ?? PROMETHEUS_DEFAULTS.method;

  const requestOf = (promql: string, signal: AbortSignal): TransportRequest => {
    const parameters = new URLSearchParams({
      query: promql,
      timeout: `${timeoutSeconds}s`,
      // How long ago a sample may have been taken that stands for now; five minutes without it. Unknown to old servers.
      lookback_delta: `${lookbackSeconds}s`,
    }).toString();
    const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': userAgent };
    if (method === 'GET') return { method, path: `${PATH}?${parameters}`, headers, signal };
    const contentType = { 'content-type': 'application/x-www-form-urlencoded' };
    return { method, path: PATH, headers: { ...headers, ...contentType }, body: parameters, signal };
  };

  /** A 401 is worth one more try when the token was renewed meanwhile. */
  const sendAuthenticated = async (promql: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> => {
    const used = credentials.current();
    const answer = await transport.send(requestOf(promql, signal), used);
    if (answer.statusCode !== 401) return answer;
    credentials.expire();
    const renewed = credentials.current();
    if (sameHeaders(used, renewed)) return answer;
    await readError(answer.body);
    return await transport.send(requestOf(promql, signal), renewed);
  };

  /** Servers and proxies that know no POST say so with 405 or 501; then queries are sent with GET from now on. */
  const send = async (promql: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> => {
    const answer = await sendAuthenticated(promql, signal);
    const refused = answer.statusCode === 405 || answer.statusCode === 501;
    if (!refused || method === 'GET' || config.method !== undefined) return answer;
    await readError(answer.body);
    method = 'GET';
    return await sendAuthenticated(promql, signal);
  };

  const exchange = async (promql: string, signal: AbortSignal): Promise<string> => {
    const { statusCode, body } = await send(promql, signal);
    if (statusCode >= 200 && statusCode < 300) return await readBody(body, maxResponseBytes);
    throw failureOf(statusCode, await readError(body));
  };

  return {
    async query(promql, signal) {
      signal.throwIfAborted();
      const deadline = createDeadline(clock, timeoutSeconds * 1_000, signal);
      try {
        return await abortable(exchange(promql, deadline.signal), deadline.signal);
      } catch (error) {
        signal.throwIfAborted();
        if (deadline.check()) throw new LoadError('Timeout', `no answer within ${timeoutSeconds} s`, { cause: error });
        if (error instanceof LoadError) throw error;
        throw new LoadError('Unreachable', `no answer: ${codeOf(error)}`, { cause: error });
      } finally {
        deadline.dispose();
      }
    },
    close: () => transport.close(),
  };
};
