// Creates, enters and removes named network namespaces, together with every process that still runs inside.
import { setTimeout as delay } from 'node:timers/promises';
import { CommandError, run } from './command.ts';
import { identify, sendSignal } from './process-identity.ts';

/**
 * The words to put before a command so that it runs inside a network namespace.
 * nsenter and not `ip netns exec`, because the latter also gives the command mounts of its own: namespaces that are
 * created from in there would be invisible to everybody else, the clean-up included.
 */
export const enterPrefix = (namespace: string): [string, ...string[]] => [
  'nsenter',
  `--net=/run/netns/${namespace}`,
  '--',
];

/** Runs `ip` inside a namespace. */
export const ip = (namespace: string, ...args: string[]): Promise<string> => run('ip', ['-n', namespace, ...args]);

/** Creates a namespace in which nothing but the loopback device exists. */
export const createNamespace = async (namespace: string): Promise<void> => {
  await run('ip', ['netns', 'add', namespace]);
  await ip(namespace, 'link', 'set', 'lo', 'up');
};

const isAbsent = (error: unknown): boolean =>
  error instanceof CommandError && /No such file or directory|Invalid argument/.test(error.stderr);

const processesIn = async (namespace: string): Promise<number[]> => {
  try {
    const output = await run('ip', ['netns', 'pids', namespace]);
    return output.split('\n').filter(Boolean).map(Number);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
};

/** Removes a namespace and kills what runs inside; a namespace that does not exist (any more) is fine. */
export const removeNamespace = async (namespace: string): Promise<void> => {
  for (let attempt = 0; attempt < 100; attempt++) {
    const others = (await processesIn(namespace)).filter((pid) => pid !== process.pid);
    if (others.length === 0) break;
    for (const pid of others) {
      const identity = identify(pid);
      if (identity !== undefined) sendSignal(identity, 'SIGKILL');
    }
    await delay(20);
  }
  try {
    await run('ip', ['netns', 'delete', namespace]);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
};
