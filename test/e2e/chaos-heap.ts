// Follows how much heap is in use after a collection, from the processes' own metrics.
import { setTimeout as pause } from 'node:timers/promises';
import type { Component } from './bed/component.ts';

export interface Witness {
  /** Collects its garbage on SIGUSR2. */
  readonly component: Component;
  readonly metricsPort: number;
}

export interface HeapWatch {
  /** Bytes by name of the process, oldest first. */
  readonly samples: ReadonlyMap<string, readonly number[]>;
  stop(): Promise<void>;
}

const INTERVAL_MS = 15_000;

/** Bytes of the heap in use; undefined while the process does not answer. */
const heapOf = async ({ metricsPort }: Witness): Promise<number | undefined> => {
  try {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]);
  } catch {
    return undefined;
  }
};

/** A sample each quarter of a minute, from the second on: the first minute belongs to the start. */
export const startHeapWatch = (witnesses: readonly Witness[]): HeapWatch => {
  const samples = new Map<string, number[]>(witnesses.map(({ component }) => [component.name, []]));
  const ending = new AbortController();
  const { signal } = ending;
  const sample = async (witness: Witness): Promise<void> => {
    witness.component.signal('SIGUSR2');
    await pause(500, undefined, { signal }).catch(() => undefined);
    const bytes = await heapOf(witness);
    if (bytes !== undefined) samples.get(witness.component.name)?.push(bytes);
  };
  const follow = async (): Promise<void> => {
    await pause(60_000, undefined, { signal }).catch(() => undefined);
    while (!signal.aborted) {
      await Promise.all(witnesses.map(sample));
      await pause(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = follow();
  running.catch(() => undefined);
  return {
    samples,
    async stop() {
      ending.abort();
      await running;
    },
  };
};

export const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
