// The processes of the runner: each gets the next file when it is through with one.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { compiledOnce } from '../../../hack/lib/compiled.ts';
import { FAILED } from '../failure-line.ts';
import { LAST, type WorkerMessage } from './messages.ts';
import type { Progress } from './progress.ts';

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url));
interface Run {
  readonly files: readonly string[];
  readonly workers: number;
  /** Of the runner; mocha's options are among them. */
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly progress: Progress;
}

/** A process without files ends by itself, unless a test left something open; until then, in milliseconds. */
const TO_END = 20_000;

/** @param full whether tests go the whole way, see `depth.ts`. */
export const environment = (full: boolean): NodeJS.ProcessEnv => ({
  ...compiledOnce(),
  ...process.env,
  TEST_FULL: full ? '1' : '',
});

/** Runs files in one process until none is left or the process ends; resolves when it has ended. */
const work = (left: string[], { argv, env, progress }: Run): Promise<void> =>
  new Promise((resolve) => {
    const child = fork(WORKER, argv, { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    let file: string | undefined;
    let timer: NodeJS.Timeout | undefined;
    const print = (chunk: Buffer): void => progress.print(chunk.toString());
    child.stdout?.on('data', print);
    child.stderr?.on('data', print);
    const next = (): void => {
      file = left.shift();
      if (file === undefined) timer = setTimeout(() => child.kill('SIGKILL'), TO_END);
      else progress.began(file);
      child.send(file ?? LAST);
    };
    child.on('message', (message: WorkerMessage) => {
      if (message.type === 'tests') return progress.tests(message);
      if (message.type === 'fail') return progress.failed(message.line);
      if (file !== undefined) progress.ended(file, message);
      return next();
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      const how = signal ?? `exit code ${code}`;
      if (file !== undefined) {
        progress.failed(`${FAILED}${file}: its process ended in the middle of it (${how})`);
        progress.ended(file, { details: '', cpuMs: 0 });
      } else if (code !== 0) {
        progress.failed(
          `${FAILED}a process of the test runner did not end well (${how}); did a test leave something open?`,
        );
      }
      resolve();
    });
  });

/** Runs all files. A process that breaks off costs the file that it was at; another takes its place. */
export const runFiles = async (run: Run): Promise<void> => {
  const left = [...run.files];
  const seat = async (): Promise<void> => {
    while (left.length > 0) await work(left, run);
  };
  await Promise.all(Array.from({ length: run.workers }, seat));
};
