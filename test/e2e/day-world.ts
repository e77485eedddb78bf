// The Services and Pods of the compressed day, what an hour does to them, and what must be true in the end.
import type { Endpoint, EndpointSlice, Service } from '../../pkg/apis/core.ts';
import { ANNOTATION_PLAN, LABEL_SERVICE_NAME, LABEL_STRATEGY, PLAN_SPREAD } from '../../pkg/apis/names.ts';
import type { Strategy } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, PODS, SERVICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { createPod, setPodStatus } from './churn-objects.ts';
import type { PlainNode } from './churn-objects.ts';
import { strategyOf } from './day-plan.ts';
import type { DayPlan } from './day-plan.ts';
import { policyOf } from './flow-world.ts';
import { each, hasOwnZone, zonesOf } from './hints-support.ts';
import type { PodReading } from './metrics-api/index.ts';

interface FleetPod {
  readonly service: number;
  readonly name: string;
  readonly number: number;
}

export interface DayWorld {
  /** Creates Services and Pods. */
  create(): Promise<void>;
  /** Replaces Pods, switches the readiness of others off and on, takes labels away or gives them back. */
  live(hour: number): Promise<void>;
  /** The load of the Pods of load-aware Services, for a metrics API: all alike, and none too much. */
  readings(): PodReading[];
  /** What is not as it must be; empty when every Service has its settings, its Pods and its hints. */
  differences(trafficDistribution: string): Promise<string[]>;
}

/** Coprime to every number of Pods here: steps of it reach all of them, far from each other. */
const stride = 7_919;
/** A loop that looks, and changes its mind, within the quiet at the end of an hour or two. */
const POLICY = {
  metrics: { interval: '10s' },
  capacity: { from: 'Value', value: '1' },
  upDwell: '10s',
  downDwell: '10s',
  planInterval: '10s',
};
const CORES = 0.3;
const concurrency = 8;
const servicesPerNamespace = 10;

export const dayNamespaces = ({ services }: DayPlan): string[] =>
  Array.from({ length: Math.ceil(services / servicesPerNamespace) }, (_, index) => `day-${index}`);

const endpointsOf = (slices: readonly EndpointSlice[]): Endpoint[] =>
  slices.flatMap(({ endpoints }) => endpoints ?? []);

/** A plan gives every endpoint a zone, or is marked to give none any. */
const isPlanned = (slices: readonly EndpointSlice[]): boolean => {
  const spread = slices.some(({ metadata }) => metadata?.annotations?.[ANNOTATION_PLAN] === PLAN_SPREAD);
  return endpointsOf(slices).every((one) => (spread ? one.hints === undefined : zonesOf(one).length > 0));
};
const isOwn = (slices: readonly EndpointSlice[]): boolean => endpointsOf(slices).every(hasOwnZone);

/** Whether slices have the hints of a strategy. */
const hinted: Readonly<Record<Strategy | 'none', (slices: readonly EndpointSlice[]) => boolean>> = {
  'same-zone': isOwn,
  'same-node': isOwn,
  proportional: isPlanned,
  'load-aware': isPlanned,
  none: (slices) => endpointsOf(slices).every((one) => one.hints === undefined),
};

export const createDayWorld = (client: Client, plan: DayPlan, nodes: readonly PlainNode[]): DayWorld => {
  const namespaceOf = (service: number): string => `day-${Math.floor(service / servicesPerNamespace)}`;
  const nameOf = (service: number): string => `service-${service}`;
  const labelled = new Set(Array.from({ length: plan.services }, (_, index) => index));
  const fleet: FleetPod[] = [];
  let lastNumber = 256;

  const start = async (service: number): Promise<FleetPod> => {
    const number = (lastNumber += 1);
    const pod = { service, name: `pod-${number}`, number };
    const node = nodes[(number * 31) % nodes.length];
    if (node === undefined) throw new Error('a day needs nodes');
    await createPod(client, { ...pod, namespace: namespaceOf(service), app: nameOf(service), node });
    return pod;
  };
  const ready = ({ service, name, number }: FleetPod, value: boolean): Promise<void> =>
    setPodStatus(client, { namespace: namespaceOf(service), name }, number, value);

  /** Indices of the Pods that an hour touches; `lane` keeps two choices of one hour apart. */
  const chosen = (hour: number, lane: number): number[] =>
    Array.from(
      { length: plan.changesPerHour },
      (_, index) => (((2 * hour + lane) * plan.changesPerHour + index) * stride) % fleet.length,
    );

  const replace = async (index: number): Promise<void> => {
    const old = fleet[index];
    if (old === undefined) return;
    fleet[index] = await start(old.service);
    await client.delete(PODS, { namespace: namespaceOf(old.service), name: old.name }, { gracePeriodSeconds: 0 });
  };

  /** One Service in twenty, others every hour; asked again, it gets its label back. */
  const relabel = async (service: number): Promise<void> => {
    const strategy = labelled.has(service) ? null : strategyOf(service);
    if (strategy === null) labelled.delete(service);
    else labelled.add(service);
    const ref = { namespace: namespaceOf(service), name: nameOf(service) };
    await client.patch(SERVICES, ref, 'merge', { metadata: { labels: { [LABEL_STRATEGY]: strategy } } });
  };

  const settings = async (trafficDistribution: string): Promise<string[]> => {
    const wrong: string[] = [];
    for await (const { items } of client.pages<Service>(SERVICES)) {
      for (const { metadata, spec } of items) {
        const service = Number(/^service-(\d+)$/.exec(metadata?.name ?? '')?.[1] ?? -1);
        const routed = labelled.has(service) && strategyOf(service) === 'same-zone';
        const expected = routed ? trafficDistribution : undefined;
        const found = spec?.trafficDistribution;
        if (service >= 0 && found !== expected) wrong.push(`Service ${metadata?.name}: ${found}, expected ${expected}`);
      }
    }
    return wrong;
  };

  const published = async (): Promise<string[]> => {
    const found = new Map<string, EndpointSlice[]>();
    for await (const { items } of client.pages<EndpointSlice>(ENDPOINT_SLICES)) {
      for (const slice of items) {
        const name = slice.metadata?.labels?.[LABEL_SERVICE_NAME] ?? '';
        found.set(name, [...(found.get(name) ?? []), slice]);
      }
    }
    const pods = Map.groupBy(fleet, ({ service }) => nameOf(service));
    return [...pods].flatMap(([name, expected]) => {
      const endpoints = endpointsOf(found.get(name) ?? []);
      const sorted = (names: readonly (string | undefined)[]): string => names.map(String).toSorted().join(' ');
      const [is, shall] = [
        sorted(endpoints.map((one) => one.targetRef?.name)),
        sorted(expected.map((pod) => pod.name)),
      ];
      if (is !== shall) return [`slices of ${name}: ${is}, expected ${shall}`];
      const service = expected[0]?.service ?? -1;
      const wish = labelled.has(service) ? strategyOf(service) : 'none';
      return hinted[wish](found.get(name) ?? []) ? [] : [`slices of ${name}: hints, expected those of ${wish}`];
    });
  };

  return {
    async create() {
      // Before their Services: the controller makes one with its defaults where there is none.
      const loaded = [...labelled].filter((service) => strategyOf(service) === 'load-aware');
      await each(loaded, concurrency, (service) =>
        client.create(FLOW_POLICIES, policyOf(namespaceOf(service), nameOf(service), POLICY)),
      );
      await each([...labelled], concurrency, (service) =>
        client.create<Service>(SERVICES, {
          metadata: {
            namespace: namespaceOf(service),
            name: nameOf(service),
            labels: { [LABEL_STRATEGY]: strategyOf(service) },
          },
          spec: { clusterIP: 'None', selector: { app: nameOf(service) }, ports: [{ name: 'main', port: 80 }] },
        }),
      );
      const owners = [...labelled].flatMap((service) => Array.from({ length: plan.podsPerService }, () => service));
      await each(owners, concurrency, async (service) => void fleet.push(await start(service)));
    },
    async live(hour) {
      const moving = chosen(hour, 1);
      await each(chosen(hour, 0), concurrency, replace);
      for (const value of [false, true]) {
        await each(moving, concurrency, async (index) => {
          const pod = fleet[index];
          if (pod !== undefined) await ready(pod, value);
        });
      }
      const some = [...Array.from({ length: plan.services }).keys()].filter((service) => (service + hour) % 20 === 0);
      await each(some, concurrency, relabel);
    },
    readings() {
      const sampledAt = Date.now() / 1_000;
      return fleet
        .filter(({ service }) => strategyOf(service) === 'load-aware')
        .map(({ service, name }) => ({
          namespace: namespaceOf(service),
          pod: name,
          labels: { app: nameOf(service) },
          cores: CORES,
          sampledAt,
          window: 1,
        }));
    },
    differences: async (trafficDistribution) => [...(await settings(trafficDistribution)), ...(await published())],
  };
};
