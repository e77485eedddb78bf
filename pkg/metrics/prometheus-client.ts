// Sends instant queries to one Prometheus: deadline, size limit, no redirects, credentials from files, read again after a refusal.
import type { Dispatcher } from 'undici';
import { PROMETHEUS_DEFAULTS, type PrometheusSourceConfiguration } from '../apis/config/load-sources.ts';
import { defined } from '../apis/values.ts';
import { hasItemsWithin } from '../apis/json-items.ts';
import { abortable, createDeadline, ownTurn } from '../kubernetes/wait.ts';
import { type Credentials, type FileSource, authenticated, createFileSource } from '../kubernetes/credentials.ts';
import { bytesWithin } from '../kubernetes/exchange.ts';
import { type TransportRequest, createTransport } from '../kubernetes/transport.ts';
import type { Clock, Uses } from '../kubernetes/types.ts';
import { failureOf } from './prometheus-answer.ts';
import { LoadError, type LoadFailure } from './types.ts';

/** How often files are looked at, milliseconds: rotation leaves both versions valid for much longer. */
const LOOK_EVERY_MS = 10_000;

/** Opens the files that the configuration names; none is read before the first call. */
export const openCredentials = (
  { tls = {}, bearerTokenFile, headers = {} }: PrometheusSourceConfiguration,
  clock: Clock,
) => {
  const opened: FileSource[] = [];
  /** Reads one file; nothing where none is configured. */
  const open = (path: string | undefined, field: string, reason: LoadFailure): (() => Buffer | undefined) => {
    if (path === undefined) return () => undefined;
    const source = createFileSource(path, clock, LOOK_EVERY_MS);
    opened.push(source);
    return () => {
      try {
        return source.read();
      } catch (error) {
        throw new LoadError(reason, `${field} cannot be read: ${codeOf(error)}`, { cause: error });
      }
    };
  };
  const ca = open(tls.caFile, 'tls.caFile', 'Unreachable');
  const cert = open(tls.certFile, 'tls.certFile', 'Unreachable');
  const key = open(tls.keyFile, 'tls.keyFile', 'Unreachable');
  const token = open(bearerTokenFile, 'bearerTokenFile', 'Forbidden');

  return {
    /**
     * Current headers and TLS material.
     *
     * @throws LoadError Forbidden for a token, Unreachable for a certificate, that cannot be read; it holds neither.
     */
    credentials(): Credentials {
      const material = defined({ ca: ca(), cert: cert(), key: key(), servername: tls.serverName });
      const text = token()?.toString('utf8').trim();
      if (text === undefined) return { headers, tls: material };
      if (!/^[\x21-\x7e]+$/u.test(text)) throw new LoadError('Forbidden', 'bearerTokenFile holds no token');
      return { headers: { ...headers, authorization: `Bearer ${text}` }, tls: material };
    },
    /** Looks at every file at the next call: the server refused what it was given. */
    refresh: () => opened.forEach((source) => source.expire()),
  };
};

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
  const tooMuch = (what: string): LoadError => new LoadError('BadAnswer', `the answer has more than ${what}`);
  const text = await bytesWithin(limit, body, () => tooMuch(`${limit} bytes`));
  const most = Math.floor(limit / BYTES_AN_ITEM);
  if (!hasItemsWithin(most, text)) throw tooMuch(`${most} values and keys`);
  await ownTurn(text.length);
  return text.toString('utf8');
};

/** The beginning of the body of an error; nothing where even that cannot be had. */
const readError = (body: Dispatcher.ResponseData['body']): Promise<string> =>
  readBody(body, MAX_ERROR_BYTES).catch(() => '');

export interface PrometheusOptions extends Uses<'clock'> {
  config: PrometheusSourceConfiguration;
  /** `<command> (<platform>)` */
  userAgent: string;
}

export const createPrometheusClient = ({ config, clock, userAgent }: PrometheusOptions) => {
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

  /** Servers and proxies that know no POST say so with 405 or 501; then queries are sent with GET from now on. */
  const send = async (promql: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> => {
    const answer = await authenticated(credentials, (used) => transport.send(requestOf(promql, signal), used));
    const knowsNoPost = method === 'POST' && (answer.statusCode === 405 || answer.statusCode === 501);
    if (!knowsNoPost || config.method !== undefined) return answer;
    method = 'GET';
    await readError(answer.body);
    return await send(promql, signal);
  };

  const exchange = async (promql: string, signal: AbortSignal): Promise<string> => {
    const { statusCode, body } = await send(promql, signal);
    if (statusCode >= 200 && statusCode < 300) return await readBody(body, maxResponseBytes);
    throw failureOf(statusCode, await readError(body));
  };

  return {
    /**
     * The body of the successful answer to an instant query, evaluated at the server's present.
     *
     * Rejects with a LoadError, or with the signal's reason.
     */
    async query(promql: string, signal: AbortSignal): Promise<string> {
      signal.throwIfAborted();
      using deadline = createDeadline(clock, timeoutSeconds * 1_000, signal);
      try {
        return await abortable(exchange(promql, deadline.signal), deadline.signal);
      } catch (error) {
        signal.throwIfAborted();
        if (deadline.check()) throw new LoadError('Timeout', `no answer within ${timeoutSeconds} s`, { cause: error });
        if (error instanceof LoadError) throw error;
        throw new LoadError('Unreachable', `no answer: ${codeOf(error)}`, { cause: error });
      }
    },
    /** Breaks every connection; pending queries reject. */
    close: () => transport.close(),
  };
};
