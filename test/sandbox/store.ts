// The memory of the sandbox: objects by resource, one global version counter, and the history that watches start from.
import type { ServedResource } from './served-resource.ts';
import { nameOf, namespaceOf, type StoredObject } from './object.ts';

/** One change of one object, as every watch and controller sees it. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: ServedResource;
  /** After the change; for DELETED the last state with the version of the deletion. */
  readonly object: StoredObject;
  /** Before the change; absent for ADDED. */
  readonly previous?: StoredObject;
  readonly version: number;
}

export interface ObjectStore {
  /** Version of the newest change. */
  readonly version: number;
  get(key: string, namespace: string, name: string): StoredObject | undefined;
  /** In the order of the real server: by namespace and name. */
  list(key: string, namespace?: string): readonly StoredObject[];
  count(key: string): number;
  /** Stores a new or changed object under the next version and tells everybody; returns what was stored. */
  put(resource: ServedResource, object: StoredObject): StoredObject;
  remove(resource: ServedResource, namespace: string, name: string): StoredObject | undefined;
  /** Changes after `version`, or undefined when history does not reach back that far. */
  since(key: string, version: number): Change[] | undefined;
  subscribe(listener: (change: Change) => void): () => void;
  /** Forgets all history. */
  compact(): void;
}

/** Objects of one resource. */
interface Shelf {
  readonly namespaces: Map<string, Map<string, StoredObject>>;
  /** Sorted, per namespace and for all (`undefined`); dropped on every change. */
  readonly sorted: Map<string | undefined, readonly StoredObject[]>;
  history: Change[];
  /** Version of the newest change that history no longer holds. */
  floor: number;
  count: number;
}

export const resourceKey = ({ group, plural }: { group: string; plural: string }): string => `${group}/${plural}`;

const byName = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

const sortShelf = (shelf: Shelf, namespace: string | undefined): StoredObject[] => {
  const objects =
    namespace === undefined
      ? [...shelf.namespaces.values()].flatMap((names) => [...names.values()])
      : [...(shelf.namespaces.get(namespace)?.values() ?? [])];
  const keyed = objects.map((object) => ({ key: `${namespaceOf(object)}/${nameOf(object)}`, object }));
  return keyed.sort((left, right) => byName(left.key, right.key)).map(({ object }) => object);
};

/** `historyLimit`: changes kept per resource. */
export const createStore = (historyLimit: number): ObjectStore => {
  const shelves = new Map<string, Shelf>();
  const listeners = new Set<(change: Change) => void>();
  let version = 1;
  /** Floor of resources that have no shelf yet. */
  let floor = 0;

  const shelfOf = (key: string): Shelf => {
    let shelf = shelves.get(key);
    if (shelf === undefined) {
      shelf = { namespaces: new Map(), sorted: new Map(), history: [], floor, count: 0 };
      shelves.set(key, shelf);
    }
    return shelf;
  };

  const record = (shelf: Shelf, change: Change): void => {
    shelf.sorted.delete(undefined);
    shelf.sorted.delete(namespaceOf(change.object));
    shelf.history.push(change);
    // Trimmed in blocks, so that a long history costs nothing per write.
    if (shelf.history.length >= 2 * historyLimit) {
      const dropped = shelf.history.length - historyLimit;
      shelf.floor = shelf.history[dropped - 1]?.version ?? shelf.floor;
      shelf.history = shelf.history.slice(dropped);
    }
    for (const listener of listeners) listener(change);
  };

  const stamp = (object: StoredObject): StoredObject => {
    version += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
  };

  /** The floor as if history were trimmed to the limit after every change. */
  const floorOf = (shelf: Shelf): number => {
    const excess = shelf.history.length - historyLimit;
    return excess > 0 ? (shelf.history[excess - 1]?.version ?? shelf.floor) : shelf.floor;
  };

  return {
    get version() {
      return version;
    },
    get: (key, namespace, name) => shelves.get(key)?.namespaces.get(namespace)?.get(name),
    list(key, namespace) {
      const shelf = shelves.get(key);
      if (shelf === undefined) return [];
      let sorted = shelf.sorted.get(namespace);
      if (sorted === undefined) {
        sorted = sortShelf(shelf, namespace);
        shelf.sorted.set(namespace, sorted);
      }
      return sorted;
    },
    count: (key) => shelves.get(key)?.count ?? 0,
    put(resource, object) {
      const shelf = shelfOf(resourceKey(resource));
      const namespace = namespaceOf(object);
      let names = shelf.namespaces.get(namespace);
      if (names === undefined) shelf.namespaces.set(namespace, (names = new Map()));
      const previous = names.get(nameOf(object));
      const stored = stamp(object);
      names.set(nameOf(object), stored);
      if (previous === undefined) shelf.count += 1;
      record(
        shelf,
        previous === undefined
          ? { type: 'ADDED', resource, object: stored, version }
          : { type: 'MODIFIED', resource, object: stored, previous, version },
      );
      return stored;
    },
    remove(resource, namespace, name) {
      const shelf = shelfOf(resourceKey(resource));
      const names = shelf.namespaces.get(namespace);
      const previous = names?.get(name);
      if (names === undefined || previous === undefined) return undefined;
      names.delete(name);
      if (names.size === 0) shelf.namespaces.delete(namespace);
      shelf.count -= 1;
      const object = stamp(previous);
      record(shelf, { type: 'DELETED', resource, object, previous, version });
      return object;
    },
    since(key, from) {
      const shelf = shelves.get(key);
      if (from < (shelf === undefined ? floor : floorOf(shelf))) return undefined;
      if (shelf === undefined) return [];
      let index = shelf.history.length;
      while (index > 0 && (shelf.history[index - 1]?.version ?? 0) > from) index -= 1;
      return shelf.history.slice(index);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    compact() {
      floor = version;
      for (const shelf of shelves.values()) {
        shelf.history = [];
        shelf.floor = version;
      }
    },
  };
};
