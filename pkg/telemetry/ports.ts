// The two ports of every long-running command, health for the kubelet and metrics for Prometheus, and the small server under them.
import { IncomingMessage, ServerResponse, createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import express from 'express';
import type { ErrorRequestHandler, Express, Request, RequestHandler } from 'express';
import type { EndpointConfiguration } from '../apis/config/schema.ts';
import { errorText } from '../apis/values.ts';
import { guardConnections } from './connections.ts';
import type { Metrics } from './metrics.ts';
import type { HealthCheck, Logger } from './log.ts';

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
}

/** Answers one path; `query` is what follows the question mark. */
type Route = (query: Request['query']) => Answer | Promise<Answer>;

export interface SecureServing {
  readonly context: SecureContextOptions;
  /** Undefined lets the request in; an answer is what it gets instead. Paths that are not served are asked about, too. */
  admit(request: IncomingMessage): Promise<Answer | undefined>;
}

interface HttpServerOptions extends EndpointConfiguration {
  readonly logger: Logger;
  /** Without it the server speaks plain HTTP to all clients. */
  readonly secure?: SecureServing | undefined;
}

type Routes = Readonly<Record<string, Route>>;

export const plainText = (status: number, body: string): Answer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body,
});

/** Express with exact paths, and without what is not used here: ETags, nested queries, its own name. */
export const bareApp = (): Express => {
  const app = express();
  for (const feature of ['x-powered-by', 'etag']) app.disable(feature);
  for (const feature of ['case sensitive routing', 'strict routing']) app.enable(feature);
  return app.set('query parser', false);
};

/**
 * Classes for the server of an application, so that Express finds each request and response with the prototype that it would give
 * it: V8 forgets what it knows about an object whose prototype changes (a tenth of the time of a small review).
 */
export const messagesOf = (
  app: Express,
): { IncomingMessage: typeof IncomingMessage; ServerResponse: typeof ServerResponse<IncomingMessage> } => {
  class Incoming extends IncomingMessage {}
  class Outgoing extends ServerResponse<Incoming> {}
  Object.setPrototypeOf(Incoming.prototype, app.request);
  Object.setPrototypeOf(Outgoing.prototype, app.response);
  // https://expressjs.com/en/5x/api.html: what `app.request` and `app.response` are is up to the application.
  Object.assign(app, { request: Incoming.prototype, response: Outgoing.prototype });
  return { IncomingMessage: Incoming, ServerResponse: Outgoing };
};

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

const admitting =
  ({ admit }: SecureServing): RequestHandler =>
  async (request, response, next) => {
    const refusal = await admit(request);
    return refusal === undefined ? next() : answering(() => refusal)(request, response, next);
  };

const createApp = ({ logger, secure }: HttpServerOptions, routes: Routes): Express => {
  const app = bareApp().set('query parser', 'simple');
  if (secure !== undefined) app.use(admitting(secure));
  app.use((request, response, next) => {
    if (request.method === 'GET' || request.method === 'HEAD') return next();
    response.set('allow', 'GET, HEAD');
    return answering(() => plainText(405, 'method not allowed\n'))(request, response, next);
  });
  for (const [path, route] of Object.entries(routes)) app.get(path, answering(route));
  app.use(answering(() => plainText(404, `not found; available: ${Object.keys(routes).join(', ')}\n`)));
  const onError: ErrorRequestHandler = (error: unknown, request, response, next) => {
    logger.error('request on the health or metrics port failed', { path: request.path, error });
    return answering(() => plainText(500, 'internal error, see the log\n'))(request, response, next);
  };
  return app.use(onError);
};

/** Probes and scrapes are small: a client that takes longer than this is neither. */
const TIMEOUT_MS = 10_000;
/** What OpenSSL holds for silent ones is some 50 KB each; half a request costs 20 KB without it. */
const MAX_CONNECTIONS = 200;

/** Resolves once it listens; rejects if the address cannot be bound. */
const serve = async (options: HttpServerOptions, routes: Routes) => {
  const { secure, logger } = options;
  const app = createApp(options, routes);
  const timeouts = {
    headersTimeout: TIMEOUT_MS,
    requestTimeout: TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_MS / 2,
  };
  const server =
    secure === undefined
      ? createServer(timeouts, app)
      : createSecureServer({ ...secure.context, ...timeouts, handshakeTimeout: TIMEOUT_MS }, app);
  guardConnections(server, MAX_CONNECTIONS, logger);
  const port = await listen(server, options.port, options.bindAddress);
  server.on('error', (error) => logger.warn('HTTP server error', { error }));
  return {
    port,
    /** Stops listening, cuts open connections; resolves when the port is free. */
    close: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const runCheck = (check: HealthCheck): string | undefined => {
  try {
    return check.check();
  } catch (error) {
    return `check failed: ${errorText(error)}`;
  }
};

/** All checks in order; a failure is 503 and names each failing check with its reason, `verbose` also those that are well. */
const answerChecks = (checks: readonly HealthCheck[], verbose: boolean): Answer => {
  const results = checks.map((check) => ({ name: check.name, problem: runCheck(check) }));
  const failed = results.some(({ problem }) => problem !== undefined);
  if (!failed && !verbose) return plainText(200, 'ok\n');
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`,
  );
  return plainText(failed ? 503 : 200, `${[...lines, failed ? 'check failed' : 'check passed'].join('\n')}\n`);
};

/** `liveness` is behind /healthz: the process should be restarted if one fails. `readiness` is behind /readyz: no traffic while one fails. */
type Checks = Readonly<Record<'liveness' | 'readiness', readonly HealthCheck[]>>;

/** Runs named checks and lists those that fail, in the format of Kubernetes' own components. */
const healthRoutes = ({ liveness, readiness }: Checks): Routes => ({
  '/healthz': (query) => answerChecks(liveness, 'verbose' in query),
  '/readyz': (query) => answerChecks(readiness, 'verbose' in query),
});

type ExposedMetrics = Pick<Metrics, 'text' | 'contentType'>;

/** Those who ask at the same time share one answer, and its bytes. */
const metricsRoutes = (metrics: ExposedMetrics): Routes => {
  let rendering: Promise<Buffer> | undefined;
  const render = async (): Promise<Buffer> => Buffer.from(await metrics.text());
  return {
    '/metrics': async () => {
      rendering ??= render().finally(() => (rendering = undefined));
      return { status: 200, contentType: metrics.contentType, body: await rendering };
    },
  };
};

/** Opens both or none; rejects when a port is taken. `secureMetrics`: where plain HTTP would expose them to all clients. */
export const openPorts = async (
  options: Checks & {
    readonly config: Readonly<Record<'health' | 'metrics', EndpointConfiguration>>;
    readonly metrics: ExposedMetrics;
    readonly logger: Logger;
    readonly secureMetrics?: SecureServing | undefined;
  },
) => {
  const { config, metrics, logger, secureMetrics: secure } = options;
  const health = await serve({ ...config.health, logger }, healthRoutes(options));
  const figures = await serve({ ...config.metrics, logger, secure }, metricsRoutes(metrics)).catch(
    async (error: unknown) => {
      await health.close();
      throw error;
    },
  );
  return {
    health,
    metrics: figures,
    close: async (): Promise<void> => void (await Promise.all([health.close(), figures.close()])),
  };
};
