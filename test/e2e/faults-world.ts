// The commands with two replicas each, as the chart installs them, and shoots whose stored objects tell what a fault left.
import type { EndpointSlice, Namespace, Service } from '../../pkg/apis/core.ts';
import {
  ANNOTATION_PLAN,
  GROUP,
  LABEL_MANAGED,
  LABEL_SERVICE_NAME,
  LABEL_STRATEGY,
  PLAN_SPREAD,
} from '../../pkg/apis/names.ts';
import { CLUSTERS, ENDPOINT_SLICES, NAMESPACES, PODS, SERVICES } from '../../pkg/apis/resources.ts';
import { isAlreadyExists, isNotFound } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { service } from '../fixtures/core.ts';
import { cluster, namespace, seed, ZONES } from '../fixtures/gardener.ts';
import type { Component } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { is, waitFor } from './bed/machine.ts';
import { FLOW, RECONCILER, WEBHOOK } from './chart.ts';
import { createPod, setPodStatus } from './churn.ts';
import { commandReady } from './commands.ts';
import type { ProbedProgram } from './faults-checks.ts';
import { installFlowPolicies } from './flow-world.ts';
import { each } from './hints-support.ts';
import { type Replica, publishReplicas, replicaSlice } from './kubelet.ts';
import { type World, openWorld } from './settings-world.ts';

export interface Installed {
  readonly world: World;
  readonly webhooks: readonly Replica[];
  readonly reconcilers: readonly ProbedProgram[];
  readonly programs: readonly ProbedProgram[];
}

interface WebhookReplicaOptions {
  /** Default: nothing. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Laid over the server's part of what the chart renders. Default: nothing. */
  readonly server?: { readonly drainSeconds?: number };
}

interface InstallOptions {
  /** Of the webhooks. Default: as the chart has them. */
  readonly webhook?: WebhookReplicaOptions;
  /** Of the reconcilers. Default: the command's own. */
  readonly leaderElection?: object;
  /** Default 2. */
  readonly reconcilers?: number;
  /** With their Services' definition; default 0. */
  readonly flowControllers?: number;
}

/** A webhook replica that fails closed, on ports of its own. */
export const webhookReplica = async (
  world: World,
  index: number,
  { environment = {}, server = {} }: WebhookReplicaOptions = {},
): Promise<Replica> => {
  const [port, healthPort, metricsPort] = [10_250 + index, 8_101 + 2 * index, 8_102 + 2 * index];
  const component = await world.program(WEBHOOK, {
    name: `${WEBHOOK}-${index + 1}`,
    environment,
    config: { registration: { failurePolicy: 'Fail' }, server },
    flags: ['--port', `${port}`, '--health-port', `${healthPort}`, '--metrics-port', `${metricsPort}`],
  });
  return { component, port, healthPort };
};

interface FlowReplicaOptions {
  readonly name: string;
  /** The metrics port is the next one. */
  readonly healthPort: number;
  /** Laid over what the chart renders. */
  readonly leaderElection: object;
  /** Default: nothing. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts a flow-controller whose source of load keeps nothing back, and waits until it is ready. */
export const flowControllerReplica = async (world: World, options: FlowReplicaOptions): Promise<Component> => {
  const { name, healthPort, leaderElection, environment = {} } = options;
  const metricSources = [{ name: 'metrics.k8s.io', type: 'ResourceMetrics', cacheSeconds: 0 }];
  const component = await world.program(FLOW, {
    name,
    port: healthPort,
    environment,
    config: { leaderElection, metricSources },
  });
  component.start();
  await commandReady(component, healthPort);
  return component;
};

/** Installs the chart for a seed, starts the replicas and publishes the webhooks in their Service. */
export const install = async (bed: Bed, options: InstallOptions = {}): Promise<Installed> => {
  const { webhook, leaderElection = {}, reconcilers: count = 2, flowControllers: planners = 0 } = options;
  const values = { flowController: { enabled: planners > 0 } };
  const world = await openWorld(bed, { where: 'seed', values });
  if (planners > 0) await installFlowPolicies(world.client);
  const webhooks = [await webhookReplica(world, 0, webhook), await webhookReplica(world, 1, webhook)];
  await world.client.create(ENDPOINT_SLICES, replicaSlice(webhooks[1] as Replica, 1, false));
  for (const { component } of webhooks) component.start();
  for (const { component, healthPort } of webhooks) await commandReady(component, healthPort);
  publishReplicas({ client: await world.clientAs('kubelet'), replicas: webhooks });
  const reconcilers: ProbedProgram[] = [];
  for (let index = 0; index < count; index += 1) {
    const port = 18_081 + 2 * index;
    const component: Component = await world.startReconciler({
      name: `${RECONCILER}-${index + 1}`,
      port,
      second: index === 1,
      config: { modes: { seed: { gardener: {}, extensionServices: true } }, leaderElection },
    });
    reconcilers.push({ component, healthPort: port });
  }
  const flowControllers: ProbedProgram[] = [];
  for (let index = 0; index < planners; index += 1) {
    const healthPort = 18_085 + 2 * index;
    const component = await flowControllerReplica(world, { name: `${FLOW}-${index + 1}`, healthPort, leaderElection });
    flowControllers.push({ component, healthPort });
  }
  return { world, webhooks, reconcilers, programs: [...reconcilers, ...webhooks, ...flowControllers] };
};

/** Everybody gives up on one try after this long and begins anew, as clients of a real cluster do. */
const TRY_MS = 4_000;

/** Repeats a write until the server took it; what is there or gone already counts as done. */
export const persist = async (what: string, write: (signal: AbortSignal) => Promise<unknown>): Promise<void> => {
  await waitFor(
    what,
    async () => {
      try {
        await write(AbortSignal.timeout(TRY_MS));
      } catch (error) {
        if (!isAlreadyExists(error) && !isNotFound(error)) throw error;
      }
      return true;
    },
    is(true),
    { timeoutSeconds: 150, intervalMs: 250 },
  );
};

const managed = { [LABEL_MANAGED]: 'true' };
/** Label `app` of a shoot's Pods. */
export const APP = 'web';
const nodeOf = (index: number): { name: string; zone: string } => {
  const zone = ZONES[index % ZONES.length] ?? '';
  return { name: `node-${zone}`, zone };
};

const serviceName = (index: number): string => `service-${index}`;
const podName = (index: number): string => `pod-${index}`;
export const SCALE = { services: 8, pods: 6 } as const;
const indices = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** What can be done to a shoot; every method returns when the server took it. */
export interface ShootHandle {
  readonly name: string;
  setting(enabled: boolean): Promise<void>;
  createService(index: number): Promise<void>;
  deleteService(index: number): Promise<void>;
  patchService(index: number, change: object): Promise<void>;
  createPod(index: number): Promise<void>;
  deletePod(index: number): Promise<void>;
  readyPod(index: number, ready: boolean): Promise<void>;
  /** Deletes all slices of a Service; the controller writes them anew. */
  deleteSlices(index: number): Promise<void>;
  /** All that somebody could have changed, without names and addresses that chance decides. */
  state(): Promise<unknown>;
}

const comparableService = ({ metadata, spec = {} }: Service): object => ({
  name: metadata?.name,
  labels: metadata?.labels ?? {},
  annotations: metadata?.annotations ?? {},
  trafficDistribution: spec.trafficDistribution ?? null,
  selector: spec.selector,
});

const comparableEndpoints = (slices: readonly EndpointSlice[]): string[] =>
  slices
    .flatMap(({ metadata, addressType, endpoints }) =>
      (endpoints ?? []).map(({ targetRef, zone, conditions, hints }) =>
        JSON.stringify([
          metadata?.labels?.[LABEL_SERVICE_NAME],
          metadata?.labels?.[LABEL_STRATEGY] ?? null,
          metadata?.annotations?.[ANNOTATION_PLAN] === PLAN_SPREAD,
          addressType,
          targetRef?.name,
          zone,
          conditions?.ready ?? null,
          hints ?? null,
        ]),
      ),
    )
    .sort();

const stateOf = async (client: Client, name: string): Promise<unknown> => {
  const signal = AbortSignal.timeout(10_000);
  const own = { namespace: name };
  const [{ metadata }, services, slices] = await Promise.all([
    client.get<Namespace>(NAMESPACES, { name }, signal),
    client.list<Service>(SERVICES, own, signal),
    client.list<EndpointSlice>(ENDPOINT_SLICES, own, signal),
  ]);
  const labels = Object.entries(metadata?.labels ?? {}).filter(([key]) => key.startsWith(GROUP));
  return {
    labels: Object.fromEntries(labels),
    services: services.items.map(comparableService).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    endpoints: comparableEndpoints(slices.items),
  };
};

const createService = (client: Client, of: string, index: number, signal: AbortSignal): Promise<unknown> => {
  const metadata = { name: serviceName(index), namespace: of, labels: managed };
  return client.create(SERVICES, service({ metadata, spec: { selector: { app: APP } } }), {}, signal);
};

/** Handle of a shoot that exists or is about to; `first` is the number of its first Pod, unique in the bed. */
const shootHandle = (client: Client, name: string, first: number): ShootHandle => {
  const pod = (index: number) => ({ namespace: name, name: podName(index) });
  const does = (what: string, write: (signal: AbortSignal) => Promise<unknown>): Promise<void> =>
    persist(`${name}: ${what}`, write);
  const ready = (index: number, value: boolean): Promise<void> =>
    setPodStatus(client, pod(index), first + index, value);
  return {
    name,
    setting: (enabled) =>
      does(`setting ${enabled}`, (signal) =>
        client.patch(CLUSTERS, { name }, 'merge', { spec: { seed: seed({ enabled }) } }, {}, signal),
      ),
    createService: (index) => does(`create service ${index}`, (signal) => createService(client, name, index, signal)),
    deleteService: (index) =>
      does(`delete service ${index}`, (signal) =>
        client.delete(SERVICES, { namespace: name, name: serviceName(index) }, {}, signal),
      ),
    patchService: (index, change) =>
      does(`patch service ${index}`, (signal) =>
        client.patch(SERVICES, { namespace: name, name: serviceName(index) }, 'merge', change, {}, signal),
      ),
    createPod: (index) =>
      does(`create pod ${index}`, async () => {
        const options = { namespace: name, name: podName(index), app: APP, node: nodeOf(index), number: first + index };
        await createPod(client, options).catch((error: unknown) => {
          if (!isAlreadyExists(error)) throw error;
        });
        await ready(index, true);
      }),
    deletePod: (index) =>
      does(`delete pod ${index}`, (signal) => client.delete(PODS, pod(index), { gracePeriodSeconds: 0 }, signal)),
    readyPod: (index, value) => does(`pod ${index} ready ${value}`, () => ready(index, value)),
    deleteSlices: (index) =>
      does(`delete slices ${index}`, async (signal) => {
        const labelSelector = `${LABEL_SERVICE_NAME}=${serviceName(index)}`;
        const { items } = await client.list<EndpointSlice>(ENDPOINT_SLICES, { namespace: name, labelSelector }, signal);
        for (const { metadata } of items)
          await client.delete(ENDPOINT_SLICES, { namespace: name, name: metadata?.name ?? '' }, {}, signal);
      }),
    state: () => stateOf(client, name),
  };
};

/** Creates a shoot with its Services and Pods, the setting off. */
export const createShoot = async (client: Client, name: string, first: number): Promise<ShootHandle> => {
  await client.create(NAMESPACES, namespace({ metadata: { name } }));
  await client.create(CLUSTERS, cluster({ metadata: { name }, spec: { seed: seed({ enabled: false }) } }));
  const handle = shootHandle(client, name, first);
  await each(indices(SCALE.pods), 4, (index) => handle.createPod(index));
  await each(indices(SCALE.services), 4, (index) => handle.createService(index));
  return handle;
};

/** The changes that are made during a fault: of the setting, of Services and of Pods, by all who make them. */
export const changeShoot = async (shoot: ShootHandle): Promise<void> => {
  await shoot.setting(true);
  await Promise.all([
    shoot.createService(SCALE.services),
    shoot.deleteService(1),
    shoot.patchService(2, { metadata: { labels: { [LABEL_MANAGED]: 'false' } } }),
    shoot.patchService(3, { spec: { trafficDistribution: null } }),
    shoot.readyPod(0, false),
    shoot.createPod(SCALE.pods),
    shoot.deletePod(1),
  ]);
};

/** Brings a shoot to the same end, whatever was done to it before. */
export const finishShoot = async (shoot: ShootHandle): Promise<void> => {
  await shoot.setting(true);
  await each(indices(SCALE.services), 4, async (index) => {
    await shoot.createService(index);
    await shoot.patchService(index, { metadata: { labels: { ...managed, churn: null } } });
  });
  await each(indices(SCALE.pods), 4, async (index) => {
    await shoot.createPod(index);
    await shoot.readyPod(index, true);
  });
};
