// Three zones with a Service for each strategy, its Pods that are queues, and clients that ask all Services for the same.
import { ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import type { Bed, BedService } from './bed/index.ts';
import type { ServiceOptions } from './bed/service.ts';
import { waitFor } from './bed/wait-for.ts';
import { createRecorder } from './closed-loop-recorder.ts';
import type { Recorder } from './closed-loop-recorder.ts';
import { PODS_PER_ZONE, ZONES } from './closed-loop-scenarios.ts';
import type { ZoneRates } from './closed-loop-types.ts';
import { killZone, reviveZone, startZone } from './closed-loop-zone.ts';
import type { Zone } from './closed-loop-zone.ts';
import { zonesOf } from './hints-support.ts';
import { readRules } from './model-rules.ts';

export const SHOP = 'shop';
export const LOAD_AWARE = 'load-aware';
const port = 8080;

/** What a Service asks for, and whether its endpoints have hints before there is any load. */
interface Strategy {
  readonly name: string;
  readonly service: Pick<ServiceOptions, 'labels' | 'annotations'>;
  readonly hinted: boolean;
}

export const STRATEGIES: readonly Strategy[] = [
  { name: 'spread', service: {}, hinted: false },
  { name: 'auto', service: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' } }, hinted: true },
  { name: 'same-zone', service: { labels: { [LABEL_STRATEGY]: 'same-zone' } }, hinted: true },
  {
    name: LOAD_AWARE,
    service: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/${LOAD_AWARE}` } },
    hinted: true,
  },
];

export interface World {
  readonly recorder: Recorder;
  /** The Pods of the Service with the closed loop, and their zones. */
  readonly pods: readonly { readonly name: string; readonly zone: string }[];
  /** Every Service gets so many requests a second from each zone from now on. */
  send(rates: ZoneRates, longLivedShare: number): Promise<void>;
  /** The zone's Pods answer no more; returns once the control plane knows. */
  kill(zone: string): Promise<void>;
  revive(zone: string): Promise<void>;
  /** Waits until every node has reported all seconds before this one. */
  reported(second: number): Promise<void>;
  stop(): Promise<void>;
}

const find = <T>(all: ReadonlyMap<string, T>, name: string): T => {
  const found = all.get(name);
  if (found === undefined) throw new Error(`the world has no ${name}`);
  return found;
};

/** Waits until the proxies of all zones choose as the strategy has it where there is no load: in the zone, or all over. */
const settled = async (zones: ReadonlyMap<string, Zone>, service: BedService, hinted: boolean): Promise<void> => {
  const endpoints = ZONES.length * PODS_PER_ZONE;
  await waitFor(
    `${endpoints} endpoints of ${service.name} ${hinted ? 'with' : 'without'} hints`,
    () => service.endpoints(),
    (all) => all.length === endpoints && all.every((one) => zonesOf(one).length > 0 === hinted),
  );
  for (const { node } of zones.values()) {
    await waitFor(
      `rules of ${node.name} for ${service.name}`,
      async () => (await readRules(node.namespace, 'IPv4')).used(service.clusterIPs[0] ?? '', service.port)?.length,
      (count) => count === (hinted ? PODS_PER_ZONE : endpoints),
    );
  }
};

const createServices = async (bed: Bed): Promise<Map<string, BedService>> => {
  const services = new Map<string, BedService>();
  for (const { name, service } of STRATEGIES) {
    services.set(name, await bed.service({ name, namespace: SHOP, targetPort: port, ...service }));
  }
  return services;
};

type Send = World['send'];

const sendTo =
  (zones: ReadonlyMap<string, Zone>, services: ReadonlyMap<string, BedService>): Send =>
  async (rates, longLivedShare) => {
    const tasks = [...zones].flatMap(([zone, { traffic }]) =>
      [...services].map(([service, { clusterIPs, port: servicePort }]) => {
        const to = { service, address: clusterIPs[0] ?? '', port: servicePort };
        return traffic.perform({ task: 'send', ...to, rate: rates[zone] ?? 0, longLivedShare });
      }),
    );
    await Promise.all(tasks);
  };

/** Builds it, and waits until every Service is routed as its strategy has it without load. */
export const createWorld = async (bed: Bed): Promise<World> => {
  const recorder = createRecorder();
  const zones = new Map<string, Zone>();
  const strategies = STRATEGIES.map(({ name }) => name);
  for (const [index, zone] of ZONES.entries()) {
    const common = { recorder, namespace: SHOP, services: strategies, port };
    zones.set(zone, await startZone(bed, { zone, seed: index + 1, ...common }));
  }
  const services = await createServices(bed);
  for (const { name, hinted } of STRATEGIES) await settled(zones, find(services, name), hinted);
  return {
    recorder,
    pods: [...zones].flatMap(([zone, { pods }]) =>
      pods.filter(({ name }) => name.startsWith(LOAD_AWARE)).map(({ name }) => ({ name, zone })),
    ),
    send: sendTo(zones, services),
    kill: (name) => killZone(find(zones, name)),
    revive: (name) => reviveZone(find(zones, name)),
    async reported(second) {
      await waitFor(
        `reports of all zones up to ${second}`,
        () => Math.min(...ZONES.map((zone) => recorder.newest(zone) ?? 0)),
        (newest) => newest >= second - 1,
      );
    },
    async stop() {
      await Promise.all([...zones.values()].map(({ traffic }) => traffic.stop()));
    },
  };
};
