// The contracts of the Kubernetes layer: what controllers, webhooks and commands may rely on, and the two ways a request to the API server
// fails: it answered with an error status, or there was no usable answer.
import type { KubernetesObject, ObjectList, ObjectRef, Status } from '../apis/meta.ts';
import type { Resource } from '../apis/resources.ts';
import type { Logger } from '../telemetry/log.ts';
import { defined, isFields } from '../apis/values.ts';

/** Wall clock and timers, injected so that tests own time. */
export interface Clock {
  /** Milliseconds since the epoch (wall clock; for timestamps that others read). */
  now(): number;
  /** Monotonic milliseconds (for durations and deadlines). */
  monotonic(): number;
  /** Calls `callback` once after `delayMs`; the handle cancels it. Never keeps the process alive on its own if `unref`. */
  setTimeout(callback: () => void, delayMs: number): TimerHandle;
}

export interface TimerHandle {
  cancel(): void;
}

/** What parts of a process are made with, one for all of them; of its client, with the methods `C`. */
interface Parts<C extends keyof Client> {
  readonly client: Pick<Client, C>;
  readonly clock: Clock;
  /** In [0, 1): spreads work and retries. */
  readonly random: () => number;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly logger: Logger;
}

/** Those of them that one part is made with. */
export type Uses<K extends keyof Parts<never>, C extends keyof Client = keyof Client> = Pick<Parts<C>, K>;

/** What works with a cluster is made with. */
export type ClientContext = Uses<'client' | 'clock' | 'random' | 'logger'>;

/** Where a request selects objects; empty means all. */
export interface Selection {
  /** Only this namespace; omitted: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

export interface ListOptions extends Selection {
  /** Page size asked from the server; default 500; 0 asks for everything in one answer. */
  limit?: number;
  continue?: string;
  /** Over a new connection, which a load balancer may lead to another API server; what is open stays where it is. */
  newConnection?: boolean;
}

export interface WatchOptions extends Selection {
  /** Events after this version; omitted: the server's own choice. */
  resourceVersion?: string;
  /** How long the server should keep the watch, seconds; default random 300..600. */
  timeoutSeconds?: number;
  /** Called once when the server accepted the watch, before the first event: the cache it continues is current then. */
  onOpen?: () => void;
}

export type WatchEvent<T extends KubernetesObject> =
  { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T } | { type: 'BOOKMARK'; resourceVersion: string };

/** Asked immediately before each sending of a write, retries and waits for a connection included; an error is what the write rejects with, unsent. */
export type Refusal = () => Error | undefined;

export type PatchType = 'json' | 'merge';

export interface WriteOptions {
  /** Sent as `dryRun=All`: validated and admitted, not stored. */
  dryRun?: boolean;
  fieldManager?: string;
  subresource?: 'status';
  refusal?: Refusal;
}

export interface DeleteOptions {
  /** Seconds; 0 removes a Pod at once, without a kubelet's word. */
  gracePeriodSeconds?: number;
  preconditions?: { uid?: string; resourceVersion?: string };
  refusal?: Refusal;
}

/**
 * A raw-JSON client over one pooled connection. Every method rejects with `ApiError` when the server answers with an
 * error status, with `ConnectionError` when it cannot be reached, and with the signal's reason when aborted.
 */
export interface Client {
  /** Scheme, host and port of the API server. */
  readonly server: string;
  get<T extends KubernetesObject>(of: Resource, ref: ObjectRef, signal?: AbortSignal): Promise<T>;
  /** One page. */
  list<T extends KubernetesObject>(of: Resource, options?: ListOptions, signal?: AbortSignal): Promise<ObjectList<T>>;
  /** All pages, page by page; the last page's metadata carries the list's resourceVersion. */
  pages<T extends KubernetesObject>(
    of: Resource,
    options?: ListOptions,
    signal?: AbortSignal,
  ): AsyncIterableIterator<ObjectList<T>>;
  create<T extends KubernetesObject>(of: Resource, object: T, options?: WriteOptions, signal?: AbortSignal): Promise<T>;
  /** PUT: the object must carry metadata.resourceVersion for optimistic locking. */
  update<T extends KubernetesObject>(of: Resource, object: T, options?: WriteOptions, signal?: AbortSignal): Promise<T>;
  patch<T extends KubernetesObject>(
    of: Resource,
    ref: ObjectRef,
    type: PatchType,
    patch: unknown,
    options?: WriteOptions,
    signal?: AbortSignal,
  ): Promise<T>;
  delete(of: Resource, ref: ObjectRef, options?: DeleteOptions, signal?: AbortSignal): Promise<void>;
  /** Yields events until the server ends the watch (normal return), fails (throws) or the signal aborts (throws its reason). */
  watch<T extends KubernetesObject>(
    of: Resource,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterableIterator<WatchEvent<T>>;
  /** GET of any path, for example `/version` or `/apis/apps/v1`; parsed JSON. */
  raw<T = unknown>(path: string, signal?: AbortSignal): Promise<T>;
  /** GET of a path that answers no JSON, for example a Pod's log; `headers` go to a Pod behind the API server's proxy. */
  text(path: string, signal?: AbortSignal, headers?: Readonly<Record<string, string>>): Promise<string>;
  /** Closes the connection pool; pending requests reject. */
  close(): Promise<void>;
}

export type Indexers<T extends KubernetesObject> = Record<string, (object: T) => string[]>;

/** What a reconcile asks for: nothing more, or to be called again after `afterMs`. */
export type Result = { kind: 'done' } | { kind: 'requeue'; afterMs: number };

export const DONE: Result = { kind: 'done' };

/** Brings one key in line with what is wanted. A rejection is logged, counted and retried with back-off. */
export interface Reconciler {
  reconcile(key: string, signal: AbortSignal): Promise<Result>;
}

export interface EventInput {
  regarding: { apiVersion: string; kind: string; namespace?: string; name: string; uid?: string };
  type: 'Normal' | 'Warning';
  /** CamelCase, stable. */
  reason: string;
  message: string;
}

/** Records Kubernetes Events; repeats are counted on the same Event, floods are dropped. Never throws, never blocks. */
export interface EventRecorder {
  record(event: EventInput): void;
  /** Waits until everything recorded so far is sent or dropped. */
  flush(signal?: AbortSignal): Promise<void>;
}

/** What identifies the failed request; never its body and never its headers. */
export interface RequestIdentity {
  readonly method: string;
  /** Path with query as sent, without scheme and host. */
  readonly path: string;
}

// The server's words can quote what was sent (validation errors do), so their length is bounded.
const MAX_MESSAGE_LENGTH = 2_000;
const MAX_REASON_LENGTH = 100;

/** One line without control sequences: aggregated API servers are untrusted. */
const plain = (text: string, length: number): string => text.slice(0, length).replaceAll(/\p{Cc}+/gu, ' ');

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
  const delay = retryAfterMs ?? retryAfterOf(status);
  return new ApiError({
    ...request,
    status: httpStatus,
    ...(typeof status?.reason === 'string' ? { reason: status.reason } : {}),
    ...(quotable && typeof status?.message === 'string' ? { message: status.message } : {}),
    ...defined({ retryAfterMs: delay }),
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
