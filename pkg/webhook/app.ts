// SPDX-License-Identifier: Apache-2.0
// The Express application: which path is served by what, and a Status for everything that is served by nothing.
import { Router } from 'express';
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import type { RequestListener } from 'node:http';
import { statusText } from './answer.ts';
import type { ExchangeOptions } from './exchange.ts';
import { createReviewExchange, send } from './exchange.ts';
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

/**
 * Express' router without its application: that gives every request and answer another prototype (`app.handle`), which costs 3 %
 * of the CPU time of a small review by profile, and nothing here uses what the prototypes bring.
 */
export const createApp = ({ routes, ...options }: AppOptions): RequestListener => {
  const router = Router({ caseSensitive: true, strict: true });
  for (const route of routes) {
    router.post(route.path, createReviewExchange(route, options));
    router.all(route.path, refuse(405, 'only POST is allowed here', { allow: 'POST' }));
  }
  router.use(refuse(404, `not found; served here: ${routes.map(({ path }) => path).join(', ')}`));
  router.use(onError);
  return (request, response) =>
    // Nothing is left for what would come next: an answer that has begun is cut.
    router(request as Request, response as Response, () => void response.destroy());
};
