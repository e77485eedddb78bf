// A Service that nothing happens to, on real kube-proxies in every zone, and clients that never stop: what zones' evacuations cost them.
import { setTimeout as pause } from 'node:timers/promises';
import type { Bed, BedNode, BedService } from './bed/index.ts';
import { waitFor } from './bed/machine.ts';

export interface SteadyService {
  readonly nodes: readonly BedNode[];
  /** Connections that were answered so far. */
  readonly answered: number;
  /** What became of those that were not. */
  readonly failures: readonly string[];
  /** Waits until connections from every zone are spread as wanted; given is how many of 60 arrive in the zone. */
  settles(zone: string, what: string, accept: (there: number) => boolean): Promise<void>;
  stop(): Promise<void>;
}

const NAMESPACE = 'steady';
const PODS_PER_ZONE = 2;
/** From each zone, a look. */
const CONNECTIONS = 10;
const LOOK_MS = 250;
/** A machine full of work may be late, and an endpoint that is gone never answers. */
const TIMEOUT_MS = 20_000;

const create = async (bed: Bed, zones: readonly string[]): Promise<{ nodes: BedNode[]; service: BedService }> => {
  await bed.api.create('/api/v1/namespaces', { metadata: { name: NAMESPACE } });
  const nodes: BedNode[] = [];
  for (const zone of zones) nodes.push(await bed.node({ name: `steady-${zone}`, zone }));
  for (const node of nodes)
    for (let count = 0; count < PODS_PER_ZONE; count += 1) await bed.pod({ node, app: 'steady', namespace: NAMESPACE });
  const service = await bed.service({ name: 'steady', namespace: NAMESPACE });
  await waitFor(
    'the endpoints of the steady Service',
    () => service.endpoints(),
    ({ length }) => length === zones.length * PODS_PER_ZONE,
  );
  return { nodes, service };
};

/** Creates it, and connects from every zone until stopped. */
export const startSteadyService = async (bed: Bed, zones: readonly string[]): Promise<SteadyService> => {
  const { nodes, service } = await create(bed, zones);
  const counts = (node: BedNode, count: number) => bed.connect({ node, service, count, timeoutMs: TIMEOUT_MS });
  for (const node of nodes)
    await waitFor(
      `${node.name} reaches the steady Service`,
      () => bed.connect({ node, service, count: CONNECTIONS, timeoutMs: 1_000 }),
      ({ total }) => total === CONNECTIONS,
    );
  const ending = new AbortController();
  const { signal } = ending;
  const failures: string[] = [];
  let answered = 0;
  const follow = async (node: BedNode): Promise<void> => {
    while (!signal.aborted) {
      const { total, errors } = await counts(node, CONNECTIONS);
      answered += total;
      for (const [code, count] of Object.entries(errors)) failures.push(`${count} from ${node.name}: ${code}`);
      await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = Promise.all(nodes.map(follow));
  running.catch(() => undefined);
  return {
    nodes,
    get answered() {
      return answered;
    },
    failures,
    async settles(zone, what, accept) {
      for (const node of nodes)
        await waitFor(
          `connections from ${node.name} to ${zone}: ${what}`,
          () => counts(node, 60),
          ({ total, byZone }) => total === 60 && accept(byZone[zone] ?? 0),
          { timeoutSeconds: 120 },
        );
    },
    async stop() {
      ending.abort();
      await running;
    },
  };
};
