// A thread that feeds one target: what it is at is in shared memory, so that the main thread sees when it hangs.
import { setFlagsFromString, getHeapStatistics } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { startCoverage, sumBranches } from './coverage.ts';
import { createFeeder } from './feeder.ts';
import type { WorkerMessage, WorkerTask } from './protocol.ts';
import type { Target } from './types.ts';

const { targetName, targets, root, shared, ...task } = workerData as WorkerTask;
const progress = new Int32Array(shared);

const say = (message: WorkerMessage): void => parentPort?.postMessage(message);

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
/** What was ended a moment ago needs a turn of the event loop before it can be collected. */
const heapBytes = async (): Promise<number> => {
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  return getHeapStatistics().used_heap_size;
};

const meter = task.coverage ? await startCoverage() : undefined;
// Only now: what is loaded before coverage begins is not measured.
const { loadTarget } = (await import(targets)) as { loadTarget: (name: string) => Promise<Target> };
const target = await loadTarget(targetName);
const feeder = await createFeeder({
  ...task,
  target,
  heapBytes,
  onInput: (index) => {
    Atomics.store(progress, 0, index);
    Atomics.add(progress, 1, 1);
  },
  onTry: () => void Atomics.add(progress, 1, 1),
  onFailure: (failure) => say({ kind: 'failure', failure }),
});
const result = await feeder.run();
const branches = meter === undefined ? {} : await meter.take(root);
say({ kind: 'done', result: { ...result, branches, covered: sumBranches(branches, target.covers) } });
