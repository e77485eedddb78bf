// Has every Service looked at when what is asked for has changed, and now and then.
import type { EndpointSlice, Node } from '../../apis/core.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import type { Evacuations } from './evacuations.ts';
import { inOrder, readTraffic } from './order.ts';
import type { Traffic } from './order.ts';
import { zonesOfNodes } from '../../apis/readings.ts';

export interface SweepOptions {
  readonly evacuations: Pick<Evacuations, 'running' | 'isAccepted'>;
  readonly caches: { readonly nodes: Pick<Cache<Node>, 'list'> };
  readonly client: Pick<Client, 'pages'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Key of the webhook's own Service, which is the first. */
  readonly own: string;
  /** Has a Service looked at, by `namespace/name`. */
  enqueue(service: string): void;
}

export interface Sweep {
  /** Services were looked at since this process leads. */
  readonly began: boolean;
  /** Services that are still to be looked at for what is asked now. */
  readonly pending: number;
  /** Reads what orders Services: those with most traffic come first. */
  sort(signal: AbortSignal): Promise<void>;
  run(slices: readonly EndpointSlice[]): void;
  /** A Service was looked at. */
  done(service: string): void;
  forget(): void;
}

const RESYNC_MS = 15_000;

export const createSweep = (options: SweepOptions): Sweep => {
  const { evacuations, caches, clock, own } = options;
  /** What Services were looked at for, as text. */
  let last = '';
  let lastAt = 0;
  let traffic: Traffic = new Map();
  const pending = new Set<string>();

  const asked = (): string =>
    JSON.stringify([
      evacuations.running().map((one) => [one.metadata.uid, one.metadata.generation, evacuations.isAccepted(one)]),
      zonesOfNodes(caches.nodes.list()),
    ]);

  return {
    get began() {
      return last !== '';
    },
    get pending() {
      return pending.size;
    },
    async sort(signal) {
      traffic = await readTraffic(options, signal);
    },
    run(slices) {
      const now = asked();
      if (now === last && clock.monotonic() - lastAt < RESYNC_MS) return;
      const keys = inOrder(slices, traffic, own);
      if (now !== last) for (const key of keys) pending.add(key);
      last = now;
      lastAt = clock.monotonic();
      for (const key of keys) options.enqueue(key);
    },
    done: (service) => void pending.delete(service),
    forget() {
      last = '';
      pending.clear();
    },
  };
};
