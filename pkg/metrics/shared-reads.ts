// Answers that several readers share: one request in flight for a key, so many at a time, and its answer again for a while.
import { abortable } from '../kubernetes/wait.ts';
import type { Clock } from '../kubernetes/types.ts';

export const createGate = (width: number) => {
  let running = 0;
  const waiting = new Set<() => void>();

  const enter = async (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    if (running < width) return void (running += 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.add(resolve);
    try {
      // A request that leaves hands its place over, so `running` stays as it is.
      await abortable(promise, signal);
    } catch (error) {
      // The place may have been handed over in the very moment of the abort.
      if (!waiting.delete(resolve)) leave();
      throw error;
    }
  };

  const leave = (): void => {
    const [next] = waiting;
    if (next === undefined) return void (running -= 1);
    waiting.delete(next);
    next();
  };

  return {
    /** Runs the task when its turn has come; rejects with the signal's reason while it still waits. */
    async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
      await enter(signal);
      try {
        return await task();
      } finally {
        leave();
      }
    },
  };
};

/** Makes the request. `previous` is the last answer, however old. */
type Load<T> = (previous: T | undefined, signal: AbortSignal) => Promise<T>;

interface Flight<T> {
  readonly promise: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

interface Entry<T> {
  answer: { readonly value: T; readonly askedAt: number } | undefined;
  flight: Flight<T> | undefined;
  usedAt: number;
}

/** Milliseconds after its last use until an answer is forgotten. */
const KEEP_MS = 600_000;

/** `concurrency`: requests of all keys at the same time. */
export const createSharedReads = <T>({ clock, concurrency }: { clock: Clock; concurrency: number }) => {
  const entries = new Map<string, Entry<T>>();
  const gate = createGate(concurrency);
  let sweptAt = clock.monotonic();

  /** Without a timer: the reader pays, at most once in a tenth of the time that answers are kept. */
  const sweep = (now: number): void => {
    if (now - sweptAt < KEEP_MS / 10) return;
    sweptAt = now;
    for (const [key, entry] of entries) {
      if (entry.flight === undefined && now - entry.usedAt > KEEP_MS) entries.delete(key);
    }
  };

  const launch = (entry: Entry<T>, load: Load<T>): Flight<T> => {
    const controller = new AbortController();
    const request = async (): Promise<T> => {
      const askedAt = clock.monotonic();
      const value = await load(entry.answer?.value, controller.signal);
      // The answer to an abandoned request is not remembered: a newer one may be there.
      if (!controller.signal.aborted) entry.answer = { value, askedAt };
      return value;
    };
    const promise = gate.run(request, controller.signal).finally(() => {
      if (entry.flight === flight) entry.flight = undefined;
    });
    promise.catch(() => undefined);
    const flight: Flight<T> = { promise, controller, waiting: 0 };
    return flight;
  };

  return {
    /**
     * The answer for `key`: one whose request began less than `maxAgeMs` ago, that of a request in flight, or a new one.
     * Rejects as the request does, or with the signal's reason; the request goes on as long as a caller waits for it.
     */
    async read(key: string, maxAgeMs: number, load: Load<T>, signal: AbortSignal): Promise<T> {
      signal.throwIfAborted();
      const now = clock.monotonic();
      sweep(now);
      const entry: Entry<T> = entries.get(key) ?? { answer: undefined, flight: undefined, usedAt: now };
      entry.usedAt = now;
      entries.set(key, entry);
      if (entry.answer !== undefined && now - entry.answer.askedAt < maxAgeMs) return entry.answer.value;
      const flight = (entry.flight ??= launch(entry, load));
      flight.waiting += 1;
      try {
        return await abortable(flight.promise, signal);
      } finally {
        flight.waiting -= 1;
        if (flight.waiting === 0 && entry.flight === flight) {
          entry.flight = undefined;
          flight.controller.abort(new Error('no caller waits for this response'));
        }
      }
    },
  };
};
