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
  --threads N       targets at a time, default: one a processor
  --json            print the result as JSON
`;

const STACK_MEBIBYTES = 1;
/** Half of the smallest limit of memory that the chart sets; a reader that needs more for one text ends the thread. */
const HEAP_MEBIBYTES = 128;
/** Far more than any input takes on a busy machine. */
const HANG_MS = 120_000;

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    target: { type: 'string', multiple: true, default: [] },
    path: { type: 'string' },
    threads: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

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
  const fail = (failure: string): void => resolve({ target: task.target, inputs: count(), failure });
  worker.on('message', resolve);
  worker.on('error', (error) => fail(`the thread ended at input ${count()}: ${error.stack ?? error.message}`));
  worker.on('exit', () => fail(`the thread ended at input ${count()}`));
  let [seen, since] = [-1, performance.now()];
  const watch = setInterval(() => {
    if (count() !== seen) [seen, since] = [count(), performance.now()];
    else if (performance.now() - since > HANG_MS) fail(`hangs at input ${seen}`);
  }, 1_000);
  const fed = await promise;
  clearInterval(watch);
  await worker.terminate();
  return fed;
};

const run = async (): Promise<void> => {
  const [inputs, seed] = [whole('inputs', values.inputs), whole('seed', values.seed)];
  const unknown = values.target.find((name) => SHARES[name] === undefined);
  if (unknown !== undefined) throw new Error(`there is no target ${unknown}: ${Object.keys(SHARES).join(', ')}`);
  const chosen = Object.entries(SHARES).filter(([name]) => values.target.length === 0 || values.target.includes(name));
  const all = chosen.reduce((sum, [, share]) => sum + share, 0);
  const fed: Fed[] = [];
  const thread = async (): Promise<void> => {
    for (let next = chosen.shift(); next !== undefined; next = chosen.shift()) {
      const [target, share] = next;
      fed.push(await feed({ target, seed, inputs: Math.ceil((inputs * share) / all), path: values.path }));
    }
  };
  await Promise.all(Array.from({ length: whole('threads', values.threads) }, thread));
  for (const { target, inputs: done, failure, path } of values.json ? [] : fed) {
    const again =
      path === undefined ? '' : `\n  again: npm run fuzz -- --seed ${seed} --target ${target} --path ${path}`;
    print(failure === undefined ? `ok   ${target}: ${done} inputs` : `FAIL ${target}: ${failure}${again}`);
  }
  print(values.json ? JSON.stringify(fed) : `seed ${seed}`);
  process.exitCode = fed.every(({ failure }) => failure === undefined) ? 0 : 1;
};

if (values.help) process.stdout.write(USAGE);
else
  await run().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  });
