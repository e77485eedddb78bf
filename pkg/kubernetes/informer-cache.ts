// Applies lists and watch events to an informer's store and passes changes, and only those, to the handlers.
import type { KubernetesObject } from '../apis/meta.ts';
import type { Logger } from '../telemetry/types.ts';
import { createStore, storeKeyOfObject } from './store.ts';
import type { WritableStore } from './store.ts';
import type { Indexers, InformerHandlers, Store, WatchEvent } from './types.ts';

export interface InformerCacheOptions<T extends KubernetesObject> {
  indexers: Indexers<T>;
  transform: (object: T) => T;
  logger: Logger;
  /** A handler, an indexer or the transform threw. */
  onHandlerError: ((error: unknown) => void) | undefined;
  /** What the first list is compared with. */
  previous: Pick<Store<T>, 'list'> | undefined;
}

/** One list in the making: objects not seen by its end are gone from the server. */
export interface ListRound<T extends KubernetesObject> {
  add(items: readonly T[]): void;
  /** More than half of what is cached was not seen. */
  lacksMost(): boolean;
  complete(): void;
}

export interface InformerCache<T extends KubernetesObject> {
  readonly store: WritableStore<T>;
  beginList(): ListRound<T>;
  apply(event: Exclude<WatchEvent<T>, { type: 'BOOKMARK' }>): void;
  addHandlers(handlers: InformerHandlers<T>): void;
}

/** Versions are opaque: equal or different is all that may be asked. An object without one counts as changed. */
const unchanged = (previous: KubernetesObject | undefined, next: KubernetesObject): boolean =>
  previous?.metadata?.resourceVersion !== undefined &&
  previous.metadata.resourceVersion === next.metadata?.resourceVersion;

export const createInformerCache = <T extends KubernetesObject>(options: InformerCacheOptions<T>): InformerCache<T> => {
  const { indexers, transform, logger, onHandlerError } = options;
  const handlers: Array<InformerHandlers<T>> = [];

  const report = (what: string, object: T, error: unknown): void => {
    logger.error(`${what} threw`, { object: storeKeyOfObject(object), error });
    onHandlerError?.(error);
  };
  const store = createStore<T>({
    indexers,
    onIndexError: (index, object, error) => report(`index "${index}"`, object, error),
  });

  const guarded = (what: string, object: T, call: () => void): void => {
    try {
      call();
    } catch (error) {
      report(what, object, error);
    }
  };
  const transformed = (object: T): T => {
    try {
      return transform(object);
    } catch (error) {
      // A cache with an object too large beats a cache without the object.
      report('transform', object, error);
      return object;
    }
  };

  const upsert = (received: T): void => {
    const previous = store.get({ name: '', ...received.metadata });
    if (unchanged(previous, received)) return;
    const object = transformed(received);
    store.set(object);
    for (const handler of handlers) guarded('upsert handler', object, () => handler.onUpsert?.(object, previous));
  };
  const remove = (key: string, last?: T): void => {
    const previous = store.remove(key);
    if (previous === undefined) return;
    // The event carries the object's final state; a list only says that it is gone.
    const object = last === undefined ? previous : transformed(last);
    for (const handler of handlers) guarded('delete handler', object, () => handler.onDelete?.(object));
  };

  return {
    store,
    beginList() {
      const known = store.size === 0 ? (options.previous?.list() ?? []).map(storeKeyOfObject) : store.keys();
      const seen = new Set<string>();
      return {
        add(items) {
          for (const item of items) {
            seen.add(storeKeyOfObject(item));
            upsert(item);
          }
        },
        lacksMost: () => known.filter((key) => !seen.has(key)).length * 2 > known.length,
        complete() {
          for (const key of store.keys()) if (!seen.has(key)) remove(key);
        },
      };
    },
    apply({ type, object }) {
      if (type === 'DELETED') remove(storeKeyOfObject(object), object);
      else upsert(object);
    },
    addHandlers(added) {
      handlers.push(added);
      // Late handlers get what is already there, so that the order of set-up does not matter.
      for (const object of store.list()) guarded('upsert handler', object, () => added.onUpsert?.(object, undefined));
    },
  };
};
