// Load, evacuations and witnesses of the chaos suite.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import type { FlowPolicy } from '../../pkg/apis/flow-policy.ts';
import { ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_MANAGED } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, SERVICES, ZONE_EVACUATIONS } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { service as serviceObject } from '../fixtures/core.ts';
import { ZONES } from '../fixtures/gardener.ts';
import type { Component } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { repeat } from './bed/machine.ts';
import type { Random } from './chaos-faults.ts';
import { FLOW, RECONCILER } from './chart.ts';
import { evacuationNamed } from './evacuations.ts';
import { APP, SCALE, type ShootHandle, flowControllerReplica, persist, webhookReplica } from './faults-world.ts';
import { type LoadedService, QUICK, policyOf } from './flow-world.ts';
import { serviceSelector, zonesOf } from './hints-support.ts';
import type { World } from './settings-world.ts';

interface Churn {
  /** Changes that the API server took. */
  readonly changes: number;
  /** Ends it after the change under way; rejects with what went wrong in it. */
  stop(): Promise<void>;
}

/** A shoot and its planned Services. */
export interface ChurnedShoot {
  readonly shoot: ShootHandle;
  readonly planned: PlannedShoot;
}

const plannedChangeOf = (planned: PlannedShoot, random: Random): (() => Promise<void>) => {
  const name = random.pick(PLANNED);
  const flip = random.next() < 0.5;
  return random.pick([
    async () => void (planned.loaded.demand = flip ? HOT : CALM),
    async () => void (planned.loaded.demand = flip ? HOT : CALM),
    // Most of the time it asks: a Service that does not is not planned for.
    () => planned.ask(name, random.next() < 0.8),
    () => planned.policy(flip),
    () => planned.deleteSlices(name),
  ]);
};

const changeOf = (shoot: ShootHandle, random: Random): (() => Promise<void>) => {
  const service = random.below(SCALE.services);
  const pod = random.below(SCALE.pods);
  const flip = random.next() < 0.5;
  return random.pick([
    () => shoot.setting(flip),
    () => (flip ? shoot.createService(service) : shoot.deleteService(service)),
    () => shoot.patchService(service, { metadata: { labels: { [LABEL_MANAGED]: String(flip) } } }),
    () => shoot.patchService(service, { spec: { trafficDistribution: null } }),
    () => shoot.patchService(service, { metadata: { labels: { churn: String(random.below(1_000)) } } }),
    () => (flip ? shoot.createPod(pod) : shoot.deletePod(pod)),
    () => shoot.readyPod(pod, flip),
    () => shoot.readyPod(pod, flip),
    () => shoot.deleteSlices(service),
  ]);
};

/** Of all changes, those of planned Services. */
const PLANNED_SHARE = 0.25;

/** One lane for each shoot, a change every `pauseMs` at most. */
export const startChurn = (shoots: readonly ChurnedShoot[], random: Random, pauseMs = 100): Churn => {
  let changes = 0;
  const lanes = shoots.map(({ shoot, planned }) =>
    repeat(pauseMs, async () => {
      const change = random.next() < PLANNED_SHARE ? plannedChangeOf(planned, random) : changeOf(shoot, random);
      await change();
      changes += 1;
    }),
  );
  return {
    get changes() {
      return changes;
    },
    stop: async () => void (await Promise.all(lanes.map((lane) => lane.stop()))),
  };
};

/** The shortest that the definition takes. */
export const SHORTEST = '1m';

/** Several may run at once, of one zone or of all but the last; `changes` counts what was made. */
export const startEvacuations = (client: Client, zones: readonly string[], random: Random): Churn => {
  let changes = 0;
  const evacuate = async (name: string, signal: AbortSignal): Promise<void> => {
    // Two zones at once are too much for the third, unless that is accepted.
    const force = random.next() < 0.5;
    const spec = { zone: random.pick(zones), duration: SHORTEST, percent: random.pick([100, 100, 50]), force };
    await persist(`evacuate ${spec.zone}`, (limit) =>
      client.create(ZONE_EVACUATIONS, evacuationNamed(name, spec), {}, limit),
    );
    changes += 1;
    await pause(random.between(2_000, 12_000), undefined, { signal }).catch(() => undefined);
    if (random.next() < 0.5)
      await persist(`return ${spec.zone}`, (limit) => client.delete(ZONE_EVACUATIONS, { name }, {}, limit));
  };
  const lane = repeat(0, (signal) => evacuate(`chaos-${changes}`, signal));
  return {
    get changes() {
      return changes;
    },
    stop: () => lane.stop(),
  };
};

export const BY_LOAD = 'planned-by-load';
export const BY_WEIGHT = 'planned-by-weight';
const STRATEGIES = { [BY_LOAD]: 'load-aware', [BY_WEIGHT]: 'proportional' } as const;
type PlannedName = keyof typeof STRATEGIES;
const PLANNED = Object.keys(STRATEGIES) as PlannedName[];

type Demand = Readonly<Record<string, number>>;
const demand = (first: number, others: number): Demand =>
  Object.fromEntries(ZONES.map((zone, index) => [zone, index === 0 ? first : others]));

/** Two Pods of one core in each zone: every zone carries its own. */
export const CALM = demand(0.4, 0.4);
/** The first zone needs help of the others. */
export const HOT = demand(1.8, 0.4);

/** Every method that writes returns when the server took it. */
export interface PlannedShoot {
  readonly namespace: string;
  /** What `followLoad` follows; its demand is set here. */
  readonly loaded: LoadedService & { demand: Demand };
  ask(name: PlannedName, wanted: boolean): Promise<void>;
  policy(present: boolean): Promise<void>;
  /** Deletes all slices of a Service; the controller writes them anew. */
  deleteSlices(name: PlannedName): Promise<void>;
  /** `zone: hinted zones` of each endpoint, sorted: of two alike Pods of a zone, chance decides which one helps. */
  plan(name: PlannedName): Promise<string[]>;
  /** `type reason` of the conditions by load that say whether the loop sees and acts. */
  conditions(): Promise<string[]>;
  /** Brings demand, Services and policy to the same end, whatever was done before. */
  finish(): Promise<void>;
}

const TRY_MS = 10_000;

/** Creates the Services and the policy in the namespace of a shoot, whose Pods they share. */
export const createPlanned = async (client: Client, namespace: string): Promise<PlannedShoot> => {
  const does = (what: string, write: (signal: AbortSignal) => Promise<unknown>): Promise<void> =>
    persist(`${namespace}: ${what}`, write);
  const slices = async (name: PlannedName, signal: AbortSignal): Promise<readonly EndpointSlice[]> =>
    (await client.list<EndpointSlice>(ENDPOINT_SLICES, { namespace, labelSelector: serviceSelector(name) }, signal))
      .items;
  const ref = { namespace, name: BY_LOAD };
  const planned: PlannedShoot = {
    namespace,
    loaded: { namespace, name: BY_LOAD, app: APP, demand: CALM },
    ask(name, wanted) {
      const annotations = { [ANNOTATION_TOPOLOGY_MODE]: wanted ? `${GROUP}/${STRATEGIES[name]}` : null };
      return does(`${name} asks: ${wanted}`, (signal) =>
        client.patch(SERVICES, { namespace, name }, 'merge', { metadata: { annotations } }, {}, signal),
      );
    },
    policy: (present) =>
      does(`policy ${present}`, async (signal) => {
        if (!present) return client.delete(FLOW_POLICIES, ref, {}, signal);
        // The controller may have made one with its defaults.
        await client
          .create<FlowPolicy>(FLOW_POLICIES, policyOf(namespace, BY_LOAD, QUICK), {}, signal)
          .catch(() => client.patch(FLOW_POLICIES, ref, 'merge', { spec: QUICK }, {}, signal));
        return undefined;
      }),
    deleteSlices: (name) =>
      does(`delete slices of ${name}`, async (signal) => {
        for (const { metadata } of await slices(name, signal))
          await client.delete(ENDPOINT_SLICES, { namespace, name: metadata?.name ?? '' }, {}, signal);
      }),
    async plan(name) {
      const all = await slices(name, AbortSignal.timeout(TRY_MS));
      return all
        .flatMap(({ endpoints }) => endpoints ?? [])
        .map((one) => `${one.zone}: ${zonesOf(one).toSorted().join()}`)
        .sort();
    },
    async conditions() {
      const { status } = await client.get<FlowPolicy>(FLOW_POLICIES, ref, AbortSignal.timeout(TRY_MS));
      return (status?.conditions ?? [])
        .filter(({ type }) => type === 'Observed' || type === 'Effective')
        .map(({ type, reason }) => `${type} ${reason}`)
        .sort();
    },
    async finish() {
      planned.loaded.demand = CALM;
      await planned.policy(true);
      for (const name of PLANNED) await planned.ask(name, true);
    },
  };
  for (const name of PLANNED)
    await client.create(SERVICES, serviceObject({ metadata: { namespace, name }, spec: { selector: { app: APP } } }));
  await planned.finish();
  return planned;
};

/** They stay candidates, because they ask so seldom. */
const leaderElection = { leaseDurationSeconds: 3_600, renewDeadlineSeconds: 3_000, retryPeriodSeconds: 2_400 };

/** Starts them, and returns when they are watched. Others must lead already. */
export const startWitnesses = async (bed: Bed, world: World): Promise<HeapSamples> => {
  const preload = join(bed.directory, 'collect.mjs');
  writeFileSync(preload, `process.on('SIGUSR2', () => globalThis.gc());\n`);
  const environment = { NODE_OPTIONS: `--expose-gc --import=${preload}` };
  const reconciler = await world.startReconciler({
    name: `${RECONCILER}-witness`,
    port: 18_091,
    environment,
    config: { modes: { seed: { gardener: {}, extensionServices: true } }, leaderElection },
  });
  const planner = { name: `${FLOW}-witness`, healthPort: 18_093, leaderElection, environment };
  const flowController = await flowControllerReplica(world, planner);
  const webhook = await webhookReplica(world, 5, { environment });
  webhook.component.start();
  return startHeapWatch([
    { component: reconciler, metricsPort: 18_092 },
    { component: flowController, metricsPort: planner.healthPort + 1 },
    { component: webhook.component, metricsPort: webhook.healthPort + 1 },
  ]);
};

interface Witness {
  /** Collects its garbage on SIGUSR2. */
  readonly component: Component;
  readonly metricsPort: number;
}

/** Bytes by name of the process, oldest first. */
export type HeapSamples = ReadonlyMap<string, readonly number[]>;

const INTERVAL_MS = 15_000;

/** Bytes of the heap in use; undefined while the process does not answer. */
const heapOf = async ({ metricsPort }: Witness): Promise<number | undefined> => {
  try {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]);
  } catch {
    return undefined;
  }
};

/** A sample each quarter of a minute, from the second on: the first minute belongs to the start. */
const startHeapWatch = (witnesses: readonly Witness[]): HeapSamples => {
  const samples = new Map<string, number[]>(witnesses.map(({ component }) => [component.name, []]));
  const sample = async (witness: Witness): Promise<void> => {
    witness.component.signal('SIGUSR2');
    await pause(500);
    const bytes = await heapOf(witness);
    if (bytes !== undefined) samples.get(witness.component.name)?.push(bytes);
  };
  const began = performance.now();
  repeat(INTERVAL_MS, async () => {
    if (performance.now() - began >= 60_000) await Promise.all(witnesses.map(sample));
  });
  return samples;
};
