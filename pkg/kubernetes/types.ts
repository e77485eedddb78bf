// The contracts of the Kubernetes layer: what controllers, webhooks and commands may rely on.
import type { KubernetesObject, ObjectList, ObjectRef } from '../apis/meta.ts';
import type { Resource } from '../apis/resources.ts';
import type { Logger } from '../telemetry/log.ts';

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
  /** Page size asked from the server; default 500. */
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

/** After a conflict the watch brings the newer object; a safety resync, milliseconds. */
export const CONFLICT_RETRY_MS = 1_000;

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
