// Breaks the programs of a bed at random: kills, freezes, ends in order, and cuts them off from each other.
import { setTimeout as pause } from 'node:timers/promises';
import { run } from './bed/command.ts';
import type { Component } from './bed/component.ts';
import { enterPrefix } from './bed/namespaces.ts';
import type { Random } from './chaos-random.ts';

export type FaultKind = 'kill' | 'freeze' | 'end' | 'partition';

export interface Fault {
  readonly kind: FaultKind;
  readonly target: string;
  inject(signal: AbortSignal): Promise<void>;
}

export const nft = async (namespace: string, ...words: string[]): Promise<void> => {
  const [program, ...prefix] = enterPrefix(namespace);
  await run(program, [...prefix, 'nft', ...words]);
};

const table = ['inet', 'chaos'] as const;

/** Drops every packet from and to these TCP ports in a network namespace until `heal`, also of open connections. */
export const startPartition = async (
  namespace: string,
  ports: readonly number[],
): Promise<{ heal(): Promise<void> }> => {
  const set = `{ ${ports.join(', ')} }`;
  await nft(namespace, 'add', 'table', ...table);
  await nft(namespace, 'add', 'chain', ...table, 'in', '{ type filter hook input priority 0; }');
  for (const side of ['dport', 'sport']) await nft(namespace, 'add', 'rule', ...table, 'in', 'tcp', side, set, 'drop');
  return { heal: () => nft(namespace, 'delete', 'table', ...table) };
};

export interface ChaosOptions {
  /** Network namespace of the programs. */
  readonly namespace: string;
  /** What is killed and frozen. */
  readonly programs: readonly Component[];
  /** Of these, what is also ended with SIGTERM: programs that end soon after it. */
  readonly graceful: readonly Component[];
  /** Ports that are cut off, by what listens there. */
  readonly ports: Readonly<Record<string, number>>;
  readonly random: Random;
  /** Seconds that a freeze or a partition lasts, from and to. */
  readonly seconds: readonly [number, number];
}

/** One of every fault that there is, in random order. */
export const deckOf = (options: ChaosOptions): Fault[] => {
  const { namespace, programs, graceful, ports, random, seconds } = options;
  const last = (signal: AbortSignal): Promise<void> =>
    pause(random.between(...seconds) * 1_000, undefined, { signal }).catch(() => undefined);
  const signalled = (component: Component, signal: NodeJS.Signals): void => {
    // It may be just between two lives.
    if (component.pid !== undefined) component.signal(signal);
  };
  return random.shuffled([
    ...programs.map((one): Fault => ({
      kind: 'kill',
      target: one.name,
      inject: async () => signalled(one, 'SIGKILL'),
    })),
    ...programs.map((one): Fault => ({
      kind: 'freeze',
      target: one.name,
      async inject(signal) {
        signalled(one, 'SIGSTOP');
        await last(signal);
        signalled(one, 'SIGCONT');
      },
    })),
    ...graceful.map((one): Fault => ({ kind: 'end', target: one.name, inject: async () => signalled(one, 'SIGTERM') })),
    ...Object.entries(ports).map(([target, port]): Fault => ({
      kind: 'partition',
      target,
      async inject(signal) {
        const partition = await startPartition(namespace, [port]);
        await last(signal);
        await partition.heal();
      },
    })),
  ]);
};
