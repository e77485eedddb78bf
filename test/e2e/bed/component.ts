// One long-running program of a bed inside a namespace: started, stopped, killed, frozen and started again by tests.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type ProcessIdentity, enterPrefix, identify, is, isRunning, sendSignal, waitFor } from './machine.ts';

export interface ComponentOptions {
  readonly name: string;
  readonly namespace: string;
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** Where everything it prints is appended, over all its starts. */
  readonly logFile: string;
  /** Called for every process that is started, so that a crash of the bed's owner cannot leave it behind. */
  readonly onStart: (process: ProcessIdentity) => void;
  /** Added to the environment. Default: nothing. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Component {
  readonly name: string;
  readonly logFile: string;
  /** Its pid while it runs. */
  readonly pid: number | undefined;
  /** Starts it, also again after a stop or a crash. */
  start(): void;
  /** Kills it, and returns when its sockets are free again. */
  kill(): Promise<void>;
  /** Sends any signal, for faults: SIGSTOP, SIGCONT. */
  signal(signal: NodeJS.Signals): void;
  /** Ends it: SIGTERM, and SIGKILL when it is still there after 10 seconds. */
  stop(): Promise<void>;
  /** Throws with the end of its log when it should run and does not. */
  assertRunning(): void;
}

/** The last lines of a log, for error messages. */
const tailOf = (logFile: string, lines = 15): string =>
  readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');

const kill = async (name: string, target: ProcessIdentity): Promise<void> => {
  sendSignal(target, 'SIGKILL');
  await waitFor(`end of ${name} after SIGKILL`, () => isRunning(target), is(false));
};

const terminate = async (name: string, target: ProcessIdentity): Promise<void> => {
  sendSignal(target, 'SIGTERM');
  // A frozen process takes no SIGTERM before it goes on.
  sendSignal(target, 'SIGCONT');
  try {
    await waitFor(
      `end of ${name}`,
      () => isRunning(target),
      is(false),
      // Longer than any of them drains; only one that hangs is waited for so long.
      { timeoutSeconds: 40 },
    );
  } catch {
    await kill(name, target);
  }
};

/** Describes a component; nothing runs before `start`. */
export const createComponent = (options: ComponentOptions): Component => {
  const { name, namespace, logFile } = options;
  let current: ProcessIdentity | undefined;
  const running = (): ProcessIdentity | undefined => (current && isRunning(current) ? current : undefined);
  return {
    name,
    logFile,
    get pid() {
      return running()?.pid;
    },
    start() {
      if (running()) throw new Error(`${name} runs already`);
      mkdirSync(dirname(logFile), { recursive: true });
      const log = openSync(logFile, 'a');
      const [program, ...prefix] = enterPrefix(namespace);
      const child = spawn(program, [...prefix, ...options.command], {
        stdio: ['ignore', log, log],
        // A session of its own: Ctrl-C ends the owner, which then ends its components in order.
        detached: true,
        env: { ...process.env, ...options.environment },
      });
      closeSync(log);
      child.on('error', () => undefined);
      child.unref();
      current = child.pid === undefined ? undefined : identify(child.pid);
      if (current === undefined) throw new Error(`${name} cannot be started: ${options.command[0]}`);
      options.onStart(current);
    },
    async kill() {
      const target = running();
      if (target) await kill(name, target);
      // Somebody may have started it again meanwhile.
      if (current === target) current = undefined;
    },
    signal(signal) {
      if (!current || !sendSignal(current, signal)) throw new Error(`${name} does not run`);
    },
    async stop() {
      const target = running();
      if (target) await terminate(name, target);
      if (current === target) current = undefined;
    },
    assertRunning() {
      if (!running()) throw new Error(`${name} ended by itself; the end of ${logFile}:\n${tailOf(logFile)}`);
    },
  };
};
