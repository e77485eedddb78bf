// A thread that feeds one target. How many inputs were begun is in shared memory, so that the main thread sees when it hangs.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import fc from 'fast-check';
import { createRandom } from '../e2e/chaos-faults.ts';
import { inputsOf } from './inputs.ts';
import { loadTarget } from './targets/index.ts';
import { must } from './types.ts';

export interface WorkerTask {
  readonly target: string;
  readonly seed: number;
  readonly inputs: number;
  /** Only this input, by fast-check's path. */
  readonly path?: string | undefined;
  readonly begun: SharedArrayBuffer;
}

export interface Fed {
  readonly inputs: number;
  /** Undefined where all is well. */
  readonly failure?: string;
  readonly path?: string | undefined;
}

/** What caches and compiled code may add between a tenth of the inputs and the last; a leak of one document an input is far more. */
const MAX_GROWTH_BYTES = 48 * 2 ** 20;
const MAX_SHOWN = 700;

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

/** Every object has what is added to this one. */
const checkPrototypes = (): void => {
  const added = [Object.prototype, Array.prototype].flatMap((prototype) => Object.keys(prototype));
  for (const name of added) {
    Reflect.deleteProperty(Object.prototype, name);
    Reflect.deleteProperty(Array.prototype, name);
  }
  must(added.length === 0, () => `the prototype of all objects has ${added.join(', ')} now`);
};

const describe = (error: unknown): string =>
  error instanceof Error ? `${error.message.slice(0, MAX_SHOWN)}\n${(error.stack ?? '').slice(-2_000)}` : String(error);

/** Resolves with what came of it; fast-check has shrunk an input that fails. */
const feed = async ({ target: name, seed, inputs, path, begun }: WorkerTask): Promise<Fed> => {
  const folder = mkdtempSync(join(tmpdir(), 'fuzz-'));
  const target = await loadTarget(name);
  const opened = await target.open(folder);
  const progress = new Int32Array(begun);
  let early: number | undefined;
  const property = fc.asyncProperty(inputsOf(target, opened), async ({ seed: own, ...input }) => {
    if (Atomics.add(progress, 0, 1) === Math.floor(inputs / 10)) early ??= await heapBytes();
    await opened.run({ ...input, random: createRandom(own + 1) });
    checkPrototypes();
  });
  try {
    const outcome = await fc.check(property, { seed, numRuns: inputs, path: path ?? '' });
    const [smallest] = outcome.counterexample ?? [];
    if (smallest !== undefined) {
      const text = JSON.stringify(smallest.text.toString().slice(0, MAX_SHOWN));
      const failure = `${describe(outcome.errorInstance)}\nfrom "${smallest.sample}", shrunk to ${text}`;
      return { inputs: outcome.numRuns, failure, path: outcome.counterexamplePath ?? undefined };
    }
    const grown = early === undefined ? 0 : (await heapBytes()) - early;
    must(grown <= MAX_GROWTH_BYTES, () => `the heap grew by ${Math.round(grown / 2 ** 20)} MiB`);
    await opened.finish?.();
    return { inputs: outcome.numRuns };
  } catch (error) {
    return { inputs, failure: `after all inputs: ${describe(error)}` };
  } finally {
    await opened.close?.();
    rmSync(folder, { recursive: true, force: true });
  }
};

parentPort?.postMessage(await feed(workerData as WorkerTask));
