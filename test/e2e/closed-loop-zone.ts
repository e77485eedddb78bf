// One zone of real traffic: a node with the program that plays its Pods and clients, what it reports, and its death.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startAsked } from './bed/agent-client.ts';
import type { Bed, BedNode, BedPod } from './bed/index.ts';
import { addAddresses, atLeast, nodeDevice, removeAddresses, waitFor } from './bed/machine.ts';
import { POD, PODS_PER_ZONE, ZONES } from './closed-loop-results.ts';
import type { ServedTotals, TrafficMessage, TrafficReport, TrafficTask } from './closed-loop-ledger.ts';

/** What a Pod served over a window that is over. */
interface ServedRate {
  readonly requestsPerSecond: number;
  /** End of the window, seconds since 1970. */
  readonly endsAt: number;
}

/** Keeps what the nodes report, and tells a source of metrics what each Pod has served. */
export const createRecorder = () => {
  const byZone = new Map<string, TrafficReport[]>();
  const totals = new Map<string, number>();
  const asked = new Map<string, ServedTotals['asked']>();
  const of = (zone: string): TrafficReport[] => byZone.get(zone) ?? [];
  return {
    add(report: TrafficReport): void {
      byZone.set(report.zone, [...of(report.zone), report]);
    },
    count({ zone, served, asked: counts }: ServedTotals): void {
      asked.set(zone, counts);
      for (const [pod, total] of Object.entries(served)) totals.set(pod, total);
    },
    /** A Pod's own counter of served requests; undefined before its first. */
    total: (pod: string) => totals.get(pod),
    /** By zone of the endpoints: requests that arrived there. */
    asked: asked as ReadonlyMap<string, ServedTotals['asked']>,
    /** All nodes' reports of the seconds from the first to before the second. */
    between: (from: number, to: number) =>
      [...byZone.values()].flatMap((reports) => reports.filter(({ second }) => second >= from && second < to)),
    async reported(second: number): Promise<void> {
      await waitFor(
        `reports of all zones up to ${second}`,
        () => Math.min(...ZONES.map((zone) => of(zone).at(-1)?.second ?? 0)),
        atLeast(second - 1),
      );
    },
    /** Over the window that ends with `until`, seconds since 1970; undefined where the Pod's node did not report all of it. */
    served(zone: string, pod: string, windowSeconds: number, until: number): ServedRate | undefined {
      const reports = of(zone).filter(({ second }) => second >= until - windowSeconds && second < until);
      if (reports.length < windowSeconds) return undefined;
      const count = reports.reduce((sum, { pods }) => sum + (pods[pod]?.served ?? 0), 0);
      return { requestsPerSecond: count / windowSeconds, endsAt: until };
    },
  };
};
export type Recorder = ReturnType<typeof createRecorder>;

const programFile = fileURLToPath(new URL('./closed-loop-agent.ts', import.meta.url));

type Unasked = Exclude<TrafficMessage, { id: number }>;
type Answer = Extract<TrafficMessage, { id: number }>;
type TrafficNode = ReturnType<typeof startAsked<TrafficTask, Answer, Unasked>>;

export interface Zone {
  readonly node: BedNode;
  readonly traffic: TrafficNode;
  readonly pods: readonly BedPod[];
}

interface ZoneOptions {
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
  /** Of its kube-proxy; default: that one's. */
  readonly minSyncPeriod?: string | undefined;
  /** Those of the Services whose Pods speak HTTP. Default: none. */
  readonly http?: readonly string[];
}

/** From a zone's death to the control plane's knowing it; in a cluster it is the node monitor's grace period. */
const DETECTION_MS = 3_000;

/** Starts the node and its Pods, all ready; clients send nothing yet. */
export const startZone = async (bed: Bed, options: ZoneOptions): Promise<Zone> => {
  const { zone, seed, recorder, namespace, services, port, http = [], minSyncPeriod } = options;
  const node = await bed.node({ name: `node-${zone}`, zone, ...(minSyncPeriod !== undefined && { minSyncPeriod }) });
  const traffic = startAsked<TrafficTask, Answer, Unasked>(
    {
      namespace: node.namespace,
      logFile: join(bed.directory, 'logs', `traffic-${zone}.log`),
      program: [programFile, zone, String(seed)],
      what: `the traffic program of zone ${zone}`,
    },
    (message) => ('report' in message ? recorder.add(message.report) : recorder.count(message.totals)),
  );
  const pods: BedPod[] = [];
  for (const service of services) {
    for (let index = 0; index < PODS_PER_ZONE; index += 1) {
      const pod = await bed.pod({ node, app: service, namespace, serve: false, ready: false });
      const queue = { rate: POD.requestsPerSecond, places: POD.places };
      const spoken = { http: http.includes(service) };
      const { name, addresses } = pod;
      await traffic.perform({ task: 'serve', pod: name, service, address: addresses.ipv4, port, ...queue, ...spoken });
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

/** Longer than any suite takes. */
const NEVER_MS = 3_600_000;

/** The Pods take connections and answer nothing; a while later they are NotReady. The zone's Node and clients go on. */
export const hangZone = async ({ traffic, pods }: Zone): Promise<void> => {
  await traffic.perform({ task: 'slow', ms: NEVER_MS });
  await delay(DETECTION_MS);
  await Promise.all(pods.map((pod) => pod.setReady(false)));
};

export const releaseZone = async ({ traffic, pods }: Zone): Promise<void> => {
  await traffic.perform({ task: 'slow', ms: 0 });
  await Promise.all(pods.map((pod) => pod.setReady(true)));
};
