// The indexed cache behind an informer, and the answers to our own writes until it has caught up with them.
import { keptIn, scopedRefOf } from '../apis/values.ts';
import type { KubernetesObject, ObjectRef } from '../apis/meta.ts';
import type { Indexers, Uses, WatchEvent } from './types.ts';

export interface StoreOptions<T extends KubernetesObject> extends Uses<'logger'> {
  /** One that throws is logged; the object is kept, but not found under that index. */
  indexers?: Indexers<T>;
  /**
   * Shrinks an object before it is cached; may change it in place. Must keep metadata name, namespace and resourceVersion. Default:
   * drops `managedFields`, which more than halves a cached object.
   */
  transform?: (object: T) => T;
  /** A new object, or a changed one with what the cache held before. What a handler throws is logged. */
  onUpsert?: (object: T, previous: T | undefined) => void;
  onDelete?: (last: T) => void;
}

/** `namespace/name`, or `name` for cluster-scoped objects. Neither part can hold a slash. */
export const storeKeyOf = ({ namespace, name }: ObjectRef): string =>
  namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;

export const storeKeyOfObject = (object: KubernetesObject): string => storeKeyOf(scopedRefOf(object));

/** The default transform: server-side bookkeeping that no reader here needs. */
export const dropManagedFields = <T extends KubernetesObject>(object: T): T => {
  delete object.metadata?.managedFields;
  return object;
};

/** Versions are opaque: equal or different is all that may be asked. An object without one counts as changed. */
const unchanged = (previous: KubernetesObject | undefined, next: KubernetesObject): boolean =>
  previous?.metadata?.resourceVersion !== undefined &&
  previous.metadata.resourceVersion === next.metadata?.resourceVersion;

/** Objects of one index, by value and key. */
type Index<T> = Map<string, Map<string, T>>;

export const createStore = <T extends KubernetesObject>(options: StoreOptions<T>) => {
  const { indexers = {}, transform = dropManagedFields, onUpsert, onDelete, logger } = options;
  const objects = new Map<string, T>();
  const indexes = new Map<string, Index<T>>(Object.keys(indexers).map((name) => [name, new Map()]));
  /** Where each object is indexed, so that removal needs no indexer. */
  const places = new Map<string, (readonly [index: Index<T>, value: string])[]>();

  const guarded = <R>(what: string, object: T, call: () => R): R | undefined => {
    try {
      return call();
    } catch (error) {
      logger.error(`${what} threw`, { object: storeKeyOfObject(object), error });
      return undefined;
    }
  };
  // A cache with an object too large beats a cache without the object.
  const transformed = (object: T): T => guarded('transform', object, () => transform(object)) ?? object;

  const unindex = (key: string): void => {
    for (const [index, value] of places.get(key) ?? []) {
      const bucket = index.get(value);
      bucket?.delete(key);
      if (bucket?.size === 0) index.delete(value);
    }
    places.delete(key);
  };
  const reindex = (key: string, object: T): void => {
    unindex(key);
    const found: (readonly [Index<T>, string])[] = [];
    for (const [name, index] of indexes) {
      for (const value of guarded(`index "${name}"`, object, () => indexers[name]?.(object)) ?? []) {
        found.push([index, value]);
        keptIn(index, value, () => new Map<string, T>()).set(key, object);
      }
    }
    if (found.length > 0) places.set(key, found);
  };

  const upsert = (received: T): void => {
    const key = storeKeyOfObject(received);
    const previous = objects.get(key);
    if (unchanged(previous, received)) return;
    const object = transformed(received);
    objects.set(key, object);
    reindex(key, object);
    guarded('upsert handler', object, () => onUpsert?.(object, previous));
  };
  const remove = (key: string, last?: T): void => {
    const previous = objects.get(key);
    if (previous === undefined) return;
    objects.delete(key);
    unindex(key);
    // The event carries the object's final state; a list only says that it is gone.
    const object = last === undefined ? previous : transformed(last);
    guarded('delete handler', object, () => onDelete?.(object));
  };

  return {
    get: (ref: ObjectRef): T | undefined => objects.get(storeKeyOf(ref)),
    list: (): T[] => [...objects.values()],
    byIndex(name: string, value: string): T[] {
      const index = indexes.get(name);
      if (index === undefined) throw new TypeError(`no index "${name}"; there are: ${[...indexes.keys()].join(', ')}`);
      return [...(index.get(value)?.values() ?? [])];
    },
    size: () => objects.size,
    /** One list in the making: objects not seen by its end are gone from the server. */
    beginList() {
      const known = [...objects.keys()];
      const seen = new Set<string>();
      return {
        add(items: readonly T[]): void {
          for (const item of items) {
            seen.add(storeKeyOfObject(item));
            upsert(item);
          }
        },
        /** More than half of what was cached was not seen. */
        lacksMost: (): boolean => known.filter((key) => !seen.has(key)).length * 2 > known.length,
        complete(): void {
          for (const key of objects.keys()) if (!seen.has(key)) remove(key);
        },
      };
    },
    apply({ type, object }: Exclude<WatchEvent<T>, { type: 'BOOKMARK' }>): void {
      if (type === 'DELETED') remove(storeKeyOfObject(object), object);
      else upsert(object);
    },
    /** Forgets everything; no handler is called. */
    clear(): void {
      for (const held of [objects, places, ...indexes.values()]) held.clear();
    },
  };
};

export type Store<T extends KubernetesObject> = ReturnType<typeof createStore<T>>;

const asNumber = (version: string | undefined): bigint | undefined =>
  version !== undefined && /^\d+$/.test(version) ? BigInt(version) : undefined;

/**
 * resourceVersions are ordered numbers (KEP-5504); where they are not, any change counts as caught up. A write that changed nothing shows that the
 * cache was wrong about this very version, as when a CRD prunes a field for a while: only another version is better than its answer.
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
  };
};
