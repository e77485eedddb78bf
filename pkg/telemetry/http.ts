// SPDX-License-Identifier: Apache-2.0
// The small plain-HTTP server under health and metrics: GET only, a table of paths, closes without waiting for idle clients.
import { createServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import express from 'express';
import type { ErrorRequestHandler, Express, Request, RequestHandler } from 'express';
import type { Logger } from './types.ts';

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Answers one path; `query` is what follows the question mark. */
export type Route = (query: Request['query']) => Answer | Promise<Answer>;

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

/** A plain-text answer. */
export const text = (status: number, body: string): Answer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body,
});

/** Express with exact paths, and without what nobody here asks for: ETags, nested queries, its own name. */
export const bareApp = (): Express => {
  const app = express();
  for (const feature of ['x-powered-by', 'etag']) app.disable(feature);
  for (const feature of ['case sensitive routing', 'strict routing']) app.enable(feature);
  return app.set('query parser', false);
};

/** Resolves with the port; rejects if the address cannot be bound. */
export const listen = (server: Server, port: number, address: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });

/** Express sends no body where HEAD was asked. */
const answering =
  (route: Route): RequestHandler =>
  async ({ query }, response) => {
    const { status, contentType, body } = await route(query);
    response
      .status(status)
      .set({ 'content-type': contentType, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    response.send(body);
  };

const createApp = ({ routes, logger }: HttpServerOptions): Express => {
  const app = bareApp().set('query parser', 'simple');
  app.use((request, response, next) => {
    if (request.method === 'GET' || request.method === 'HEAD') return next();
    response.set('allow', 'GET, HEAD');
    return answering(() => text(405, 'method not allowed\n'))(request, response, next);
  });
  for (const [path, route] of Object.entries(routes)) app.get(path, answering(route));
  app.use(answering(() => text(404, `not found; served here: ${Object.keys(routes).join(', ')}\n`)));
  const onError: ErrorRequestHandler = (error: unknown, request, response, next) => {
    logger.error('cannot answer', { path: request.path, error });
    return answering(() => text(500, 'internal error, see the log\n'))(request, response, next);
  };
  return app.use(onError);
};

/** Resolves once it listens; rejects if the address cannot be bound. */
export const startHttpServer = async (options: HttpServerOptions): Promise<RunningServer> => {
  const { address, port, logger } = options;
  const server = createServer(createApp(options));
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
