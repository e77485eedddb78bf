// The load of Services whose clients go where hints send them: for a metrics API whose numbers nobody sets by hand.
import { setTimeout as pause } from 'node:timers/promises';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { loadsUnderHints } from '../fixtures/flow-load.ts';
import { serviceSelector } from './hints-support.ts';
import type { PodReading } from './metrics-api/index.ts';

export interface LoadedService {
  readonly namespace: string;
  readonly name: string;
  /** Label `app` of its Pods, by which they are asked for. */
  readonly app: string;
  /** Cores by client zone; what it is at the moment of a look. */
  readonly demand: Readonly<Record<string, number>>;
}

export interface FollowedLoad {
  /** Of all Pods, as old as the last look that the API server answered. */
  readings(): PodReading[];
  stop(): Promise<void>;
}

const INTERVAL_MS = 500;
/** An API server that is frozen answers later, or never. */
const TRY_MS = 3_000;

/** Looks at the slices twice a second, until stopped. */
export const followLoad = (client: Client, services: readonly LoadedService[]): FollowedLoad => {
  const known = new Map<LoadedService, PodReading[]>();
  const ending = new AbortController();
  const { signal } = ending;
  const look = async (service: LoadedService): Promise<void> => {
    const { namespace, name, app, demand } = service;
    const until = AbortSignal.any([signal, AbortSignal.timeout(TRY_MS)]);
    const { items } = await client.list<EndpointSlice>(
      ENDPOINT_SLICES,
      { namespace, labelSelector: serviceSelector(name) },
      until,
    );
    const sampledAt = Date.now() / 1_000;
    const loads = loadsUnderHints(
      items.filter(({ addressType }) => addressType === 'IPv4'),
      demand,
    );
    known.set(
      service,
      [...loads].map(([pod, cores]) => ({ namespace, pod, labels: { app }, cores, sampledAt, window: 1 })),
    );
  };
  const follow = async (service: LoadedService): Promise<void> => {
    while (!signal.aborted) {
      // The API server may be away: the readings grow old, as they do in a real cluster.
      await look(service).catch(() => undefined);
      await pause(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = Promise.all(services.map(follow));
  return {
    readings: () => [...known.values()].flat(),
    async stop() {
      ending.abort();
      await running;
    },
  };
};
