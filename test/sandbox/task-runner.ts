// A queue of named tasks with one worker: tasks of the same name coalesce, and tests can wait until all is done.

export interface TaskRunner {
  /** Runs the task soon; a task of the same name that has not begun yet is enough. */
  enqueue(name: string): void;
  /** The same after a while; not part of what `settled` waits for. */
  enqueueAfter(name: string, delayMs: number): void;
  readonly idle: boolean;
  settled(): Promise<void>;
  stop(): void;
}

interface Options {
  /** Must not reject: it knows best what to do with a failure. */
  readonly run: (name: string) => Promise<void>;
  /** Milliseconds between the first request and the work, so that a burst of changes costs one run. */
  readonly batchMs: number;
}

export const createTaskRunner = ({ run, batchMs }: Options): TaskRunner => {
  const pending = new Set<string>();
  const delayed = new Map<string, NodeJS.Timeout>();
  let waiting: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  let working = false;
  let stopped = false;

  const finish = (): void => {
    const done = waiting;
    waiting = [];
    for (const resolve of done) resolve();
  };

  const work = async (): Promise<void> => {
    working = true;
    for (const name of pending) {
      if (stopped) break;
      // Removed first: a request that comes while it runs means another turn.
      pending.delete(name);
      await run(name);
    }
    working = false;
    if (pending.size === 0 || stopped) finish();
  };

  const schedule = (): void => {
    if (timer !== undefined || working) return;
    timer = setTimeout(() => {
      timer = undefined;
      void work();
    }, batchMs);
  };

  return {
    enqueue(name) {
      if (stopped) return;
      pending.add(name);
      schedule();
    },
    enqueueAfter(name, delayMs) {
      if (stopped || delayed.has(name)) return;
      const handle = setTimeout(() => {
        delayed.delete(name);
        if (stopped) return;
        pending.add(name);
        schedule();
      }, delayMs);
      delayed.set(name, handle);
    },
    get idle() {
      return stopped || (pending.size === 0 && !working);
    },
    settled() {
      if (stopped || (pending.size === 0 && !working)) return Promise.resolve();
      return new Promise((resolve) => waiting.push(resolve));
    },
    stop() {
      stopped = true;
      if (timer !== undefined) clearTimeout(timer);
      for (const handle of delayed.values()) clearTimeout(handle);
      delayed.clear();
      pending.clear();
      finish();
    },
  };
};
