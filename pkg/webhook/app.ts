// The Express application of admission and the TLS server under it: paths, timeouts, certificate changes, and the way down.
import { STATUS_CODES } from 'node:http';
import { createServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import { guardConnections } from '../telemetry/connections.ts';
import { bareApp, listen, messagesOf } from '../telemetry/ports.ts';
import type { Logger } from '../telemetry/log.ts';
import { type AdmissionRoute, statusText } from './review.ts';
import { type CertificateSource, contextOptions } from './certificates/pair.ts';
import { type ExchangeOptions, createReviewExchange, send } from './exchange.ts';
import { createTurns } from './body.ts';

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
