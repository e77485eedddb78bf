// The indexed cache behind an informer.
// Applies lists and watch events to an informer's store and passes changes, and only those, to the handlers.
// Remembers what the API server answered to our own writes until the cache has caught up, so that nothing is written twice.
import { defined } from '../apis/values.ts';
import type { KubernetesObject, ObjectRef } from '../apis/meta.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Indexers, InformerHandlers, Store, WatchEvent } from './types.ts';

/** The informer's side of a store. */
interface WritableStore<T extends KubernetesObject> extends Store<T> {
  /** Puts an object in; returns what was there before. */
  set(object: T): T | undefined;
  /** Takes an object out; returns what was there. */
  remove(key: string): T | undefined;
  /** Keys of all objects, as `keyOf` builds them. */
  keys(): string[];
}

interface StoreOptions<T extends KubernetesObject> {
  indexers?: Indexers<T>;
  /** An indexer threw: the object is kept, but not found under that index. */
  onIndexError?: (index: string, object: T, error: unknown) => void;
}

/** `namespace/name`, or `name` for cluster-scoped objects. Neither part can hold a slash. */
export const storeKeyOf = ({ namespace, name }: ObjectRef): string =>
  namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;

export const storeKeyOfObject = ({ metadata }: KubernetesObject): string =>
  storeKeyOf({
    name: metadata?.name ?? '',
    ...defined({ namespace: metadata?.namespace }),
  });

/** One index: from value to the objects under it, and from object to its values, so that removal needs no indexer call. */
interface Index<T> {
  readonly byValue: Map<string, Map<string, T>>;
  readonly valuesOf: Map<string, readonly string[]>;
}

const unindex = <T>({ byValue, valuesOf }: Index<T>, key: string): void => {
  for (const value of valuesOf.get(key) ?? []) {
    const bucket = byValue.get(value);
    bucket?.delete(key);
    if (bucket?.size === 0) byValue.delete(value);
  }
  valuesOf.delete(key);
};

const addToIndex = <T>({ byValue, valuesOf }: Index<T>, key: string, object: T, values: readonly string[]): void => {
  if (values.length === 0) return;
  valuesOf.set(key, values);
  for (const value of values) {
    const bucket = byValue.get(value);
    if (bucket === undefined) byValue.set(value, new Map([[key, object]]));
    else bucket.set(key, object);
  }
};

export const createStore = <T extends KubernetesObject>(options: StoreOptions<T> = {}): WritableStore<T> => {
  const { indexers = {}, onIndexError } = options;
  const objects = new Map<string, T>();
  const indexes = new Map<string, Index<T>>(
    Object.keys(indexers).map((name) => [name, { byValue: new Map(), valuesOf: new Map() }]),
  );

  const valuesFor = (name: string, object: T): readonly string[] => {
    try {
      return indexers[name]?.(object) ?? [];
    } catch (error) {
      onIndexError?.(name, object, error);
      return [];
    }
  };

  return {
    get: (ref) => objects.get(storeKeyOf(ref)),
    list: () => [...objects.values()],
    keys: () => [...objects.keys()],
    byIndex(name, value) {
      const found = indexes.get(name);
      if (found === undefined) throw new TypeError(`no index "${name}"; there are: ${[...indexes.keys()].join(', ')}`);
      return [...(found.byValue.get(value)?.values() ?? [])];
    },
    get size() {
      return objects.size;
    },
    set(object) {
      const key = storeKeyOfObject(object);
      const previous = objects.get(key);
      objects.set(key, object);
      for (const [name, entry] of indexes) {
        unindex(entry, key);
        addToIndex(entry, key, object, valuesFor(name, object));
      }
      return previous;
    },
    remove(key) {
      const previous = objects.get(key);
      objects.delete(key);
      for (const entry of indexes.values()) unindex(entry, key);
      return previous;
    },
  };
};

/** Versions are opaque: equal or different is all that may be asked. An object without one counts as changed. */
const unchanged = (previous: KubernetesObject | undefined, next: KubernetesObject): boolean =>
  previous?.metadata?.resourceVersion !== undefined &&
  previous.metadata.resourceVersion === next.metadata?.resourceVersion;

export const createInformerCache = <T extends KubernetesObject>({
  indexers,
  transform,
  logger,
  previous: before,
}: {
  indexers: Indexers<T>;
  transform: (object: T) => T;
  logger: Logger;
  /** What the first list is compared with. */
  previous?: Pick<Store<T>, 'list'> | undefined;
}) => {
  const handlers: Array<InformerHandlers<T>> = [];

  const report = (what: string, object: T, error: unknown): void => {
    logger.error(`${what} threw`, { object: storeKeyOfObject(object), error });
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
    /** One list in the making: objects not seen by its end are gone from the server. */
    beginList() {
      const known = store.size === 0 ? (before?.list() ?? []).map(storeKeyOfObject) : store.keys();
      const seen = new Set<string>();
      return {
        add(items: readonly T[]): void {
          for (const item of items) {
            seen.add(storeKeyOfObject(item));
            upsert(item);
          }
        },
        /** More than half of what is cached was not seen. */
        lacksMost: (): boolean => known.filter((key) => !seen.has(key)).length * 2 > known.length,
        complete(): void {
          for (const key of store.keys()) if (!seen.has(key)) remove(key);
        },
      };
    },
    apply({ type, object }: Exclude<WatchEvent<T>, { type: 'BOOKMARK' }>): void {
      if (type === 'DELETED') remove(storeKeyOfObject(object), object);
      else upsert(object);
    },
    addHandlers(added: InformerHandlers<T>): void {
      handlers.push(added);
      // Late handlers get what is already there, so that the order of set-up does not matter.
      for (const object of store.list()) guarded('upsert handler', object, () => added.onUpsert?.(object, undefined));
    },
  };
};

export type InformerCache<T extends KubernetesObject> = ReturnType<typeof createInformerCache<T>>;

const asNumber = (version: string | undefined): bigint | undefined =>
  version !== undefined && /^\d+$/.test(version) ? BigInt(version) : undefined;

/**
 * resourceVersions are ordered numbers (KEP-5504); where they are not, any change counts as caught up. A write that changed
 * nothing shows that the cache was wrong about this very version, as when a CRD prunes a field for a while: only
 * another version is better than its answer.
 */
const caughtUp = (cached: string | undefined, written: string | undefined, before: string | undefined): boolean => {
  if (written === before) return cached !== written;
  const [cachedNumber, writtenNumber] = [asNumber(cached), asNumber(written)];
  if (cachedNumber !== undefined && writtenNumber !== undefined) return cachedNumber >= writtenNumber;
  return cached !== before;
};

export const createRecentWrites = <T extends KubernetesObject>() => {
  const writes = new Map<string, { answer: T; before: string | undefined }>();
  return {
    /** Remembers the answer to a write; `before` is the resourceVersion that the cache held then. */
    remember: (key: string, answer: T, before: string | undefined): void => void writes.set(key, { answer, before }),
    /** The newer of the cached object and our own last write. */
    freshest(key: string, cached: T): T {
      const write = writes.get(key);
      if (write === undefined) return cached;
      const { answer, before } = write;
      // A new object under the old name is never our write.
      const replaced = cached.metadata?.uid !== answer.metadata?.uid;
      if (!replaced && !caughtUp(cached.metadata?.resourceVersion, answer.metadata?.resourceVersion, before))
        return answer;
      writes.delete(key);
      return cached;
    },
    forget: (key: string): void => void writes.delete(key),
    get size(): number {
      return writes.size;
    },
  };
};

export type RecentWrites<T extends KubernetesObject> = ReturnType<typeof createRecentWrites<T>>;
