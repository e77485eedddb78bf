// What one controller publishes for others to watch, as a cache holds what the API server does.

export interface Table<T> {
  get(key: string): T | undefined;
  entries(): Iterable<readonly [string, T]>;
  /** Publishes the value, or withdraws it with undefined; notifies watchers either way. */
  set(key: string, value: T | undefined): void;
  onChange(handler: (key: string) => void): void;
}

export const createTable = <T>(): Table<T> => {
  const values = new Map<string, T>();
  const handlers: ((key: string) => void)[] = [];
  return {
    get: (key) => values.get(key),
    entries: () => values,
    set(key, value) {
      if (value === undefined) values.delete(key);
      else values.set(key, value);
      for (const handler of handlers) handler(key);
    },
    onChange: (handler) => void handlers.push(handler),
  };
};
