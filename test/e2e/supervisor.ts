// Does for the programs of a bed what a kubelet does: starts them again when they ended, and publishes those that are ready.
import { setTimeout as pause } from 'node:timers/promises';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import type { Component } from './bed/component.ts';
import { controlPlaneAddresses } from './bed/machine.ts';
import { NAMESPACE, WEBHOOK } from './chart.ts';

export interface Supervisor {
  /** How often each program was started again, by name. */
  readonly restarts: ReadonlyMap<string, number>;
  /** Ends the supervision; the programs go on. */
  stop(): Promise<void>;
}

const INTERVAL_MS = 100;

/** Repeats `turn` until stopped. */
const repeat = (intervalMs: number, turn: (signal: AbortSignal) => Promise<void>): { stop(): Promise<void> } => {
  const ending = new AbortController();
  const { signal } = ending;
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      await turn(signal);
      await pause(intervalMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = loop();
  return {
    stop() {
      ending.abort();
      return running;
    },
  };
};

/** Starts whatever ended again, a moment after it was seen, as after a first crash. */
export const supervise = (components: readonly Component[]): Supervisor => {
  const restarts = new Map<string, number>();
  const loop = repeat(INTERVAL_MS, async () => {
    for (const component of components) {
      if (component.pid !== undefined) continue;
      component.start();
      restarts.set(component.name, (restarts.get(component.name) ?? 0) + 1);
    }
    await Promise.resolve();
  });
  return { restarts, stop: () => loop.stop() };
};

/** A replica of the webhook in the control plane's namespace. */
export interface Replica {
  readonly component: Component;
  readonly port: number;
  readonly healthPort: number;
}

const sliceName = (index: number): string => (index === 0 ? `${WEBHOOK}-bed` : `${WEBHOOK}-bed-${index + 1}`);

/** All replicas share an address here, so each has a slice with its own port. */
export const replicaSlice = ({ port }: Replica, index: number, ready: boolean): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { namespace: NAMESPACE, name: sliceName(index), labels: { 'kubernetes.io/service-name': WEBHOOK } },
  addressType: 'IPv4',
  ports: [{ name: 'https', port, protocol: 'TCP' }],
  endpoints: ready ? [{ addresses: [controlPlaneAddresses.ipv4], conditions: { ready: true } }] : [],
});

const PROBE_MS = 3_000;

/** Whether it is ready; only silence is asked about again, three times in all as a kubelet does it. */
export const probeReady = (url: string, tries = 3): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(PROBE_MS) }).then(
    ({ status }) => status === 200,
    (error: unknown) => tries > 1 && (error as Error).name === 'TimeoutError' && probeReady(url, tries - 1),
  );

export interface PublishOptions {
  readonly client: Client;
  readonly replicas: readonly Replica[];
  /** Milliseconds between two looks. Default 300. */
  readonly intervalMs?: number;
}

/** Keeps the slices of the webhook's Service in line with the readiness of its replicas. The slices must exist. */
export const publishReplicas = ({ client, replicas, intervalMs = 300 }: PublishOptions): { stop(): Promise<void> } => {
  const published = new Map<number, boolean>();
  const publish = async (replica: Replica, index: number, signal: AbortSignal): Promise<void> => {
    const ready = await probeReady(`http://127.0.0.1:${replica.healthPort}/readyz`);
    if (published.get(index) === ready) return;
    const ref = { namespace: NAMESPACE, name: sliceName(index) };
    const { endpoints } = replicaSlice(replica, index, ready);
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(3_000)]);
      await client.patch(ENDPOINT_SLICES, ref, 'merge', { endpoints }, {}, limited);
      published.set(index, ready);
    } catch {
      // The API server is away: the next turn tries again.
    }
  };
  return repeat(intervalMs, async (signal) => {
    await Promise.all(replicas.map((replica, index) => publish(replica, index, signal)));
  });
};
