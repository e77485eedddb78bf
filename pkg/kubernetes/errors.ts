// The two ways a request to the API server fails: it answered with an error status, or there was no usable answer.
import { defined, isFields } from '../apis/values.ts';
import type { Status } from '../apis/meta.ts';

/** What identifies the failed request; never its body and never its headers. */
export interface RequestIdentity {
  readonly method: string;
  /** Path with query as sent, without scheme and host. */
  readonly path: string;
}

// The server's words can quote what was sent (validation errors do), so their length is bounded.
const MAX_MESSAGE_LENGTH = 2_000;
const MAX_REASON_LENGTH = 100;

/** One line without control sequences: servers, aggregated API servers among them, are untrusted. */
export const plain = (text: string, length: number): string => text.slice(0, length).replaceAll(/\p{Cc}+/gu, ' ');

/** `reason` of a Status, by the HTTP status that it comes with. */
export const HTTP_STATUS_REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  408: 'Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code = 'ApiError';
  /** HTTP status, or the `code` of a Status that came inside a watch. */
  readonly status: number;
  /** CamelCase, as in meta/v1 Status, for example `AlreadyExists`. */
  readonly reason: string;
  readonly method: string;
  readonly path: string;
  /** How long the server asks to wait, milliseconds. */
  readonly retryAfterMs: number | undefined;

  /** `reason` is that of the Status body; when absent it is derived from the HTTP status. */
  constructor(input: RequestIdentity & { status: number; reason?: string; message?: string; retryAfterMs?: number }) {
    const { status, reason, message, retryAfterMs, method, path } = input;
    const said = plain(reason ?? '', MAX_REASON_LENGTH);
    const known = said === '' ? (HTTP_STATUS_REASONS[status] ?? 'Unknown') : said;
    const detail = message === undefined || message === '' ? '' : `: ${plain(message, MAX_MESSAGE_LENGTH)}`;
    super(`${method} ${path}: ${status} ${known}${detail}`);
    this.status = status;
    this.reason = known;
    this.method = method;
    this.path = path;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Why there was no usable answer. `Unreachable`: no connection came about, so nothing was sent. `Cut`: the connection broke before the answer was
 * complete; a write may have taken effect. `Timeout`: our deadline passed. `InvalidResponse`: what came is not what the protocol allows.
 * `Credentials`: a token, certificate or plug-in could not be read, so nothing was sent.
 */
export type ConnectionErrorReason = 'Unreachable' | 'Cut' | 'Timeout' | 'InvalidResponse' | 'Credentials';

export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code = 'ConnectionError';
  readonly reason: ConnectionErrorReason;
  readonly method: string;
  readonly path: string;

  /** `message`: a clause for a person; the logger of the chain appends the cause's own message. */
  constructor(input: RequestIdentity & { reason: ConnectionErrorReason; message: string; cause?: unknown }) {
    const { reason, message, cause, method, path } = input;
    super(`${method} ${path}: ${message}`, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.method = method;
    this.path = path;
  }
}

const retryAfterOf = (status: Status | undefined): number | undefined => {
  const seconds = status?.details?.retryAfterSeconds;
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined;
};

/**
 * Builds the error of an answer with an error status.
 *
 * Only a meta/v1 Status is quoted: other bodies come from proxies and may hold anything. For Secrets the message of a
 * rejected body (400, 422) is left out as well, because it can quote the body that was sent.
 *
 * @param body - The parsed body, or undefined when it was not JSON.
 * @param retryAfterMs - From the `Retry-After` header; wins over the Status' `details.retryAfterSeconds`.
 */
export const apiErrorOf = (
  request: RequestIdentity,
  httpStatus: number,
  body: unknown,
  retryAfterMs?: number,
): ApiError => {
  const status: Status | undefined = isFields(body) && body['kind'] === 'Status' ? body : undefined;
  const quotable = !(/\/secrets(?:[/?]|$)/u.test(request.path) && (httpStatus === 400 || httpStatus === 422));
  return new ApiError({
    ...request,
    status: httpStatus,
    ...(typeof status?.reason === 'string' ? { reason: status.reason } : {}),
    ...(quotable && typeof status?.message === 'string' ? { message: status.message } : {}),
    ...defined({ retryAfterMs: retryAfterMs ?? retryAfterOf(status) }),
  });
};

const hasStatus =
  (status: number) =>
  (error: unknown): error is ApiError =>
    error instanceof ApiError && error.status === status;

export const isForbidden = hasStatus(403);
export const isNotFound = hasStatus(404);
/** The resourceVersion is not the current one, or a precondition failed. AlreadyExists, also 409, is not a conflict. */
export const isConflict = (error: unknown): error is ApiError =>
  hasStatus(409)(error) && error.reason !== 'AlreadyExists';
export const isAlreadyExists = (error: unknown): error is ApiError =>
  hasStatus(409)(error) && error.reason === 'AlreadyExists';
/** The resourceVersion or continue token is too old: list anew. */
export const isGone = hasStatus(410);
export const isTooManyRequests = hasStatus(429);
export const isServiceUnavailable = hasStatus(503);

/** What was asked for; undefined where it fails with one of these. */
export const except = async <T>(answer: Promise<T>, ...passed: readonly ((error: unknown) => boolean)[]) => {
  try {
    return await answer;
  } catch (error) {
    if (passed.some((isPassed) => isPassed(error))) return undefined;
    throw error;
  }
};

/** The same of what is not there. */
export const ifFound = <T>(answer: Promise<T>): Promise<T | undefined> => except(answer, isNotFound);

/** The API server's message for a JSON Patch that does not apply; for an invalid object it lists fields instead. */
const NOT_APPLICABLE = 'the server rejected our request due to an error in our request';

/**
 * Another writer changed the object that a JSON Patch was made for. Versions are compared only after the patch was applied to the
 * newest object, so that a patch which removes what is gone ends in 422 and not in a conflict.
 */
export const isStalePatch = (error: unknown): error is ApiError =>
  isConflict(error) || (hasStatus(422)(error) && error.message.endsWith(NOT_APPLICABLE));
