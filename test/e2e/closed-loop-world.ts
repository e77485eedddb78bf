// Three zones with a Service for each strategy, the real flow-controller, and the sources that it reads load from.
import { flowPolicyDefinition } from '../../hack/lib/crd.ts';
import type { FlowPolicy, FlowPolicySpec } from '../../pkg/apis/flow-policy.ts';
import { ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import type { Component } from './bed/component.ts';
import type { Bed, BedService } from './bed/index.ts';
import { is, waitFor } from './bed/machine.ts';
import type { ServiceOptions } from './bed/pod.ts';
import { type MetricsPath, POD, PODS_PER_ZONE, type PlanChange, ZONES, type ZoneRates } from './closed-loop-results.ts';
import { createRecorder, hangZone, killZone, releaseZone, reviveZone, startZone } from './closed-loop-zone.ts';
import type { Recorder, Zone } from './closed-loop-zone.ts';
import { describeFlowController, policyOf } from './flow-world.ts';
import { zonesOf } from './hints-support.ts';
import type { PodReading } from './metrics-api.ts';
import { readRules } from './proxy-rules.ts';
import type { Series } from './prometheus.ts';

export const SHOP = 'shop';
export const LOAD_AWARE = 'load-aware';
const port = 8080;

/** What a Service asks for, and whether its endpoints have hints before there is any load. */
export interface Strategy {
  readonly name: string;
  readonly service: Pick<ServiceOptions, 'labels' | 'annotations'>;
  readonly hinted: boolean;
  /** Clients ask a proxy of their own node by HTTP on this port of 127.0.0.1, and not the Service's address. */
  readonly proxyPort?: number;
}

/** Of a Service with the closed loop. */
export const loadAware = { annotations: { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/${LOAD_AWARE}` } };

export const STRATEGIES: readonly Strategy[] = [
  { name: 'spread', service: {}, hinted: false },
  { name: 'auto', service: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' } }, hinted: true },
  { name: 'same-zone', service: { labels: { [LABEL_STRATEGY]: 'same-zone' } }, hinted: true },
  { name: LOAD_AWARE, service: loadAware, hinted: true },
];

export interface World {
  readonly recorder: Recorder;
  readonly zones: ReadonlyMap<string, Zone>;
  readonly services: ReadonlyMap<string, BedService>;
  /** The Pods of Services with the closed loop, and their zones. */
  readonly pods: readonly { readonly name: string; readonly zone: string }[];
  /** Every Service gets so many requests a second from each zone from now on. */
  send(rates: ZoneRates, longLivedShare: number): Promise<void>;
  /** The zone's Pods answer no more; returns once the control plane knows. `hangs`: they alone, and connections to them are taken. */
  kill(zone: string, hangs?: boolean): Promise<void>;
  revive(zone: string): Promise<void>;
  /** Waits until every node has reported all seconds before this one. */
  reported(second: number): Promise<void>;
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
      is(hinted ? PODS_PER_ZONE : endpoints),
    );
  }
};

const createServices = async (bed: Bed, strategies: readonly Strategy[]): Promise<Map<string, BedService>> => {
  const services = new Map<string, BedService>();
  for (const { name, service } of strategies)
    services.set(name, await bed.service({ name, namespace: SHOP, targetPort: port, ...service }));
  return services;
};

type Send = World['send'];

const sendTo =
  (
    zones: ReadonlyMap<string, Zone>,
    services: ReadonlyMap<string, BedService>,
    strategies: readonly Strategy[],
  ): Send =>
  async (rates, longLivedShare) => {
    const tasks = [...zones].flatMap(([zone, { traffic }]) =>
      strategies.map(({ name, proxyPort }) => {
        const { clusterIPs, port: servicePort } = find(services, name);
        const direct = { address: clusterIPs[0] ?? '', port: servicePort };
        const to = proxyPort === undefined ? direct : { address: '127.0.0.1', port: proxyPort, http: true };
        return traffic.perform({ task: 'send', service: name, ...to, rate: rates[zone] ?? 0, longLivedShare });
      }),
    );
    await Promise.all(tasks);
  };

/** Builds it, and waits until every Service is routed as its strategy has it without load. */
export const createWorld = async (
  bed: Bed,
  strategies: readonly Strategy[] = STRATEGIES,
  minSyncPeriod?: string,
): Promise<World> => {
  const recorder = createRecorder();
  const zones = new Map<string, Zone>();
  const names = (of: readonly Strategy[]): string[] => of.map(({ name }) => name);
  const http = names(strategies.filter(({ proxyPort }) => proxyPort !== undefined));
  for (const [index, zone] of ZONES.entries()) {
    const common = { recorder, namespace: SHOP, services: names(strategies), port, http, minSyncPeriod };
    zones.set(zone, await startZone(bed, { zone, seed: index + 1, ...common }));
  }
  const services = await createServices(bed, strategies);
  for (const { name, hinted } of strategies) await settled(zones, find(services, name), hinted);
  const hanging = new Set<string>();
  const planned = names(strategies.filter(({ service }) => service === loadAware));
  return {
    recorder,
    zones,
    services,
    pods: [...zones].flatMap(([zone, { pods }]) =>
      pods.filter(({ name }) => planned.some((app) => name.startsWith(app))).map(({ name }) => ({ name, zone })),
    ),
    send: sendTo(zones, services, strategies),
    kill(name, hangs = false) {
      if (hangs) hanging.add(name);
      return (hangs ? hangZone : killZone)(find(zones, name));
    },
    revive: (name) => (hanging.delete(name) ? releaseZone : reviveZone)(find(zones, name)),
    reported: (second) => recorder.reported(second),
  };
};

/** Metrics-server's: a sample every fifteen seconds, over as many, and known when kubelet and metrics-server have passed it on. */
const SAMPLE_SECONDS = 15;
const LATE_SECONDS = 15;

/** Prometheus scrapes every second here; what lies between the last two scrapes is at most two seconds old. */
const RATE_SECONDS = 2;

/** Name of the source in the flow-controller's configuration. */
const PROMETHEUS_SOURCE = 'prometheus';

const SERVED = 'shop_requests_served_total';

/** As metrics-server has it: what each Pod served, one core being all that it can. `now`: seconds since 1970. */
export const readingsOf = (
  { pods, recorder }: Pick<World, 'pods' | 'recorder'>,
  now = Date.now() / 1_000,
): PodReading[] => {
  const until = SAMPLE_SECONDS * Math.floor((now - LATE_SECONDS) / SAMPLE_SECONDS);
  return pods.flatMap(({ name, zone }) => {
    const rate = recorder.served(zone, name, SAMPLE_SECONDS, until);
    if (rate === undefined) return [];
    return {
      namespace: SHOP,
      pod: name,
      labels: { app: LOAD_AWARE },
      cores: rate.requestsPerSecond / POD.requestsPerSecond,
      sampledAt: rate.endsAt,
      window: SAMPLE_SECONDS,
    };
  });
};

/** Every Pod's counter of served requests. */
export const countersOf = ({ pods, recorder }: Pick<World, 'pods' | 'recorder'>): Series[] =>
  pods.flatMap(({ name }) => {
    const value = recorder.total(name);
    return value === undefined ? [] : { name: SERVED, labels: { namespace: SHOP, pod: name }, value };
  });

const ASKED = 'shop_requests_total';

/** Requests that arrived by pair of zones, as a mesh or eBPF would count them. */
export const pairsOf = ({ zones, recorder }: Pick<World, 'zones' | 'recorder'>): Series[] =>
  [...recorder.asked].flatMap(([destination, services]) =>
    Object.entries(services).flatMap(([service, counts]) =>
      [...zones].map(([source, { node }]) => ({
        name: ASKED,
        labels: { namespace: SHOP, service, source_zone: source, destination_zone: destination },
        value: counts[node.addresses.ipv4] ?? 0,
      })),
    ),
  );

/** How a FlowPolicy asks for its metrics. */
export const METRICS: Readonly<Record<MetricsPath, NonNullable<FlowPolicySpec['metrics']>>> = {
  'metrics.k8s.io': { source: 'metrics.k8s.io' },
  Prometheus: {
    source: PROMETHEUS_SOURCE,
    query: `sum by (namespace, pod) (irate(${SERVED}[5s])) / ${POD.requestsPerSecond}`,
    // As often as it scrapes.
    interval: '1s',
  },
};

/** Everything else is the default. */
const POLICY: FlowPolicySpec = {
  // What a Pod serves is given in cores: one is as much as it can.
  capacity: { from: 'Value', value: '1' },
};

/** By the load of Pods, and by requests of pairs of zones. */
export const POLICIES_BY_SOURCE = {
  pods: { ...POLICY, metrics: METRICS.Prometheus },
  pairs: {
    capacity: { from: 'Value', value: String(POD.requestsPerSecond) },
    metrics: {
      source: PROMETHEUS_SOURCE,
      query: `sum by (source_zone, destination_zone) (irate(${ASKED}{namespace="$namespace", service="$service"}[5s]))`,
      interval: '1s',
    },
  },
} as const;

export interface FlowController {
  readonly component: Component;
  /**
   * Begins anew, once the plan of the run before is returned from: a run that was disturbed may leave endpoints that help other zones, and the
   * early return that the loop has once an hour is not used up.
   */
  restart(): Promise<void>;
  /** From now on the load is read in this way. */
  read(metrics: NonNullable<FlowPolicySpec['metrics']>): Promise<void>;
  /** Its changes of hints from a second to another, both since 1970. Default: of the one Service that closed-loop has. */
  changes(from: number, to: number, service?: string): Promise<PlanChange[]>;
}

const POLICIES = `/apis/${GROUP}/v1alpha1/namespaces/${SHOP}/flowpolicies`;

/** The changes that a FlowPolicy lists, in seconds since `from`. */
const changesBetween = ({ status }: FlowPolicy, from: number, to: number): PlanChange[] =>
  (status?.lastChanges ?? [])
    .map(({ time, reason }) => ({ at: Math.round(Date.parse(time) / 1000 - from), reason }))
    .filter(({ at }) => at >= 0 && at < to - from)
    .sort((left, right) => left.at - right.at);

const installFlowPolicies = async (bed: Bed): Promise<void> => {
  await bed.api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', flowPolicyDefinition());
  await waitFor('FlowPolicies are served', () => bed.api.list(POLICIES));
};

/** Starts it with both sources, and FlowPolicies by Service. */
export const startFlowController = async (
  bed: Bed,
  prometheusUrl: string,
  policies: Readonly<Record<string, FlowPolicySpec>> = { [LOAD_AWARE]: POLICY },
): Promise<FlowController> => {
  await installFlowPolicies(bed);
  const common = { cacheSeconds: 0 };
  const prometheus = { name: PROMETHEUS_SOURCE, type: 'Prometheus', windowSeconds: RATE_SECONDS, ...common };
  const metricSources = [
    { name: 'metrics.k8s.io', type: 'ResourceMetrics', ...common },
    { ...prometheus, url: prometheusUrl },
  ];
  for (const [name, spec] of Object.entries(policies)) await bed.api.create(POLICIES, policyOf(SHOP, name, spec));
  const { controller, ready } = await describeFlowController(bed, { metricSources });
  controller.start();
  await ready();
  const pathOf = (service: string): string => `${POLICIES}/${service}`;
  return {
    component: controller,
    async restart() {
      const spec = (service: string, fields: object) => bed.api.patch(pathOf(service), { spec: fields });
      for (const service of Object.keys(policies)) {
        // Back at once: the load is that of the end of a run, which no zone needs another for.
        await spec(service, { downDwell: '1s', planInterval: '1s' });
        await waitFor(
          `every endpoint of ${service} serves its own zone`,
          () => bed.api.get<FlowPolicy>(pathOf(service)),
          ({ status }) => status?.plan === undefined || (!status.plan.spread && status.plan.endpoints.length === 0),
          { intervalMs: 500, assert: () => controller.assertRunning() },
        );
        await spec(service, { downDwell: null, planInterval: null });
      }
      await controller.stop();
      controller.start();
      await ready();
    },
    async read(metrics) {
      // A merge patch keeps what is not named.
      await bed.api.patch(pathOf(LOAD_AWARE), { spec: { metrics: { query: null, ...metrics } } });
    },
    changes: async (from, to, service = LOAD_AWARE) =>
      changesBetween(await bed.api.get<FlowPolicy>(pathOf(service)), from, to),
  };
};
