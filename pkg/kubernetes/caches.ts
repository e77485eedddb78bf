// The caches of one process: opened with what they share, run together, and waited for before anything is decided from them.
import type { KubernetesObject } from '../apis/meta.ts';
import type { Resource } from '../apis/resources.ts';
import { type Cache, type CacheOptions, createCache } from './cache.ts';
import { within } from './wait.ts';

export interface CacheSettings<T extends KubernetesObject> extends Pick<
  CacheOptions<T>,
  'transform' | 'selection' | 'indexers' | 'pageSize'
> {
  /** Of another cluster, whose outage is not this process': neither readiness nor liveness ask it. Default: the process' own. */
  client?: CacheOptions<T>['client'];
  /** How long work waits for it at most, milliseconds. Default: until it is listed or known to be absent. */
  patienceMs?: number;
}

/** Opens a cache; it is filled once the set runs. */
export type OpenCache = <T extends KubernetesObject>(resource: Resource, settings: CacheSettings<T>) => Cache<T>;

type AnyCache = Cache<never>;

type CachesOptions = Pick<CacheOptions<never>, 'client' | 'clock' | 'random' | 'logger' | 'onFailure'>;

export const createCaches = (options: CachesOptions) => {
  const { clock, logger } = options;
  const own: AnyCache[] = [];
  const waits: ((signal: AbortSignal) => Promise<void>)[] = [];
  const runs: ((signal: AbortSignal) => Promise<void>)[] = [];

  /** Resolves when the cache is filled; with a patience, then at the latest. */
  const waitFor = async (cache: AnyCache, patienceMs: number | undefined, signal: AbortSignal): Promise<void> => {
    if (patienceMs === undefined) return cache.settled(signal);
    await within(cache.settled(signal), patienceMs, clock);
    const { resource, state } = cache;
    if (cache.list().length === 0)
      logger.warn('resource cannot be read, going on without it until it can be', { resource: resource.plural, state });
    return undefined;
  };

  return {
    open<T extends KubernetesObject>(resource: Resource, settings: CacheSettings<T>): Cache<T> {
      const { patienceMs, client, ...rest } = settings;
      const cache = createCache<T>({ ...options, ...rest, client: client ?? options.client, resource });
      // Whatever its objects: they are not read through this list.
      const any = cache as unknown as AnyCache;
      if (client === undefined) own.push(any);
      waits.push((signal) => waitFor(any, patienceMs, signal));
      runs.push((signal) => cache.run(signal));
      return cache;
    },
    /** All of the process' own cluster: the process is not ready without them. */
    own,
    /** Resolves once every cache that work waits for is filled, known to be absent, or out of patience. */
    settled: async (signal: AbortSignal): Promise<void> => void (await Promise.all(waits.map((wait) => wait(signal)))),
    run: async (signal: AbortSignal): Promise<void> => void (await Promise.all(runs.map((run) => run(signal)))),
  };
};
