// The Express application of admission with the exchange of each request, and the TLS server under it, with timeouts and the way down.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import { guardConnections } from '../telemetry/connections.ts';
import { bareApp, listen, messagesOf } from '../telemetry/ports.ts';
import type { Logger } from '../telemetry/log.ts';
import { allowedText, patchedText, readReview, statusText } from './review.ts';
import type { AdmissionDecision, AdmissionRoute, UnservedReason } from './review.ts';
import { type CertificateSource, contextOptions } from './certificates/pair.ts';
import { BODY_TIMEOUT_MS, MAX_BODY_BYTES, MAX_BODY_ITEMS, createBodyBuffers, createTurns, readBody } from './body.ts';
import type { Body, Budget, TakeTurn } from './body.ts';
import { defined } from '../apis/values.ts';
import type { Outcome, createAdmissionMetrics } from './metrics.ts';

interface ExchangeOptions {
  budget: Budget;
  metrics: ReturnType<typeof createAdmissionMetrics>;
  logger: Logger;
  /** Monotonic milliseconds. */
  monotonic: () => number;
  /** CPU time of the process, milliseconds; default: measured. */
  readonly cpuMs?: () => number;
  /** How long a body may take to arrive, milliseconds. Default 6 s. */
  bodyTimeoutMs?: number;
  /** Called with the size of each body once its review is answered: the moment to free memory. Default: nothing is done. */
  reclaim?: (bytes: number) => void;
  /** True while the server shuts down: every answer then closes its connection. */
  draining: () => boolean;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly outcome: Outcome;
}

const CONTENT_TYPE = 'application/json';
/** Seconds after which a client that was turned away may come again. */
const RETRY_AFTER_SECONDS = '1';

const send = (
  response: ServerResponse,
  status: number,
  text: string,
  extra?: Readonly<Record<string, string>>,
): void => {
  const { socket } = response;
  const length = Buffer.byteLength(text);
  response.writeHead(status, { 'content-type': CONTENT_TYPE, 'content-length': length, ...extra });
  // Plain ASCII, as nearly every answer is, is copied as it stands.
  response.end(text, length === text.length ? 'latin1' : 'utf8');
  // Node.js learns only after the next read that a large answer is out, would pause its parser for the request that it reads then, and
  // reset the connection for the rest of it (HPE_PAUSED).
  if (socket?.writableNeedDrain !== true) return;
  socket.pause();
  socket.once('drain', () => socket.resume());
};

const isJson = (contentType: string | undefined): boolean =>
  contentType === CONTENT_TYPE || /^application\/json\s*(?:;|$)/i.test(contentType ?? '');

const rejected = (status: number, message: string, outcome: Outcome = 'rejected'): Answer => ({
  status,
  text: statusText(status, message),
  outcome,
});

/** Answers to bodies that are not read to their end. */
const UNREAD: Readonly<Record<Exclude<Body['kind'], 'complete'>, Answer>> = {
  unannounced: rejected(411, 'the length of the body must be announced: send content-length, not chunks'),
  scattered: rejected(400, 'the body came in too many small pieces'),
  tooLarge: rejected(413, `the body is larger than ${MAX_BODY_BYTES} bytes`),
  tooMany: rejected(413, `the body has more than ${MAX_BODY_ITEMS} values and keys`),
  busy: rejected(503, 'too many bytes are being read or wait to be, try again', 'busy'),
  late: rejected(408, 'the body took too long to arrive', 'truncated'),
  truncated: rejected(400, 'the body is shorter than announced', 'truncated'),
};

/** Serves the webhook at one path; large reviews of all paths share their turns. */
const createReviewExchange = (route: AdmissionRoute, takeTurn: TakeTurn, options: ExchangeOptions) => {
  const { budget, metrics, monotonic, draining, reclaim, bodyTimeoutMs: timeoutMs = BODY_TIMEOUT_MS } = options;
  const buffers = createBodyBuffers();
  const logger = options.logger.child({ webhook: route.name });

  const unserved = (uid: string, reason: UnservedReason, message: string, error?: unknown): Answer => {
    metrics.unserved(route.path, reason);
    logger.warn('review not served; object allowed unchanged', { reason, problem: message, ...defined({ error }) });
    return { status: 200, text: allowedText(uid, `${route.name}: nothing changed: ${message}`), outcome: 'unserved' };
  };

  const answerReview = (text: string): Answer => {
    const review = readReview(text, route.kinds);
    if (review.kind === 'notAReview') return rejected(400, review.message);
    if (review.kind === 'unserved') return unserved(review.uid, review.reason, review.message);
    const { request } = review;
    let decision: AdmissionDecision;
    try {
      decision = route.handle(request);
    } catch (error) {
      return unserved(request.uid, 'InternalError', 'the webhook failed, see its log', error);
    }
    if (decision.kind === 'unserved') return unserved(request.uid, decision.reason, decision.message);
    if (decision.kind === 'unchanged') return { status: 200, text: allowedText(request.uid), outcome: 'unchanged' };
    const { namespace, name, operation } = request;
    logger.info('admission patch returned', { namespace, name, operation, operations: decision.operations });
    return { status: 200, text: patchedText(request.uid, decision.patch), outcome: 'patched' };
  };

  const finish = (response: ServerResponse, { status, text, outcome }: Answer, started: number): void => {
    // What is still on its way of a body that was turned away must not be taken for the next request.
    const close = draining() || outcome === 'rejected' || outcome === 'busy' || outcome === 'truncated';
    const retry = outcome === 'busy' ? { 'retry-after': RETRY_AFTER_SECONDS } : {};
    if (close) send(response, status, text, { connection: 'close', ...retry });
    else send(response, status, text);
    metrics.answered(route.path, outcome, (monotonic() - started) / 1000);
  };

  return (request: IncomingMessage, response: ServerResponse): void => {
    const started = monotonic();
    if (!isJson(request.headers['content-type']))
      return finish(response, rejected(415, `the content type must be ${CONTENT_TYPE}`), started);
    if (!budget.enter())
      return finish(response, rejected(503, 'too many requests are in flight, try again', 'busy'), started);
    readBody(request, { budget, buffers, takeTurn, timeoutMs }, (body) => {
      budget.leave();
      finish(response, body.kind === 'complete' ? answerReview(body.text) : UNREAD[body.kind], started);
      if (body.kind === 'complete') reclaim?.(body.bytes);
    });
  };
};

const refuse = (status: number, message: string, extra: Readonly<Record<string, string>> = {}): RequestHandler => {
  const text = statusText(status, message);
  // The body, if there is one, is not read: the connection ends with the answer.
  return (_request, response) => send(response, status, text, { connection: 'close', ...extra });
};

/** Only a malformed URL leads here: exchanges answer their own failures. */
const onError: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (response.headersSent) return next(error);
  send(response, 400, statusText(400, 'the request cannot be read'), { connection: 'close' });
};

export const createApp = (routes: readonly AdmissionRoute[], options: ExchangeOptions): Express => {
  const app = bareApp();
  const takeTurn = createTurns(options.cpuMs);
  for (const route of routes) {
    app.post(route.path, createReviewExchange(route, takeTurn, options));
    app.all(route.path, refuse(405, 'only POST is allowed here', { allow: 'POST' }));
  }
  app.use(refuse(404, `not found; available: ${routes.map(({ path }) => path).join(', ')}`));
  app.use(onError);
  return app;
};

/**
 * API servers keep idle connections for 90 seconds. A server that closes them earlier loses the request which is sent at
 * the same moment, and admission requests are not sent again.
 */
const KEEP_ALIVE_MS = 120_000;
const HEADERS_TIMEOUT_MS = 32_000;
/** A webhook call lasts at most 30 seconds; Node wants it no shorter than the time for the headers. */
const REQUEST_TIMEOUT_MS = HEADERS_TIMEOUT_MS;
/** How often the two timeouts above are looked at. */
const CHECK_INTERVAL_MS = 5_000;

const REFUSALS: Readonly<Record<string, readonly [code: number, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request took too long to arrive'],
  HPE_HEADER_OVERFLOW: [431, 'the headers are too large'],
};

/** Answers what never became a request, as far as the connection still takes an answer. */
const onClientError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const [code, message] = REFUSALS[error.code ?? ''] ?? [400, 'not a complete HTTP request'];
  const body = statusText(code, message);
  socket.end(
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ''}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
};

/** Resolves once it listens; rejects if the address cannot be bound or the certificate cannot be used. */
export const startAdmissionServer = async (options: {
  address: string;
  /** 0 picks a free one. */
  port: number;
  certificates: Pick<CertificateSource, 'current' | 'onChange'>;
  app: Express;
  logger: Logger;
  /** Most open connections; default 1,000. An API server has 25 or fewer; a silent one costs ~50 KB. */
  maxConnections?: number;
  /** Default 10 s: API servers shake hands within a round trip; OpenSSL holds tens of kilobytes for a client that does not. */
  handshakeTimeoutMs?: number;
}) => {
  const { address, port, certificates, app, logger, maxConnections = 1_000, handshakeTimeoutMs = 10_000 } = options;
  const contextOf = () => contextOptions(certificates.current());
  const server = createServer(
    {
      ...contextOf(),
      keepAliveTimeout: KEEP_ALIVE_MS,
      handshakeTimeout: handshakeTimeoutMs,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      ...messagesOf(app),
    },
    app,
  );
  server.on('clientError', onClientError);
  const connections = guardConnections(server, maxConnections, logger);
  const actualPort = await listen(server, port, address);
  server.on('error', (error) => logger.warn('admission server error', { error }));
  certificates.onChange(() => {
    // Connections that are open keep the certificate they began with.
    server.setSecureContext(contextOf());
    logger.info('serving certificate changed');
  });
  let closed: Promise<void> | undefined;
  return {
    port: actualPort,
    connections: connections.size,
    /** Stops listening and ends idle connections; cuts the rest after `graceMs`. Resolves when all are gone. */
    close(graceMs: number): Promise<void> {
      closed ??= new Promise((resolve) => {
        const cut = setTimeout(() => connections.destroy(), graceMs);
        server.close(() => {
          clearTimeout(cut);
          resolve();
        });
        server.closeIdleConnections();
      });
      return closed;
    },
  };
};
