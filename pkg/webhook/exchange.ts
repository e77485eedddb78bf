// One request to a webhook path, from its headers to its answer.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { defined } from '../apis/values.ts';
import type { Logger } from '../telemetry/log.ts';
import { allowedText, patchedText, readReview, statusText } from './review.ts';
import type { AdmissionDecision, AdmissionRoute, UnservedReason } from './review.ts';
import { BODY_TIMEOUT_MS, MAX_BODY_BYTES, MAX_BODY_ITEMS, createBodyBuffers, readBody } from './body.ts';
import type { Body, Budget, TakeTurn } from './body.ts';
import type { Outcome, createAdmissionMetrics } from './metrics.ts';

export interface ExchangeOptions {
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

export const send = (
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
export const createReviewExchange = (route: AdmissionRoute, takeTurn: TakeTurn, options: ExchangeOptions) => {
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
