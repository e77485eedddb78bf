// `npm run fuzz`: exit code 0 where nothing failed, 1 where something did, 2 for wrong flags.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { SHARES } from './targets/index.ts';
import type { Fed, WorkerTask } from './worker.ts';

const USAGE = `Feeds hostile documents to everything that reads what others wrote.

  --inputs N        of all targets together, default 100000
  --seed N          default: one that the time gives, and that is printed
  --target NAME     only this one, may be repeated: ${Object.keys(SHARES).join(', ')}
  --path PATH       only the input of this path, as a failure prints it; needs --target and --seed
`;

const STACK_MEBIBYTES = 1;
/** Half of the smallest limit of memory that the chart sets; a reader that needs more for one text ends the thread. */
const HEAP_MEBIBYTES = 128;
/** Far more than any input takes on a busy machine. */
const HANG_MS = 120_000;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const whole = (name: string, text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
};

/** Runs one target in a thread of its own: one that ends, or stays at one input, is a failure. */
const feed = async (task: Omit<WorkerTask, 'begun'>): Promise<Fed> => {
  const begun = new SharedArrayBuffer(4);
  const count = (): number => Atomics.load(new Int32Array(begun), 0);
  const worker = new Worker(new URL('worker.ts', import.meta.url), {
    workerData: { ...task, begun } satisfies WorkerTask,
    // Threads have four times the stack of a process: what is too deep there has to be too deep here.
    resourceLimits: { stackSizeMb: STACK_MEBIBYTES, maxOldGenerationSizeMb: HEAP_MEBIBYTES },
  });
  const { promise, resolve } = Promise.withResolvers<Fed>();
  const fail = (failure: string): void => resolve({ inputs: count(), failure: `${failure} at input ${count()}` });
  worker.on('message', resolve);
  worker.on('error', (error) => fail(`the thread ended with ${error.stack ?? error.message}`));
  worker.on('exit', () => fail('the thread ended'));
  let [seen, since] = [-1, performance.now()];
  const watch = setInterval(() => {
    if (count() !== seen) [seen, since] = [count(), performance.now()];
    else if (performance.now() - since > HANG_MS) fail('hangs');
  }, 1_000);
  const fed = await promise;
  clearInterval(watch);
  await worker.terminate();
  return fed;
};

const run = async (): Promise<void> => {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { inputs: text, seed: text, path: text, target: { ...text, multiple: true }, help: { type: 'boolean' } },
  });
  if (values.help === true) return print(USAGE);
  const seed = whole('seed', values.seed ?? String(Date.now() % 1_000_000));
  const inputs = whole('inputs', values.inputs ?? '100000');
  const { path, target: names = Object.keys(SHARES) } = values;
  const chosen = names.map((name): readonly [string, number] => {
    const share = SHARES[name];
    if (share === undefined) throw new Error(`there is no target ${name}: ${Object.keys(SHARES).join(', ')}`);
    return [name, share];
  });
  const all = chosen.reduce((sum, [, share]) => sum + share, 0);
  const thread = async (): Promise<void> => {
    for (let next = chosen.shift(); next !== undefined; next = chosen.shift()) {
      const [target, share] = next;
      const fed = await feed({ target, seed, inputs: Math.ceil((inputs * share) / all), path });
      if (fed.failure === undefined) print(`ok   ${target}: ${fed.inputs} inputs`);
      else {
        process.exitCode = 1;
        const again = `npm run fuzz -- --seed ${seed} --target ${target} --path ${fed.path ?? ''}`;
        print(`FAIL ${target}: ${fed.failure}${fed.path === undefined ? '' : `\n  again: ${again}`}`);
      }
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, thread));
  print(`seed ${seed}`);
};

await run().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
});
