// Simulated load: what the clients of every zone put on each Pod of the shop, by the slices as they are, measured every second.
import type { EndpointSlice, Node, Service } from '../../pkg/apis/core.ts';
import { LABEL_SERVICE_NAME } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../pkg/apis/resources.ts';
import { isNotFound } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { POD_METRICS } from '../../pkg/metrics/resource-metrics.ts';
import { inZoneShare, routeFor, trafficOf } from '../../pkg/upstream/index.ts';
import { SHOP, WEB, type ZoneDemand, podMetrics } from './shop.ts';
import { CLIENT_NODES } from './snapshot.ts';
import type { DemoPod } from './world.ts';

/** A Pod of the shop as clients find it. */
export interface PodLoad {
  readonly pod: DemoPod;
  readonly zone: string;
  /** Empty: no hint. */
  readonly forZones: readonly string[];
  /** Cores that it is asked for; it has one. */
  readonly load: number;
}

/** Where the load goes right now. */
export interface Load {
  readonly pods: readonly PodLoad[];
  /** Share of the load that stays in its zone, 0..1. */
  readonly inZone: number;
  /** Cores by zone of the clients, then by zone of the Pods. */
  readonly matrix: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export interface Plant {
  /** What clients ask for, cores by zone. */
  demand: ZoneDemand;
  /** Where it goes now. Also writes what each Pod used, where that was not done for a second: ask again and again. */
  look(): Promise<Load>;
}

const INTERVAL_MS = 1_000;

/** Writes one Pod's metrics; a Pod cannot use more than the core it has. */
const write = async (client: Client, pod: DemoPod, load: number): Promise<void> => {
  const measured = podMetrics(pod, Math.min(1, load), Date.now());
  const ref = { namespace: SHOP, name: pod.name };
  try {
    await client.patch(POD_METRICS, ref, 'merge', measured);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await client.create(POD_METRICS, measured);
  }
};

/** Where the load of `demand` goes by the slices that the cluster holds. */
const loadNow = async (client: Client, pods: readonly DemoPod[], minor: number, demand: ZoneDemand): Promise<Load> => {
  const labelSelector = `${LABEL_SERVICE_NAME}=${WEB}`;
  const [service, { items: slices }] = await Promise.all([
    client.get<Service>(SERVICES, { namespace: SHOP, name: WEB }),
    client.list<EndpointSlice>(ENDPOINT_SLICES, { namespace: SHOP, labelSelector }),
  ]);
  const version = { major: 1, minor };
  const endpointsFor = (node: Node) => routeFor({ node, service, slices, version }).used;
  const traffic = trafficOf({ nodes: CLIENT_NODES, endpointsFor, weights: demand });
  const total = Object.values(demand).reduce((sum, value) => sum + value, 0);
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? []);
  const loadOf = ({ address }: DemoPod): number =>
    total * ([...traffic.endpoints].find(([key]) => key.startsWith(`${address}:`))?.[1] ?? 0);
  return {
    inZone: inZoneShare(traffic),
    matrix: new Map(
      [...traffic.matrix].map(([from, row]) => [from, new Map([...row].map(([to, share]) => [to, share * total]))]),
    ),
    pods: pods.flatMap((pod) => {
      const endpoint = endpoints.find(({ addresses }) => addresses.includes(pod.address));
      if (endpoint === undefined) return [];
      const forZones = (endpoint.hints?.forZones ?? []).map(({ name }) => name);
      return { pod, zone: endpoint.zone ?? '', forZones, load: loadOf(pod) };
    }),
  };
};

export const createPlant = (client: Client, pods: readonly DemoPod[], minor: number, demand: ZoneDemand): Plant => {
  let measuredAt = -Infinity;
  const plant: Plant = {
    demand,
    async look() {
      const load = await loadNow(client, pods, minor, plant.demand);
      if (performance.now() - measuredAt >= INTERVAL_MS) {
        measuredAt = performance.now();
        await Promise.all(load.pods.map((one) => write(client, one.pod, one.load)));
      }
      return load;
    },
  };
  return plant;
};
