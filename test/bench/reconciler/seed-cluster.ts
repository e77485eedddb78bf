// Starts the process that plays the seed cluster and asks it what it saw.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Traffic } from './types.ts';

/** A question to the process; every one is answered under its id. */
export interface Question {
  readonly id: number;
  readonly ask: 'clear' | 'count' | 'traffic' | 'enabled';
}

export interface SeedCluster {
  readonly kubeconfig: string;
  /** Forgets the requests so far. */
  clear(): Promise<void>;
  /** Requests of the reconciler since `clear`, renewals of Leases and reads of the version left out. */
  count(): Promise<number>;
  traffic(): Promise<Traffic>;
  /** Objects that carry a traffic distribution now. */
  enabled(): Promise<{ services: number; etcds: number }>;
  stop(): Promise<void>;
}

interface Reply {
  readonly id: number;
  readonly result: unknown;
}

/** Resolves when all objects are in place. */
export const startSeedCluster = async (user: string, shoots: number): Promise<SeedCluster> => {
  const child = fork(join(import.meta.dirname, 'sandbox-process.ts'), [user, String(shoots)], { execArgv: [] });
  const waiting = new Map<number, (result: unknown) => void>();
  let asked = 0;
  child.on('message', ({ id, result }: Reply) => {
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  const reply = (id: number): Promise<unknown> =>
    new Promise((resolve, reject) => {
      waiting.set(id, resolve);
      child.once('exit', (code) => reject(new Error(`the seed cluster's process ended with ${code}`)));
    });
  const ask = (question: Question['ask']): Promise<unknown> => {
    asked += 1;
    const result = reply(asked);
    child.send({ id: asked, ask: question } satisfies Question);
    return result;
  };
  child.setMaxListeners(0);
  const kubeconfig = (await reply(0)) as string;
  return {
    kubeconfig,
    clear: async () => void (await ask('clear')),
    count: async () => (await ask('count')) as number,
    traffic: async () => (await ask('traffic')) as Traffic,
    enabled: async () => (await ask('enabled')) as { services: number; etcds: number },
    async stop() {
      if (child.exitCode !== null) return;
      const exit = once(child, 'exit');
      child.disconnect();
      const deadline = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await exit;
      clearTimeout(deadline);
    },
  };
};
