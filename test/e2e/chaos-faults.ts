// Faults of processes and networks, and repeatable choices.
import { setTimeout as pause } from 'node:timers/promises';
import type { Component } from './bed/component.ts';
import { enterPrefix, run } from './bed/machine.ts';

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

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [0, below). */
  below(below: number): number;
  between(low: number, high: number): number;
  pick<T>(items: readonly T[]): T;
  shuffled<T>(items: readonly T[]): T[];
}

/** Mulberry32: 32 bits of state are plenty for choosing victims. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    next,
    below,
    between: (low, high) => low + next() * (high - low),
    pick<T>(items: readonly T[]): T {
      if (items.length === 0) throw new RangeError('nothing to pick from');
      return items[below(items.length)] as T;
    },
    shuffled: (items) =>
      items
        .map((item) => ({ item, order: next() }))
        .sort((left, right) => left.order - right.order)
        .map(({ item }) => item),
  };
};

/** The seed from the environment, or one that the time gives. */
export const seedOf = (environment: NodeJS.ProcessEnv): number =>
  Number(environment['E2E_SEED'] ?? Date.now() % 1_000_000);
