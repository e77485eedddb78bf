// Keeps a cache of one resource equal to the server: list, watch, and recovery from everything that goes wrong between.
import { defined } from '../apis/values.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import type { Resource } from '../apis/resources.ts';
import type { Logger } from '../telemetry/log.ts';
import { invalidAnswer } from './request.ts';
import { ApiError, ConnectionError, isGone, isTooManyRequests } from './errors.ts';
import { type InformerCache, createInformerCache } from './store.ts';
import { aborted, sleep } from './wait.ts';
import type { Client, Clock, Indexers, InformerHandlers, Selection, Store } from './types.ts';

/** The first wait before jitter, and the longest one: the values of client-go's reflector. */
const [BASE_DELAY_MS, MAX_DELAY_MS] = [800, 30_000];

/**
 * The most of a server's wish that is followed, before jitter. A cache that waits is blind, also after the server has recovered; and a
 * wrong clock may make any date of it.
 */
const MAX_RETRY_AFTER_MS = 30_000;

/**
 * Milliseconds to wait: doubled with each failure, and up to doubled again by jitter.
 *
 * @param failures - Failures in a row, this one included: 1 or more.
 * @param retryAfterMs - What the server asked for; not undercut up to half a minute.
 */
export const informerDelay = (failures: number, random: () => number, retryAfterMs = 0): number =>
  Math.max(Math.min(BASE_DELAY_MS * 2 ** (failures - 1), MAX_DELAY_MS), Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)) *
  (1 + random());

/**
 * Why everything is listed. `Initial`: the loop started. `Gone`: the server no longer has the version (410).
 * `Silent`: several watches in a row ended without a single event, which some servers do instead of answering 410.
 */
export type RelistReason = 'Initial' | 'Gone' | 'Silent';

export interface InformerOptions<T extends KubernetesObject> {
  client: Pick<Client, 'pages' | 'watch'>;
  resource: Resource;
  selection?: Selection;
  /**
   * Shrinks an object before it is cached; may change it in place. Must keep metadata name, namespace and
   * resourceVersion. Default `dropManagedFields`, which more than halves a cached object; a transform of your own
   * replaces it.
   */
  transform?: (object: T) => T;
  indexers?: Indexers<T>;
  clock: Clock;
  /** In [0, 1): jitter of the back-off. */
  random: () => number;
  logger: Logger;
  /** Objects per page of a list; default 500. */
  pageSize?: number;
  /** What was cached of the resource before this informer: a first list that lacks most of it is asked for again as well. */
  previous?: Pick<Store<T>, 'list'>;
  /** Called when a list begins, for metrics. */
  onRelist?: (reason: RelistReason) => void;
  /** Called when a list or watch failed, for metrics; the informer recovers by itself. */
  onFailure?: (error: unknown) => void;
}

/** The default transform: server-side bookkeeping that no reader here needs. */
export const dropManagedFields = <T extends KubernetesObject>(object: T): T => {
  delete object.metadata?.managedFields;
  return object;
};

const MAX_SILENT_WATCHES = 3;
// client-go's "very short watch": a server that ends watches this fast must not be asked in a tight loop.
const SHORT_WATCH_MS = 1_000;
// A watch that held this long shows that the server recovered; what follows is a new failure, not the next of a row.
const HEALTHY_WATCH_MS = 60_000;

// client-go's reflector begins its back-off anew after two minutes. Until then a server that says 410 again and again, with events or
// without, is asked less and less often: each time everything is listed.
const GONE_MEMORY_MS = 120_000;
// Between a list that lacks most of what was known and the one that decides: another API server, or the same once it has its wits together.
const SECOND_LIST_MS = 1_000;

/** Failures that say nothing about our version: listing would only add load to a server that has enough of it. */
const isOutage = (error: unknown): boolean =>
  error instanceof ApiError
    ? error.status >= 500 || isTooManyRequests(error)
    : error instanceof ConnectionError && error.reason !== 'Cut' && error.reason !== 'InvalidResponse';

/** What survives from one turn of the loop to the next. */
interface Progress {
  relist: RelistReason | undefined;
  version: string | undefined;
  /** In a row. */
  failures: number;
  /** Watches in a row that ended without an event. */
  silent: number;
  /** Monotonic milliseconds; undefined before the first run. */
  provenAt: number | undefined;
  /** When the server last said 410, monotonic milliseconds. */
  goneAt: number | undefined;
  /** The last list lacked most of what is cached: the next one is believed. */
  doubted: boolean;
}

/** Returns what lists if that is due, then watches until the watch ends, and says how long to wait, milliseconds. */
const createTurns = <T extends KubernetesObject>(
  options: InformerOptions<T>,
  cache: InformerCache<T>,
  progress: Progress,
  synced: () => void,
): ((signal: AbortSignal) => Promise<number>) => {
  const { client, resource, selection = {}, clock, random, logger, pageSize } = options;
  const prove = (): void => void (progress.provenAt = clock.monotonic());

  const goneLately = (): boolean =>
    progress.goneAt !== undefined && clock.monotonic() - progress.goneAt < GONE_MEMORY_MS;
  const recovered = (): void => {
    if (!goneLately()) progress.failures = 0;
  };

  const readAll = async (round: ReturnType<InformerCache<T>['beginList']>, signal: AbortSignal): Promise<string> => {
    const limit = defined({ limit: pageSize });
    const newConnection = progress.doubted ? { newConnection: true } : {};
    let version = '';
    for await (const page of client.pages<T>(resource, { ...selection, ...limit, ...newConnection }, signal)) {
      version = page.metadata.resourceVersion ?? '';
      // Without a version nothing can be watched from here; aggregated servers without watches answer so.
      if (version === '') throw invalidAnswer({ method: 'GET', path: resource.plural }, 'the list has no version');
      round.add(page.items);
    }
    return version;
  };

  /** Returns how long to wait before everything is listed again; undefined: the list is believed. */
  const list = async (reason: RelistReason, signal: AbortSignal): Promise<number | undefined> => {
    options.onRelist?.(reason);
    const round = cache.beginList();
    const version = await readAll(round, signal);
    if (round.lacksMost() && !progress.doubted) {
      progress.doubted = true;
      logger.warn('the list lacks most known objects, listing again before it is trusted', { reason });
      return SECOND_LIST_MS;
    }
    round.complete();
    progress.doubted = false;
    progress.version = version;
    progress.relist = undefined;
    progress.silent = 0;
    prove();
    synced();
    logger.debug('listed', { reason, objects: cache.store.size });
    return undefined;
  };

  const follow = async (seen: { events: number }, signal: AbortSignal): Promise<void> => {
    const from = defined({ resourceVersion: progress.version });
    for await (const event of client.watch<T>(resource, { ...selection, ...from, onOpen: prove }, signal)) {
      if (event.type !== 'BOOKMARK') cache.apply(event);
      progress.version = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata?.resourceVersion;
      recovered();
      seen.events += 1;
      prove();
    }
    prove();
  };

  const countSilence = (events: number): void => {
    progress.silent = events > 0 ? 0 : progress.silent + 1;
    if (progress.silent >= MAX_SILENT_WATCHES) progress.relist ??= 'Silent';
  };

  /** Returns how long to wait. A version that is gone is the ordinary way to fall behind: now and then, nothing is won by waiting. */
  const gone = (): number => {
    const again = goneLately();
    progress.relist ??= 'Gone';
    progress.goneAt = clock.monotonic();
    if (!again) progress.failures = 0;
    return again ? informerDelay(progress.failures, random) : 0;
  };

  const failed = (error: unknown): number => {
    progress.failures += 1;
    options.onFailure?.(error);
    logger.warn('list or watch failed', { failures: progress.failures, error });
    if (isGone(error)) return gone();
    const asked = error instanceof ApiError ? error.retryAfterMs : undefined;
    return informerDelay(progress.failures, random, asked);
  };

  const watchOnce = async (signal: AbortSignal): Promise<number> => {
    const seen = { events: 0 };
    const startedAt = clock.monotonic();
    const lasted = (): number => clock.monotonic() - startedAt;
    try {
      await follow(seen, signal);
    } catch (error) {
      if (signal.aborted) return 0;
      if (!isOutage(error)) countSilence(seen.events);
      if (lasted() >= HEALTHY_WATCH_MS) recovered();
      return failed(error);
    }
    countSilence(seen.events);
    if (lasted() >= SHORT_WATCH_MS) {
      recovered();
      return 0;
    }
    progress.failures += 1;
    return informerDelay(progress.failures, random);
  };

  return async (signal) => {
    if (progress.relist !== undefined) {
      try {
        const wait = await list(progress.relist, signal);
        if (wait !== undefined) return wait;
      } catch (error) {
        return signal.aborted ? 0 : failed(error);
      }
    }
    return await watchOnce(signal);
  };
};

/**
 * A cache that follows one resource of one server for as long as it runs. Nothing is requested before `run`.
 *
 * Between two calls of `run` the cache stays as it was; the next call lists anew. A call while one is running joins it.
 */
export const createInformer = <T extends KubernetesObject>(options: InformerOptions<T>) => {
  const { resource, clock } = options;
  const logger = options.logger.child({ informer: resource.plural });
  const cache = createInformerCache<T>({
    indexers: options.indexers ?? {},
    transform: options.transform ?? dropManagedFields,
    logger,
    previous: options.previous,
  });
  const synced = new AbortController();
  const progress: Progress = {
    relist: undefined,
    version: undefined,
    failures: 0,
    silent: 0,
    provenAt: undefined,
    goneAt: undefined,
    doubted: false,
  };
  const next = createTurns({ ...options, logger }, cache, progress, () => synced.abort());
  let running: Promise<void> | undefined;

  const loop = async (signal: AbortSignal): Promise<void> => {
    progress.provenAt ??= clock.monotonic();
    progress.relist = 'Initial';
    while (!signal.aborted) {
      const wait = await next(signal);
      if (wait > 0) await sleep(clock, wait, signal).catch(() => undefined);
    }
  };

  return {
    resource,
    store: cache.store as Store<T>,
    /** True once the first list is complete; stays true. */
    get hasSynced(): boolean {
      return synced.signal.aborted;
    },
    /** Milliseconds (monotonic) since the server last proved the cache current (list, event, bookmark or open watch answered). */
    stalenessMs: (): number => (progress.provenAt === undefined ? 0 : clock.monotonic() - progress.provenAt),
    addHandlers: (handlers: InformerHandlers<T>): void => cache.addHandlers(handlers),
    /** Resolves when synced; rejects with the signal's reason. */
    async waitForSync(signal: AbortSignal): Promise<void> {
      if (!synced.signal.aborted) await aborted(AbortSignal.any([signal, synced.signal]));
      if (!synced.signal.aborted) signal.throwIfAborted();
    },
    /** Lists, watches and recovers until the signal aborts; resolves then, and rejects never. */
    run(signal: AbortSignal): Promise<void> {
      running ??= loop(signal).finally(() => (running = undefined));
      return running;
    },
  };
};

export type Informer<T extends KubernetesObject> = ReturnType<typeof createInformer<T>>;
