// The Express application: which path is served by what, and a Status for everything that is served by nothing.
import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import { bareApp } from '../telemetry/http.ts';
import { statusText } from './answer.ts';
import type { ExchangeOptions } from './exchange.ts';
import { createReviewExchange, send } from './exchange.ts';
import { createTurns } from './turns.ts';
import type { AdmissionRoute } from './types.ts';

export interface AppOptions extends ExchangeOptions {
  routes: readonly AdmissionRoute[];
}

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

export const createApp = ({ routes, ...options }: AppOptions): Express => {
  const app = bareApp();
  const takeTurn = createTurns(options.monotonic);
  for (const route of routes) {
    app.post(route.path, createReviewExchange(route, takeTurn, options));
    app.all(route.path, refuse(405, 'only POST is allowed here', { allow: 'POST' }));
  }
  app.use(refuse(404, `not found; available: ${routes.map(({ path }) => path).join(', ')}`));
  app.use(onError);
  return app;
};
