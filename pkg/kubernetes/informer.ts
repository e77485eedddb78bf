// Keeps a cache of one resource equal to the server: list, watch, and recovery from everything that goes wrong between.
import { defined } from '../apis/values.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import type { Resource } from '../apis/resources.ts';
import { invalidAnswer } from './request.ts';
import { ApiError, ConnectionError, isGone, isTooManyRequests } from './errors.ts';
import { type Store, type StoreOptions, createStore } from './store.ts';
import { aborted, pause } from './wait.ts';
import type { Selection, Uses } from './types.ts';
import type { HealthCheck } from '../telemetry/log.ts';

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
type RelistReason = 'Initial' | 'Gone' | 'Silent';

export interface InformerOptions<T extends KubernetesObject>
  extends StoreOptions<T>, Uses<'client' | 'clock' | 'random', 'pages' | 'watch'> {
  resource: Resource;
  selection?: Selection;
  /** Objects per page of a list; default 500. */
  pageSize?: number;
  /** Called when a list or watch failed, for metrics; the informer recovers by itself. */
  onFailure?: (error: unknown) => void;
}

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

/**
 * A cache that follows one resource of one server for as long as it runs. Nothing is requested before `run`.
 *
 * Between two calls of `run` the cache stays as it was; the next call lists anew. A call while one is running joins it.
 */
export const createInformer = <T extends KubernetesObject>(options: InformerOptions<T>) => {
  const { client, resource, selection = {}, clock, random, pageSize } = options;
  const logger = options.logger.child({ informer: resource.plural });
  const store = createStore<T>({ ...options, logger });
  let synced = new AbortController();
  let running: Promise<void> | undefined;
  let relist: RelistReason | undefined;
  let version: string | undefined;
  let failures = 0;
  /** Watches in a row that ended without an event. */
  let silent = 0;
  /** Monotonic milliseconds; undefined before the first run. */
  let provenAt: number | undefined;
  /** When the server last said 410, monotonic milliseconds. */
  let goneAt = -Infinity;
  /** The last list lacked most of what is cached: the next one is believed. */
  let doubted = false;

  const prove = (): void => void (provenAt = clock.monotonic());
  const goneLately = (): boolean => clock.monotonic() - goneAt < GONE_MEMORY_MS;
  const recovered = (): void => {
    if (!goneLately()) failures = 0;
  };

  const readAll = async (round: ReturnType<Store<T>['beginList']>, signal: AbortSignal): Promise<string> => {
    const how = defined({ limit: pageSize, newConnection: doubted ? true : undefined });
    let last = '';
    for await (const page of client.pages<T>(resource, { ...selection, ...how }, signal)) {
      last = page.metadata.resourceVersion ?? '';
      // Without a version nothing can be watched from here; aggregated servers without watches answer so.
      if (last === '') throw invalidAnswer({ method: 'GET', path: resource.plural }, 'the list has no version');
      round.add(page.items);
    }
    return last;
  };

  /** Returns how long to wait before everything is listed again; undefined: the list is believed. */
  const list = async (reason: RelistReason, signal: AbortSignal): Promise<number | undefined> => {
    const round = store.beginList();
    const listed = await readAll(round, signal);
    if (round.lacksMost() && !doubted) {
      doubted = true;
      logger.warn('the list lacks most known objects, listing again before it is trusted', { reason });
      return SECOND_LIST_MS;
    }
    round.complete();
    [doubted, version, relist, silent] = [false, listed, undefined, 0];
    prove();
    synced.abort();
    logger.debug('listed', { reason, objects: store.size() });
    return undefined;
  };

  const follow = async (seen: { events: number }, signal: AbortSignal): Promise<void> => {
    const from = defined({ resourceVersion: version });
    for await (const event of client.watch<T>(resource, { ...selection, ...from, onOpen: prove }, signal)) {
      if (event.type !== 'BOOKMARK') store.apply(event);
      version = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata?.resourceVersion;
      recovered();
      seen.events += 1;
      prove();
    }
    prove();
  };

  const countSilence = (events: number): void => {
    silent = events > 0 ? 0 : silent + 1;
    if (silent >= MAX_SILENT_WATCHES) relist ??= 'Silent';
  };

  /** Returns how long to wait. A version that is gone is the ordinary way to fall behind: now and then, nothing is won by waiting. */
  const failed = (error: unknown): number => {
    failures += 1;
    options.onFailure?.(error);
    logger.warn('list or watch failed', { failures, error });
    if (!isGone(error)) return informerDelay(failures, random, error instanceof ApiError ? error.retryAfterMs : 0);
    const again = goneLately();
    relist ??= 'Gone';
    goneAt = clock.monotonic();
    if (!again) failures = 0;
    return again ? informerDelay(failures, random) : 0;
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
    failures += 1;
    return informerDelay(failures, random);
  };

  /** Lists if that is due, then watches until the watch ends; returns how long to wait, milliseconds. */
  const next = async (signal: AbortSignal): Promise<number> => {
    if (relist !== undefined) {
      try {
        const wait = await list(relist, signal);
        if (wait !== undefined) return wait;
      } catch (error) {
        return signal.aborted ? 0 : failed(error);
      }
    }
    return await watchOnce(signal);
  };

  const loop = async (signal: AbortSignal): Promise<void> => {
    provenAt ??= clock.monotonic();
    [relist, failures, silent, goneAt, doubted] = ['Initial', 0, 0, -Infinity, false];
    while (!signal.aborted) {
      const wait = await next(signal);
      if (wait > 0) await pause(clock, wait, signal);
    }
  };

  return {
    resource,
    store: store as Pick<Store<T>, 'get' | 'list' | 'byIndex' | 'size'>,
    /** True once the first list is complete. */
    get hasSynced(): boolean {
      return synced.signal.aborted;
    },
    /** Milliseconds (monotonic) since the server last proved the cache current (list, event, bookmark or open watch answered). */
    stalenessMs: (): number => (provenAt === undefined ? 0 : clock.monotonic() - provenAt),
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
    /** Between two runs: forgets what is cached, as nothing is known to be there any more. No handler is called. */
    forget(): void {
      store.clear();
      provenAt = undefined;
      synced = new AbortController();
    },
  };
};

export type Informer<T extends KubernetesObject> = ReturnType<typeof createInformer<T>>;

/** Fails while some of the resources are still listed for the first time. */
export const listedCheck = (pending: () => readonly { readonly resource: Resource }[]): HealthCheck => ({
  name: 'informer-sync',
  check() {
    const names = pending().map(({ resource }) => resource.plural);
    return names.length === 0 ? undefined : `still listing ${names.join(', ')}`;
  },
});
