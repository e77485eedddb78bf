// Runs one target in a thread of its own and watches it: a thread that ends, or stays at one input, is a failure.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Failure, TargetResult, WorkerMessage, WorkerTask } from './protocol.ts';

export interface ThreadOptions extends Omit<WorkerTask, 'shared' | 'folder' | 'targets'> {
  readonly hangSeconds: number;
  /** Default: those of `npm run fuzz`. */
  readonly targets?: URL;
}

export interface Fed {
  readonly target: string;
  /** Undefined where the thread did not come to its end. */
  readonly result: TargetResult | undefined;
  readonly failures: readonly Failure[];
}

const TARGETS = new URL('targets/index.ts', import.meta.url);
const LOOK_MS = 1_000;
const STACK_MEBIBYTES = 1;
/** Half of the smallest limit of memory that the chart sets; a reader that needs more for one text ends the thread. */
const HEAP_MEBIBYTES = 128;

const cutShort = (index: number, error: string): Failure => ({
  index,
  kind: 'fields',
  sample: '',
  changes: ['see the replay'],
  error,
  text: '',
});

/** Where nothing is reckoned, the thread waits for something that does not come; on a busy machine that takes longer to tell. */
const PATIENCE = 10;

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/**
 * Resolves with the index of the input that the thread has been at for too long; never, while it goes on. On a machine that
 * has no time for us an input may take minutes: what counts is the time that the processor spent.
 */
const hung = (progress: Int32Array, hangSeconds: number): { readonly promise: Promise<number>; stop(): void } => {
  const { promise, resolve } = Promise.withResolvers<number>();
  let [seen, since, cpuSince] = [-1, performance.now(), cpuSeconds()];
  const timer = setInterval(() => {
    const begun = Atomics.load(progress, 1);
    if (begun !== seen) {
      [seen, since, cpuSince] = [begun, performance.now(), cpuSeconds()];
      return;
    }
    const seconds = (performance.now() - since) / 1_000;
    const burns = seconds > hangSeconds && cpuSeconds() - cpuSince > hangSeconds / 2;
    // Before the first input the thread loads what it needs.
    if (begun > 0 && (burns || seconds > PATIENCE * hangSeconds)) resolve(Atomics.load(progress, 0));
  }, LOOK_MS);
  return { promise, stop: () => clearInterval(timer) };
};

/** Resolves once the thread has ended, whatever ended it. */
export const feedInThread = async ({ hangSeconds, targets = TARGETS, ...task }: ThreadOptions): Promise<Fed> => {
  const folder = await mkdtemp(join(tmpdir(), 'fuzz-'));
  const shared = new SharedArrayBuffer(8);
  const progress = new Int32Array(shared);
  const failures: Failure[] = [];
  let result: TargetResult | undefined;
  const worker = new Worker(new URL('worker.ts', import.meta.url), {
    workerData: { ...task, targets: targets.href, folder, shared } satisfies WorkerTask,
    // Threads have four times the stack of a process: what is too deep there has to be too deep here.
    resourceLimits: { stackSizeMb: STACK_MEBIBYTES, maxOldGenerationSizeMb: HEAP_MEBIBYTES },
  });
  const ended = new Promise<void>((resolve) => {
    worker.on('message', (message: WorkerMessage) => {
      if (message.kind === 'failure') failures.push(message.failure);
      else result = message.result;
    });
    worker.on('error', (error) => {
      failures.push(cutShort(Atomics.load(progress, 0), `the thread ended: ${error.stack ?? error.message}`));
    });
    worker.on('exit', () => resolve());
  });
  const watch = hung(progress, hangSeconds);
  const first = await Promise.race([ended, watch.promise]);
  watch.stop();
  if (first !== undefined) {
    failures.push(cutShort(first, `hangs: still at this input after more than ${hangSeconds} s`));
    await worker.terminate();
  }
  if (result === undefined && failures.length === 0)
    failures.push(cutShort(Atomics.load(progress, 0), 'the thread ended: nothing was left to wait for'));
  await rm(folder, { recursive: true, force: true });
  return { target: task.targetName, result, failures };
};
