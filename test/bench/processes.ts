// Child processes under measurement: pinned to a core, their memory and CPU time read from /proc, always ended.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';

/** Which core serves and which one loads; undefined where the machine cannot pin or has only one core. */
export interface Cores {
  readonly server: number;
  readonly load: number;
}

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Core to pin to; left out: any. */
  readonly core?: number | undefined;
  /** Receives standard output and error, as a container's log file would. */
  readonly logFile: string;
}

export interface Memory {
  /** VmRSS now, bytes. */
  readonly resident: number;
  /** VmHWM since start, bytes. */
  readonly peak: number;
}

export interface Child {
  readonly pid: number;
  /** Reads /proc; throws where there is none. */
  memory(): Memory;
  /** CPU time of all threads since start, seconds. */
  cpuSeconds(): number;
  /** Undefined while it runs, else how it ended and the end of its log. */
  failure(): string | undefined;
  /** Sends the signal (default SIGTERM), and SIGKILL if that does not end it within 15 s; resolves when it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const STOP_TIMEOUT_MS = 15_000;
/** USER_HZ of every Linux that Node runs on; the unit of /proc/<pid>/stat. */
const TICKS_PER_SECOND = 100;

/** Two cores to keep server and load apart, if this machine has them and `taskset`. */
export const findCores = (available: number): Cores | undefined =>
  available >= 2 && spawnSync('taskset', ['--version']).status === 0 ? { server: 0, load: 1 } : undefined;

/** Moves this process with all its threads to these cores (`1`, `0-3`); children inherit that unless they are pinned themselves. */
export const pinSelf = (cores: string): void => {
  const { status, stderr } = spawnSync('taskset', ['-a', '-p', '-c', cores, String(process.pid)]);
  if (status !== 0) throw new Error(`cannot pin to core ${cores}: ${stderr.toString().trim()}`);
};

/** VmRSS and VmHWM out of the text of /proc/<pid>/status. */
export const parseMemory = (status: string): Memory => {
  const bytesOf = (key: string): number => {
    const kibibytes = new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    if (kibibytes === undefined) throw new Error(`/proc/<pid>/status has no ${key}`);
    return Number(kibibytes) * 1024;
  };
  return { resident: bytesOf('VmRSS'), peak: bytesOf('VmHWM') };
};

/** User plus system time out of the text of /proc/<pid>/stat, seconds. The command in it may hold spaces and brackets. */
export const parseCpuSeconds = (stat: string): number => {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  if (!Number.isFinite(ticks)) throw new Error('/proc/<pid>/stat has no utime and stime');
  return ticks / TICKS_PER_SECOND;
};

const endOf = (logFile: string): string => readFileSync(logFile, 'utf8').slice(-2_000);

const stopChild = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exit;
  clearTimeout(deadline);
};

/** Starts a child whose life the caller owns: `stop` must be called. */
export const startChild = ({ command, args, env, core, logFile }: ChildOptions): Child => {
  const log = openSync(logFile, 'a');
  const [file, argv] = core === undefined ? [command, args] : ['taskset', ['-c', String(core), command, ...args]];
  const child = spawn(file, argv, { env: { ...process.env, ...env }, stdio: ['ignore', log, log] });
  closeSync(log);
  let spawnError: Error | undefined;
  child.once('error', (error) => (spawnError = error));
  const pid = child.pid ?? 0;
  return {
    pid,
    memory: () => parseMemory(readFileSync(`/proc/${pid}/status`, 'utf8')),
    cpuSeconds: () => parseCpuSeconds(readFileSync(`/proc/${pid}/stat`, 'utf8')),
    failure: () => {
      if (spawnError !== undefined) return `${file} cannot be started: ${spawnError.message}`;
      if (child.exitCode === null && child.signalCode === null) return undefined;
      return `${[command, ...args].join(' ')} ended with ${child.exitCode ?? child.signalCode}:\n${endOf(logFile)}`;
    },
    stop: (signal = 'SIGTERM') => stopChild(child, signal),
  };
};

/** A TCP port of 127.0.0.1 that is free now, for programs that cannot take port 0. */
export const freePort = async (): Promise<number> => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};
