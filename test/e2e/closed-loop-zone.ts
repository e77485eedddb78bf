// One zone of the closed-loop suite: a node, the Pods of every Service on it, its clients, and its death.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { addAddresses, nodeDevice, removeAddresses } from './bed/network.ts';
import type { Bed, BedNode, BedPod } from './bed/index.ts';
import { startTrafficNode } from './closed-loop-node.ts';
import type { TrafficNode } from './closed-loop-node.ts';
import type { Recorder } from './closed-loop-recorder.ts';
import { POD, PODS_PER_ZONE } from './closed-loop-scenarios.ts';

export interface Zone {
  readonly node: BedNode;
  readonly traffic: TrafficNode;
  readonly pods: readonly BedPod[];
}

export interface ZoneOptions {
  readonly zone: string;
  /** Makes the clients' random choices repeatable. */
  readonly seed: number;
  readonly recorder: Recorder;
  /** Namespace of the Pods. */
  readonly namespace: string;
  /** Services with Pods here; each Pod has its Service's name as label `app`. */
  readonly services: readonly string[];
  /** That the Pods listen on. */
  readonly port: number;
}

/** From a zone's death to the control plane's knowing it; in a cluster it is the node monitor's grace period. */
const DETECTION_MS = 3_000;

/** Starts the node and its Pods, all ready; clients send nothing yet. */
export const startZone = async (bed: Bed, options: ZoneOptions): Promise<Zone> => {
  const { zone, seed, recorder, namespace, services, port } = options;
  const node = await bed.node({ name: `node-${zone}`, zone });
  const traffic = startTrafficNode({
    namespace: node.namespace,
    zone,
    seed,
    logFile: join(bed.directory, 'logs', `traffic-${zone}.log`),
    onReport: (report) => recorder.add(report),
    onTotals: (totals) => recorder.count(totals),
  });
  const pods: BedPod[] = [];
  for (const service of services) {
    for (let index = 0; index < PODS_PER_ZONE; index += 1) {
      const pod = await bed.pod({ node, app: service, namespace, serve: false, ready: false });
      const queue = { rate: POD.requestsPerSecond, places: POD.places };
      await traffic.perform({ task: 'serve', pod: pod.name, service, address: pod.addresses.ipv4, port, ...queue });
      await pod.setReady(true);
      pods.push(pod);
    }
  }
  return { node, traffic, pods };
};

const announce = async ({ node, pods }: Zone, ready: boolean): Promise<void> => {
  await node.setReady(ready);
  await Promise.all(pods.map((pod) => pod.setReady(ready)));
};

/** Packets to the Pods find nobody, as when a zone loses power: nothing is refused. A while later the control plane knows. */
export const killZone = async (zone: Zone): Promise<void> => {
  for (const { addresses } of zone.pods) await removeAddresses(zone.node.namespace, nodeDevice, addresses);
  await delay(DETECTION_MS);
  await announce(zone, false);
};

export const reviveZone = async (zone: Zone): Promise<void> => {
  for (const { addresses } of zone.pods) await addAddresses(zone.node.namespace, nodeDevice, addresses);
  await announce(zone, true);
};
