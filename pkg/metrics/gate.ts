// Lets so many tasks run at a time; the others wait in the order they came.
import { abortable } from '../kubernetes/abortable.ts';

export interface Gate {
  /** Runs the task when its turn has come; rejects with the signal's reason while it still waits. */
  run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

export const createGate = (width: number): Gate => {
  let running = 0;
  const waiting = new Set<() => void>();

  const enter = async (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    if (running < width) {
      running += 1;
      return;
    }
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
    if (next === undefined) {
      running -= 1;
      return;
    }
    waiting.delete(next);
    next();
  };

  return {
    async run(task, signal) {
      await enter(signal);
      try {
        return await task();
      } finally {
        leave();
      }
    },
  };
};
