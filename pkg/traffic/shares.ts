// A bounded table that owners of namespaces fill by what they create: once it is full, each namespace has an equal share.

interface SharesOptions<T> {
  /** Most entries; it may change. */
  max(): number;
  /** The namespace that an entry counts for. */
  namespaceOf(value: T): string;
  /** An entry was removed, for another or by `release`. */
  onRemoved?(value: T): void;
}

/**
 * While there is room, all may have it. Without room a namespace below its share takes the newest entry of the namespace with the most,
 * which stays at least as large: nothing swings back and forth.
 */
export const createShares = <T>({ max, namespaceOf, onRemoved }: SharesOptions<T>) => {
  const entries = new Map<string, T>();
  /** Keys by namespace, the oldest first. */
  const namespaces = new Map<string, Set<string>>();

  const remove = (key: string): void => {
    const value = entries.get(key);
    if (value === undefined) return;
    const namespace = namespaceOf(value);
    const keys = namespaces.get(namespace);
    keys?.delete(key);
    if (keys?.size === 0) namespaces.delete(namespace);
    entries.delete(key);
    onRemoved?.(value);
  };

  return {
    get: (key: string): T | undefined => entries.get(key),
    /** Whether a namespace may `add` one; what it takes the room of is removed. */
    makeRoom(namespace: string): boolean {
      if (entries.size < max()) return true;
      const own = namespaces.get(namespace)?.size ?? 0;
      const share = Math.max(1, Math.floor(max() / (namespaces.size + (own === 0 ? 1 : 0))));
      if (own >= share) return false;
      let largest = new Set<string>();
      for (const keys of namespaces.values()) if (keys.size > largest.size) largest = keys;
      const newest = [...largest].at(-1);
      if (newest === undefined || largest.size <= own + 1) return false;
      remove(newest);
      return true;
    },
    /** Of a new key; after `makeRoom`. */
    add(key: string, value: T) {
      entries.set(key, value);
      const namespace = namespaceOf(value);
      const keys = namespaces.get(namespace);
      if (keys === undefined) namespaces.set(namespace, new Set([key]));
      else keys.add(key);
    },
    remove,
    /** Removes the oldest entry of a namespace; false where it has none. */
    removeOldest(namespace: string): boolean {
      const [oldest] = namespaces.get(namespace) ?? [];
      if (oldest !== undefined) remove(oldest);
      return oldest !== undefined;
    },
    /** Removes what nothing stands for any more. */
    release(isGone: (value: T) => boolean) {
      for (const [key, value] of entries) if (isGone(value)) remove(key);
    },
    values: () => entries.values(),
  };
};
