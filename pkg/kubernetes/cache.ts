// A cache of one resource that may not exist yet: it says so, goes on without, and fills once the resource is served.
import type { KubernetesObject, ObjectRef } from '../apis/meta.ts';
import { isForbidden, isNotFound } from './errors.ts';
import { type InformerOptions, createInformer } from './informer.ts';
import { createRecentWrites, dropManagedFields, storeKeyOf, storeKeyOfObject } from './store.ts';
import { aborted, createBell, pause } from './wait.ts';
import type { Uses } from './types.ts';

export interface CacheOptions<T extends KubernetesObject>
  extends Omit<InformerOptions<T>, 'client' | 'onUpsert' | 'onDelete'>, Uses<'client', 'list' | 'pages' | 'watch'> {}

/** `absent`: the API server does not serve the resource. `refused`: we may not read it, so that nothing is known of what is there. */
type CacheState = 'pending' | 'absent' | 'refused' | 'synced';

/** Called for every object that came, changed (`previous` is what was cached) or went. */
export type ChangeHandler<T> = (object: T, previous: T | undefined, deleted: boolean) => void;

/** While the resource is not served, this is how often it is looked for. */
const PROBE_INTERVAL_MS = 60_000;
const RETRY_INTERVAL_MS = 2_000;
/**
 * An API server that has just started refuses everything until it has read the roles, and a proxy may say 404 for a moment: so many
 * refusals in a row are meant. A resource that was never there may be absent at once.
 */
const REFUSALS_MEANT = 5;

/** Every API server serves what is read of these: a 404 comes from something else that answers in its place. */
const ALWAYS_SERVED: ReadonlySet<string> = new Set(['', 'apps', 'apiextensions.k8s.io', 'discovery.k8s.io']);

/** What an error says about the resource; undefined: nothing. What is known of one that may no longer be read stays the best there is. */
const refusalOf = (error: unknown, group: string, known: boolean): 'absent' | 'refused' | undefined => {
  if (isNotFound(error)) return ALWAYS_SERVED.has(group) ? undefined : 'absent';
  return isForbidden(error) && !known ? 'refused' : undefined;
};

/**
 * Reads give the freshest known objects: what the API server answered to a write of this process stands until the cache has
 * caught up with it. Objects are shared: treat them as frozen.
 */
export const createCache = <T extends KubernetesObject>(options: CacheOptions<T>) => {
  const { client, resource, selection = {}, transform = dropManagedFields, clock, logger, onFailure } = options;
  const { plural, group } = resource;
  const changeHandlers: ChangeHandler<T>[] = [];
  const recent = createRecentWrites<T>();
  const settled = createBell();
  let state: CacheState = 'pending';
  /** Probes in a row that were answered 403 or 404. */
  let refusals = 0;
  let gone = new AbortController();

  const informer = createInformer<T>({
    ...options,
    transform,
    onUpsert(object, previous) {
      // Drops the record of a write that the cache has caught up with.
      recent.freshest(storeKeyOfObject(object), object);
      for (const handler of changeHandlers) handler(object, previous, false);
    },
    onDelete(last) {
      recent.forget(storeKeyOfObject(last));
      for (const handler of changeHandlers) handler(last, last, true);
    },
    onFailure(error) {
      onFailure?.(error);
      if (isNotFound(error)) gone.abort();
    },
  });
  const freshest = (cached: T): T => recent.freshest(storeKeyOfObject(cached), cached);

  const enter = (next: CacheState): void => {
    if (state === next) return;
    state = next;
    settled.ring();
  };

  /** Asks once whether the resource is served and may be read. */
  const probe = async (signal: AbortSignal): Promise<'served' | 'absent' | 'refused' | 'unknown'> => {
    try {
      await client.list(resource, { ...selection, limit: 1 }, signal);
      refusals = 0;
      return 'served';
    } catch (error) {
      const known = informer.hasSynced;
      const refusal = refusalOf(error, group, known);
      refusals = refusal === undefined ? 0 : refusals + 1;
      if (refusal !== undefined && ((refusal === 'absent' && !known) || refusals >= REFUSALS_MEANT)) {
        if (state !== refusal)
          logger.warn('resource cannot be read, continuing without it', { resource: plural, group, error });
        return refusal;
      }
      if (refusals > 0) logger.debug('resource cannot be read, retrying', { resource: plural, group, error });
      else if (!signal.aborted) {
        onFailure?.(error);
        logger.warn('cannot reach the API server', { resource: plural, error });
      }
      return 'unknown';
    }
  };

  /** Follows the resource until the signal aborts or the resource is no longer served. */
  const follow = async (signal: AbortSignal): Promise<void> => {
    gone = new AbortController();
    const inner = AbortSignal.any([signal, gone.signal]);
    informer.waitForSync(inner).then(
      () => enter('synced'),
      () => undefined,
    );
    await informer.run(inner);
    // What a 404 ended stays readable until the next probes have said the same.
    if (!informer.hasSynced) informer.forget();
  };

  return {
    resource,
    get state(): CacheState {
      return state;
    },
    get(ref: ObjectRef): T | undefined {
      const cached = informer.store.get(ref);
      return cached === undefined ? undefined : freshest(cached);
    },
    list: (): T[] => informer.store.list().map(freshest),
    byIndex: (index: string, value: string): T[] => informer.store.byIndex(index, value).map(freshest),
    /** `replay`: also calls back at once for every object that is there. */
    onChange(handler: ChangeHandler<T>, { replay = false }: { readonly replay?: boolean } = {}): void {
      changeHandlers.push(handler);
      if (replay) for (const object of informer.store.list()) handler(object, undefined, false);
    },
    /**
     * A write of the object begins; returns what takes the API server's answer, as it came. Callers that write through a manager's
     * client need not call it.
     */
    beginWrite(ref: ObjectRef): (answer: KubernetesObject) => void {
      const before = informer.store.get(ref);
      return (answer) => {
        // What is not cached yet comes with the watch.
        if (before === undefined) return;
        // The answer is an object of this resource, as lists and watches bring them.
        recent.remember(storeKeyOf(ref), transform(answer as T), before.metadata?.resourceVersion);
      };
    },
    /** Milliseconds since the cache was proved current; 0 while there is nothing to be current about. */
    stalenessMs: () => informer.stalenessMs(),
    /** Resolves once the resource is listed, or known not to be readable. */
    async settled(signal: AbortSignal): Promise<void> {
      while (state === 'pending') {
        signal.throwIfAborted();
        await aborted(AbortSignal.any([signal, settled.next()]));
      }
    },
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const answer = await probe(signal);
        if (answer === 'served') await follow(signal);
        const without = answer === 'absent' || answer === 'refused';
        if (without) {
          informer.forget();
          enter(answer);
        }
        await pause(clock, without ? PROBE_INTERVAL_MS : RETRY_INTERVAL_MS, signal);
      }
    },
  };
};

export type Cache<T extends KubernetesObject> = ReturnType<typeof createCache<T>>;
