// Names a process so that a reused pid cannot be taken for it: pid plus the start time that the kernel keeps.
import { readdirSync, readFileSync } from 'node:fs';

/** A process: `startTicks` is the time of its start in clock ticks since boot (proc(5), stat field 22). */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTicks: string;
}

/**
 * The identity of a running process; undefined when there is none with this pid, or only a zombie.
 * A zombie that has threads left is still running: they hold its sockets.
 */
export const identify = (pid: number): ProcessIdentity | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the command in parentheses and may hold spaces and parentheses itself.
    const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const startTicks = rest[18];
    if (startTicks === undefined) return undefined;
    return state === 'Z' && readdirSync(`/proc/${pid}/task`).length <= 1 ? undefined : { pid, startTicks };
  } catch {
    return undefined;
  }
};

/** Whether exactly this process still runs. */
export const isRunning = (process: ProcessIdentity): boolean =>
  identify(process.pid)?.startTicks === process.startTicks;

/** Sends a signal to exactly this process; returns false when it is gone. */
export const sendSignal = (target: ProcessIdentity, signal: NodeJS.Signals): boolean => {
  if (!isRunning(target)) return false;
  try {
    process.kill(target.pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
};
