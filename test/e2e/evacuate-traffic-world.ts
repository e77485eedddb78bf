// Three zones with fixed-rate clients and four Services that differ in what is done for them when zone a gets sick.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../fixtures/core.ts';
import type { Bed, BedService } from './bed/index.ts';
import { is, waitFor } from './bed/machine.ts';
import { nft } from './chaos-faults.ts';
import { PODS_PER_ZONE, ZONES } from './closed-loop-results.ts';
import { type Recorder, type Zone, createRecorder, startZone } from './closed-loop-zone.ts';
import { readRules } from './proxy-rules.ts';

interface Sickness {
  /** Of the packets from a Pod, and of those to it, in thousandths. */
  readonly lostPerThousand: number;
  /** That each answer comes later, in milliseconds. */
  readonly slowMs: number;
}

const table = ['inet', 'sick'] as const;

/** Begins it; returns what ends it. The node's own addresses, kube-proxy's among them, lose nothing. */
export const makeSick = async ({ node, pods, traffic }: Zone, sickness: Sickness): Promise<() => Promise<void>> => {
  const { lostPerThousand, slowMs } = sickness;
  const addresses = `{ ${pods.map((pod) => pod.addresses.ipv4).join(', ')} }`;
  const loses = ['numgen', 'random', 'mod', '1000', '<', String(lostPerThousand), 'drop'];
  await nft(node.namespace, 'add', 'table', ...table);
  for (const [hook, side] of Object.entries({ input: 'daddr', output: 'saddr' })) {
    await nft(node.namespace, 'add', 'chain', ...table, hook, `{ type filter hook ${hook} priority 0; }`);
    await nft(node.namespace, 'add', 'rule', ...table, hook, 'ip', side, addresses, ...loses);
  }
  await traffic.perform({ task: 'slow', ms: slowMs });
  return async () => {
    await traffic.perform({ task: 'slow', ms: 0 });
    await nft(node.namespace, 'delete', 'table', ...table);
  };
};

export const SHOP = 'shop';
/** Evacuated with `kubectl topology evacuate`; `kept` is asked over connections that stay. */
export const EVACUATED = 'evacuated';
export const KEPT = 'kept';
/** A controller takes the zone's endpoints out of its slice. */
export const REMOVED = 'removed';
export const NOTHING = 'nothing';
export const SERVICES = [EVACUATED, KEPT, REMOVED, NOTHING] as const;
/** Label of the Services that the evacuation is about. */
export const SCOPE = { key: 'drill', value: 'yes' } as const;
const port = 8080;

/** Zones' endpoints in the slice of `removed`, which is written by the test alone: on EKS, the EndpointSlice controller does it. */
const sliceOfRemoved = (zones: ReadonlyMap<string, Zone>, without: string | undefined): EndpointSlice => {
  const left = [...zones].filter(([zone]) => zone !== without);
  const endpoints = left.flatMap(([zone, { node, pods }]) =>
    pods
      .filter(({ name }) => name.startsWith(REMOVED))
      .map(({ addresses: { ipv4 } }) => endpoint({ zone, nodeName: node.name, addresses: [ipv4] })),
  );
  const labels = { 'endpointslice.kubernetes.io/managed-by': 'zonal-shift.e2e' };
  const ports = [{ name: 'main', protocol: 'TCP', port }];
  return slice({ service: REMOVED, metadata: { name: `${REMOVED}-1`, namespace: SHOP, labels }, ports, endpoints });
};

export interface TrafficWorld {
  readonly recorder: Recorder;
  zone(name: string): Zone;
  /** Every Service gets so many requests a second from each zone. */
  send(rate: number): Promise<void>;
  /** Takes a zone's endpoints out of the slice of `removed`, or all back. */
  remove(zone: string | undefined): Promise<void>;
  reported(second: number): Promise<void>;
}

const createServices = async (bed: Bed): Promise<BedService[]> => {
  const services: BedService[] = [];
  for (const name of SERVICES) {
    const labels = name === EVACUATED || name === KEPT ? { [SCOPE.key]: SCOPE.value } : {};
    // A Service without a selector has the slices that others write.
    const spec = name === REMOVED ? { spec: { selector: undefined } } : {};
    services.push(await bed.service({ name, namespace: SHOP, targetPort: port, labels, ...spec }));
  }
  return services;
};

const settled = async (zones: ReadonlyMap<string, Zone>, services: readonly BedService[]): Promise<void> => {
  for (const { node } of zones.values()) {
    for (const service of services)
      await waitFor(
        `rules of ${node.name} for ${service.name}`,
        async () => (await readRules(node.namespace, 'IPv4')).used(service.clusterIPs[0] ?? '', service.port)?.length,
        is(ZONES.length * PODS_PER_ZONE),
      );
  }
};

/** Builds it, and waits until every Service reaches all of its Pods from everywhere. */
export const createTrafficWorld = async (bed: Bed, client: Client): Promise<TrafficWorld> => {
  const recorder = createRecorder();
  const zones = new Map<string, Zone>();
  for (const [index, zone] of ZONES.entries())
    zones.set(
      zone,
      await startZone(bed, { zone, seed: index + 1, recorder, namespace: SHOP, services: SERVICES, port }),
    );
  const services = await createServices(bed);
  await client.create<EndpointSlice>(ENDPOINT_SLICES, sliceOfRemoved(zones, undefined));
  await settled(zones, services);
  return {
    recorder,
    zone(name) {
      const found = zones.get(name);
      if (found === undefined) throw new Error(`there is no zone ${name}`);
      return found;
    },
    async send(rate) {
      const tasks = [...zones.values()].flatMap(({ traffic }) =>
        services.map(({ name, clusterIPs, port: to }) => {
          const longLivedShare = name === KEPT ? 1 : 0;
          return traffic.perform({
            task: 'send',
            service: name,
            address: clusterIPs[0] ?? '',
            port: to,
            rate,
            longLivedShare,
          });
        }),
      );
      await Promise.all(tasks);
    },
    async remove(zone) {
      const { endpoints } = sliceOfRemoved(zones, zone);
      await client.patch(ENDPOINT_SLICES, { namespace: SHOP, name: `${REMOVED}-1` }, 'merge', { endpoints });
    },
    reported: (second) => recorder.reported(second),
  };
};
