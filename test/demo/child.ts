// Runs one of the real commands as a child process, waits until it is ready, and ends it by its own id.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { until } from './until.ts';

const root = resolve(import.meta.dirname, '../..');

export interface Child {
  readonly name: string;
  /** Port of its health server. */
  readonly healthPort: number;
  readonly logFile: string;
  /** Last lines it wrote, for a failed step. */
  tail(): string;
  stop(): Promise<void>;
}

const exited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

const stopChild = async (child: ChildProcess): Promise<void> => {
  if (exited(child)) return;
  const end = new Promise<void>((done) => child.once('exit', () => done()));
  child.kill('SIGTERM');
  // A drain takes five seconds; what does not end by then is ended.
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await end;
  clearTimeout(timer);
};

/** Runs `cmd/<name>/main.ts` to its end; resolves with what it printed. Rejects where it fails. */
export const runCommand = async (name: string, args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, [`${root}/cmd/${name}/main.ts`, ...args], { cwd: root })).stdout;

/** Starts `cmd/<name>/main.ts` and resolves once /readyz says yes. Rejects with its last lines if it ends before. */
export const startChild = async (
  name: string,
  args: readonly string[],
  { healthPort, logFile, env = {} }: { healthPort: number; logFile: string; env?: Record<string, string> },
): Promise<Child> => {
  const child = spawn(process.execPath, [`${root}/cmd/${name}/main.ts`, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const log = createWriteStream(logFile);
  let recent = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      log.write(chunk);
      recent = `${recent}${chunk.toString()}`.slice(-4_000);
    });
  }
  const tail = () => recent.trimEnd().split('\n').slice(-15).join('\n');
  const stop = async () => {
    await stopChild(child);
    await new Promise<void>((done) => log.end(done));
  };
  try {
    await until(`${name} is ready`, async () => {
      if (exited(child)) throw new Error(`${name} ended with ${child.exitCode ?? child.signalCode}`);
      try {
        const response = await fetch(`http://127.0.0.1:${healthPort}/readyz`);
        return response.ok || (await response.text()).trim();
      } catch {
        return 'its health port does not answer yet';
      }
    });
  } catch (error) {
    await stop();
    throw error instanceof Error ? new Error(`${error.message}\n${tail()}`, { cause: error }) : error;
  }
  return { name, healthPort, logFile, tail, stop };
};
