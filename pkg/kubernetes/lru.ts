// A map that forgets what was used longest ago once it is full.

export interface Lru<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
  readonly size: number;
}

/** Holds at most `capacity` entries; reading an entry counts as use. */
export const createLru = <V>(capacity: number): Lru<V> => {
  const entries = new Map<string, V>();
  const put = (key: string, value: V): void => {
    // Maps keep the order of insertion: the oldest entry is the first.
    entries.delete(key);
    entries.set(key, value);
    const [oldest] = entries.keys();
    if (entries.size > capacity && oldest !== undefined) entries.delete(oldest);
  };
  return {
    get(key) {
      const value = entries.get(key);
      if (value !== undefined) put(key, value);
      return value;
    },
    set: put,
    delete: (key) => void entries.delete(key),
    get size() {
      return entries.size;
    },
  };
};
