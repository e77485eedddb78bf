// SPDX-License-Identifier: Apache-2.0
// The small plain-HTTP server under health and metrics: GET only, a table of paths, closes without waiting for idle clients.
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from './types.ts';

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Answers one path; `query` is what follows the question mark. */
export type Route = (query: URLSearchParams) => Answer | Promise<Answer>;

export interface HttpServerOptions {
  /** Address to bind. */
  address: string;
  /** 0 takes a free one. */
  port: number;
  routes: Readonly<Record<string, Route>>;
  logger: Logger;
}

export interface RunningServer {
  /** The port that is listened on. */
  readonly port: number;
  /** Stops listening, cuts open connections; resolves when the port is free. May be called again. */
  close(): Promise<void>;
}

const TEXT = 'text/plain; charset=utf-8';

/** A plain-text answer. */
export const text = (status: number, body: string): Answer => ({ status, contentType: TEXT, body });

const answer = async (request: IncomingMessage, { routes, logger }: HttpServerOptions): Promise<Answer> => {
  if (request.method !== 'GET' && request.method !== 'HEAD') return text(405, 'method not allowed\n');
  const target = request.url ?? '/';
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
  if (route === undefined) return text(404, `not found; served here: ${Object.keys(routes).join(', ')}\n`);
  try {
    return await route(new URLSearchParams(mark === -1 ? '' : target.slice(mark + 1)));
  } catch (error) {
    logger.error('cannot answer', { path, error });
    return text(500, 'internal error, see the log\n');
  }
};

const send = (response: ServerResponse, head: boolean, { status, contentType, body }: Answer): void => {
  const headers: Record<string, string | number> = {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  if (status === 405) headers['allow'] = 'GET, HEAD';
  response.writeHead(status, headers);
  response.end(head ? undefined : body);
};

const listen = (server: Server, port: number, address: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });

/** Resolves once it listens; rejects if the address cannot be bound. */
export const startHttpServer = async (options: HttpServerOptions): Promise<RunningServer> => {
  const { address, port, logger } = options;
  const server = createServer((request, response) => {
    void answer(request, options).then((result) => send(response, request.method === 'HEAD', result));
  });
  // Probes are small: whoever takes longer than this to ask is not a probe.
  server.headersTimeout = 10_000;
  server.requestTimeout = 10_000;
  const actualPort = await listen(server, port, address);
  server.on('error', (error) => logger.warn('HTTP server error', { error }));
  let closed: Promise<void> | undefined;
  return {
    port: actualPort,
    close() {
      closed ??= new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      return closed;
    },
  };
};
