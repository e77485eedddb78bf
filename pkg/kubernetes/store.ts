// The indexed cache behind an informer.
import { defined } from '../apis/defined.ts';
import type { KubernetesObject, ObjectRef } from '../apis/meta.ts';
import type { Indexers, Store } from './types.ts';

/** The informer's side of a store. */
export interface WritableStore<T extends KubernetesObject> extends Store<T> {
  /** Puts an object in; returns what was there before. */
  set(object: T): T | undefined;
  /** Takes an object out; returns what was there. */
  remove(key: string): T | undefined;
  /** Keys of all objects, as `keyOf` builds them. */
  keys(): string[];
}

export interface StoreOptions<T extends KubernetesObject> {
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

const index = <T>({ byValue, valuesOf }: Index<T>, key: string, object: T, values: readonly string[]): void => {
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
        index(entry, key, object, valuesFor(name, object));
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
