// What makes a controller reconcile: changes in caches, or anything else that calls back.
import type { KubernetesObject } from '../apis/meta.ts';
import type { Cache } from './cache.ts';

export const createTable = <T>() => {
  const values = new Map<string, T>();
  const handlers: ((key: string) => void)[] = [];
  return {
    get: (key: string): T | undefined => values.get(key),
    entries: (): Iterable<readonly [string, T]> => values,
    /** Publishes the value, or withdraws it with undefined; notifies watchers either way. */
    set(key: string, value: T | undefined): void {
      if (value === undefined) values.delete(key);
      else values.set(key, value);
      for (const handler of handlers) handler(key);
    },
    onChange: (handler: (key: string) => void): void => void handlers.push(handler),
  };
};

export type Table<T> = ReturnType<typeof createTable<T>>;

/** Adds a key to the controller's queue; after a while where `afterMs` says so. */
export type Enqueue = (key: string, afterMs?: number) => void;

/** Keys that one change concerns; `previous` is undefined for an object that is new to the controller. */
export type KeysOf<T> = (object: T, previous: T | undefined, deleted: boolean) => Iterable<string>;

export interface Watch {
  /** Resolves once there is something to decide from. */
  settled(signal: AbortSignal): Promise<void>;
  /** Called once, when the controller starts; the signal aborts when it stops. */
  start(enqueue: Enqueue, signal: AbortSignal): void;
}

/** `isNews`: whether a change counts; `afterMs`: from a change to the reconcile. */
const watchesOf =
  (replay: boolean, isNews: <T extends KubernetesObject>(object: T, previous: T | undefined) => boolean = () => true) =>
  <T extends KubernetesObject>(
    cache: Pick<Cache<T>, 'onChange' | 'settled'> | undefined,
    keysOf: KeysOf<T>,
    { afterMs = 0 }: { readonly afterMs?: number } = {},
  ): Watch[] =>
    cache === undefined
      ? []
      : [
          {
            settled: (signal) => (replay ? cache.settled(signal) : Promise.resolve()),
            start: (enqueue) =>
              cache.onChange(
                (object, previous, deleted) => {
                  if (!deleted && !isNews(object, previous)) return;
                  for (const key of keysOf(object, previous, deleted)) enqueue(key, afterMs);
                },
                { replay },
              ),
          },
        ];

/** Reconciles for every object that is there when the controller starts, and for every later change. */
export const objects = watchesOf(true);

/**
 * Reconciles for changes alone, and does not wait for the cache: for those whose objects concern many keys, which something else brings at the start.
 */
export const changes = watchesOf(false);

/** The same for changes of anything but an object's version. */
export const contents = watchesOf(false, (object, previous) => hasChanged(object, previous));

/** Reconciles when `start` says so: subscriptions, and keys that are due at the start. */
export const signals = (start: Watch['start']): Watch => ({ settled: () => Promise.resolve(), start });

/** Keys that one controller sends to another, as by controller-runtime's `source.Channel`. */
export const createChannel = () => {
  const receivers: Enqueue[] = [];
  return {
    /** Goes nowhere before the receiver starts: what is due at the start is its own watches' to say. */
    send(key: string, afterMs?: number): void {
      for (const enqueue of receivers) enqueue(key, afterMs);
    },
    /** Of the receiver. */
    watch: signals((enqueue) => void receivers.push(enqueue)),
  };
};

/** Reconciles for every entry that another controller publishes or withdraws. */
export const entries = <T>(table: Pick<Table<T>, 'onChange'>, keysOf: (key: string) => Iterable<string>): Watch[] => [
  signals((enqueue) =>
    table.onChange((key) => {
      for (const one of keysOf(key)) enqueue(one);
    }),
  ),
];

/** Whether two cached states differ in anything but their version: status updates are most of all writes. */
export const hasChanged = <T extends KubernetesObject>(object: T, previous: T | undefined): boolean => {
  const contentOf = (of: T): string => {
    const { resourceVersion: _version, generation: _generation, ...metadata } = of.metadata ?? {};
    return JSON.stringify({ ...of, metadata });
  };
  return previous === undefined || contentOf(object) !== contentOf(previous);
};
