// A cache of one resource that may not exist yet: it says so, goes on without, and fills once the resource is served.
import type { KubernetesObject, ObjectRef } from '../apis/meta.ts';
import type { Resource } from '../apis/resources.ts';
import { isForbidden, isNotFound } from './errors.ts';
import { type Informer, createInformer } from './informer.ts';
import { type RecentWrites, createRecentWrites, storeKeyOf, storeKeyOfObject } from './store.ts';
import { aborted, createBell, sleep } from './wait.ts';
import type { Client, Clock, Indexers, Selection } from './types.ts';
import type { Logger } from '../telemetry/log.ts';

export interface CacheOptions<T extends KubernetesObject> {
  client: Pick<Client, 'list' | 'pages' | 'watch'>;
  resource: Resource;
  selection?: Selection;
  /** Keeps only what is read; may change the object in place. */
  transform: (object: T) => T;
  indexers?: Indexers<T>;
  /** Objects a page; large ones (Clusters carry whole CloudProfiles) want small pages. Default 500. */
  pageSize?: number;
  clock: Clock;
  random: () => number;
  logger: Logger;
  /** Called after a list or watch failed, for metrics and to read the server's version again. */
  onFailure?: (error: unknown) => void;
}

/**
 * `absent`: the API server does not serve the resource. `refused`: we may not read it, so that nothing is known of what is there.
 */
export type CacheState = 'pending' | 'absent' | 'refused' | 'synced';

/** Called for every object that came, changed (`previous` is what was cached) or went. */
export type ChangeHandler<T> = (object: T, previous: T | undefined, deleted: boolean) => void;

/**
 * Reads give the freshest known objects: what the API server answered to a write of this process stands until the cache has
 * caught up with it. Objects are shared: treat them as frozen.
 */
export interface Cache<T extends KubernetesObject> {
  readonly resource: Resource;
  readonly state: CacheState;
  get(ref: ObjectRef): T | undefined;
  list(): T[];
  byIndex(index: string, value: string): T[];
  /** `replay`: also calls back at once for every object that is there. */
  onChange(handler: ChangeHandler<T>, options?: { readonly replay?: boolean }): void;
  /**
   * A write of the object begins; returns what takes the API server's answer, as it came. Callers that write through a manager's
   * client need not call it.
   */
  beginWrite(ref: ObjectRef): (answer: KubernetesObject) => void;
  /** Milliseconds since the cache was proved current; 0 while there is nothing to be current about. */
  stalenessMs(): number;
  settled(signal: AbortSignal): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

/** While the resource is not served, this is how often it is looked for. */
const PROBE_INTERVAL_MS = 60_000;
const RETRY_INTERVAL_MS = 2_000;
/**
 * An API server that has just started refuses everything until it has read the roles, and a proxy may say 404 for a moment: so many
 * refusals in a row are meant. A resource that was never there may be absent at once.
 */
const REFUSALS_MEANT = 5;

interface Shared<T extends KubernetesObject> {
  state: CacheState;
  informer: Informer<T> | undefined;
  /** Probes in a row that were answered 403 or 404. */
  refusals: number;
  readonly changeHandlers: ChangeHandler<T>[];
  readonly recent: RecentWrites<T>;
  readonly settled: ReturnType<typeof createBell>;
}

const enter = <T extends KubernetesObject>(shared: Shared<T>, next: CacheState): void => {
  if (shared.state === next) return;
  shared.state = next;
  shared.settled.ring();
};

/** Every API server serves what is read of these: a 404 comes from something else that answers in its place. */
const ALWAYS_SERVED: ReadonlySet<string> = new Set(['', 'apps', 'apiextensions.k8s.io', 'discovery.k8s.io']);

/** What an error says about the resource; undefined: nothing. What is known of one that may no longer be read stays the best there is. */
const refusalOf = (error: unknown, { group }: Resource, known: boolean): 'absent' | 'refused' | undefined => {
  if (isNotFound(error)) return ALWAYS_SERVED.has(group) ? undefined : 'absent';
  return isForbidden(error) && !known ? 'refused' : undefined;
};

/** Asks once whether the resource is served and may be read. */
const probe = async <T extends KubernetesObject>(
  { client, resource, selection = {}, logger, onFailure }: CacheOptions<T>,
  shared: Shared<T>,
  signal: AbortSignal,
): Promise<'served' | 'absent' | 'refused' | 'unknown'> => {
  const { plural, group } = resource;
  try {
    await client.list(resource, { ...selection, limit: 1 }, signal);
    shared.refusals = 0;
    return 'served';
  } catch (error) {
    const known = shared.informer !== undefined;
    const refusal = refusalOf(error, resource, known);
    shared.refusals = refusal === undefined ? 0 : shared.refusals + 1;
    const atOnce = refusal === 'absent' && !known;
    if (refusal !== undefined && (atOnce || shared.refusals >= REFUSALS_MEANT)) {
      if (shared.state !== refusal)
        logger.warn('resource cannot be read, continuing without it', { resource: plural, group, error });
      return refusal;
    }
    if (shared.refusals > 0) logger.debug('resource cannot be read, retrying', { resource: plural, group, error });
    else if (!signal.aborted) {
      onFailure?.(error);
      logger.warn('cannot reach the API server', { resource: plural, error });
    }
    return 'unknown';
  }
};

/** Makes the informer the one that is read; handlers hear of all that is there, and of what was there before and is not. */
const adopt = <T extends KubernetesObject>(shared: Shared<T>, informer: Informer<T>): void => {
  const before = shared.informer?.store.list() ?? [];
  shared.informer = informer;
  for (const last of before) {
    const gone = informer.store.get({ name: '', ...last.metadata }) === undefined;
    if (gone) shared.changeHandlers.forEach((handler) => handler(last, last, true));
  }
  informer.addHandlers({
    onUpsert(object, previous) {
      // Drops the record of a write that the cache has caught up with.
      shared.recent.freshest(storeKeyOfObject(object), object);
      shared.changeHandlers.forEach((handler) => handler(object, previous, false));
    },
    onDelete(last) {
      shared.recent.forget(storeKeyOfObject(last));
      shared.changeHandlers.forEach((handler) => handler(last, last, true));
    },
  });
  if (informer.hasSynced) enter(shared, 'synced');
};

/** Follows the resource until the signal aborts or the resource is no longer served. */
const follow = async <T extends KubernetesObject>(
  options: CacheOptions<T>,
  shared: Shared<T>,
  signal: AbortSignal,
): Promise<void> => {
  const gone = new AbortController();
  const inner = AbortSignal.any([signal, gone.signal]);
  const informer = createInformer<T>({
    ...options,
    ...(shared.informer === undefined ? {} : { previous: shared.informer.store }),
    onFailure(error) {
      options.onFailure?.(error);
      if (isNotFound(error)) gone.abort();
    },
  });
  const first = shared.informer === undefined;
  if (first) adopt(shared, informer);
  informer.waitForSync(inner).then(
    () => (first ? enter(shared, 'synced') : adopt(shared, informer)),
    () => undefined,
  );
  await informer.run(inner);
  // What a 404 ended stays readable until the next probes have said the same.
  if (shared.informer?.hasSynced !== true) shared.informer = undefined;
};

const runCache = async <T extends KubernetesObject>(
  options: CacheOptions<T>,
  shared: Shared<T>,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    const answer = await probe(options, shared, signal);
    if (answer === 'served') await follow(options, shared, signal);
    const without = answer === 'absent' || answer === 'refused';
    if (without) {
      shared.informer = undefined;
      enter(shared, answer);
    }
    const wait = without ? PROBE_INTERVAL_MS : RETRY_INTERVAL_MS;
    await sleep(options.clock, wait, signal).catch(() => undefined);
  }
};

export const createCache = <T extends KubernetesObject>(options: CacheOptions<T>): Cache<T> => {
  const shared: Shared<T> = {
    state: 'pending',
    informer: undefined,
    refusals: 0,
    changeHandlers: [],
    recent: createRecentWrites<T>(),
    settled: createBell(),
  };
  const freshest = (cached: T): T => shared.recent.freshest(storeKeyOfObject(cached), cached);
  return {
    resource: options.resource,
    get state() {
      return shared.state;
    },
    get(ref) {
      const cached = shared.informer?.store.get(ref);
      return cached === undefined ? undefined : freshest(cached);
    },
    list: () => shared.informer?.store.list().map(freshest) ?? [],
    byIndex: (index, value) => shared.informer?.store.byIndex(index, value).map(freshest) ?? [],
    onChange(handler, { replay = false } = {}) {
      shared.changeHandlers.push(handler);
      if (replay) for (const object of shared.informer?.store.list() ?? []) handler(object, undefined, false);
    },
    beginWrite(ref) {
      const before = shared.informer?.store.get(ref);
      return (answer) => {
        // What is not cached yet comes with the watch.
        if (before === undefined) return;
        // The answer is an object of this resource, as lists and watches bring them.
        shared.recent.remember(storeKeyOf(ref), options.transform(answer as T), before.metadata?.resourceVersion);
      };
    },
    stalenessMs: () => shared.informer?.stalenessMs() ?? 0,
    async settled(signal) {
      while (shared.state === 'pending') {
        signal.throwIfAborted();
        await aborted(AbortSignal.any([signal, shared.settled.next()]));
      }
    },
    run: (signal) => runCache(options, shared, signal),
  };
};
