// What the suite about the flow controller needs of a cluster: the command, the definitions, and Pods that report their load.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CONFIG_API_VERSION } from '../../pkg/apis/config/load.ts';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../pkg/apis/config/flow-controller.ts';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { flowPolicyDefinition } from '../../hack/lib/crd.ts';
import { FLOW_POLICY_API_VERSION, type FlowPolicy, type FlowPolicySpec } from '../../pkg/apis/flow-policy.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, type Resource } from '../../pkg/apis/resources.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../fixtures/crds.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { POD_METRICS } from '../../pkg/metrics/resource-metrics.ts';
import { loadsUnderHints } from '../fixtures/flow-load.ts';
import { mastersGroup } from './bed/access.ts';
import type { Component } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { waitFor } from './bed/machine.ts';
import { commandReady, ownNamespace } from './commands.ts';
import { serviceSelector, slicesOf } from './hints-support.ts';
import type { PodReading } from './metrics-api.ts';

export const FLOW_USER = `system:serviceaccount:${ownNamespace}:${COMMANDS.flowController}`;

/** Free beside the ports of two settings-reconcilers: health and metrics of each replica. */
const FIRST_PORT = 8_087;

/** The metrics API as plain objects that the test writes; the group belongs to Kubernetes, which wants to be told. */
const metricsDefinition = (): KubernetesObject => {
  const { group, version, kind, plural } = POD_METRICS;
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: 'pod' },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  } as KubernetesObject;
};

const installDefinition = async (client: Client, definition: KubernetesObject, resource: Resource): Promise<void> => {
  await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition);
  await waitFor(`${resource.plural}.${resource.group} served`, () => client.list(resource));
};

/** Installs FlowPolicy, and waits until it is served. */
export const installFlowPolicies = (client: Client): Promise<void> =>
  installDefinition(client, flowPolicyDefinition(), FLOW_POLICIES);

/** Installs FlowPolicy and the metrics API, and waits until both are served. */
export const installDefinitions = async (client: Client): Promise<void> => {
  await installFlowPolicies(client);
  await installDefinition(client, metricsDefinition(), POD_METRICS);
};

const SOURCE = fileURLToPath(new URL(`../../cmd/${COMMANDS.flowController}/main.ts`, import.meta.url));

/** Describes a replica of the command, with its Lease; its source of load keeps nothing back. By default it may do everything. */
export const describeFlowController = async (
  bed: Bed,
  config: object = {},
  groups: readonly string[] = [mastersGroup],
  replica = 0,
  flags: readonly string[] = [],
  program: readonly [string, ...string[]] = [process.execPath, SOURCE],
): Promise<{ controller: Component; ready(): Promise<void> }> => {
  const name = replica === 0 ? COMMANDS.flowController : `${COMMANDS.flowController}-${replica}`;
  const port = FIRST_PORT + 2 * replica;
  const file = join(bed.directory, `${name}.json`);
  const fields = {
    apiVersion: CONFIG_API_VERSION,
    kind: FLOW_CONTROLLER_CONFIGURATION.kind,
    metricSources: [{ name: 'metrics.k8s.io', type: 'ResourceMetrics', cacheSeconds: 0 }],
    health: { port },
    metrics: { port: port + 1 },
    ...config,
  };
  writeFileSync(file, JSON.stringify(fields));
  const controller = bed.program({
    name,
    command: [...program, '--config', file, ...flags],
    environment: { POD_NAMESPACE: ownNamespace, KUBECONFIG: await bed.kubeconfig({ user: FLOW_USER, groups }) },
  });
  return { controller, ready: () => commandReady(controller, port) };
};

/** A loop that looks, and changes its mind, within seconds. */
export const QUICK: FlowPolicySpec = {
  metrics: { interval: '1s' },
  capacity: { from: 'Value', value: '1' },
  upDwell: '1s',
  downDwell: '5s',
  planInterval: '1s',
};

export const policyOf = (namespace: string, name: string, spec: unknown): FlowPolicy => ({
  apiVersion: FLOW_POLICY_API_VERSION,
  kind: 'FlowPolicy',
  metadata: { namespace, name },
  spec: spec as FlowPolicySpec,
});

export interface Meter {
  /** Cores by client zone. */
  demand: Readonly<Record<string, number>>;
  /** Nothing is written any more while true. */
  silent: boolean;
  stop(): Promise<void>;
}

/** Labels are the Pod's, as metrics-server has it: the source selects by them. */
const write = async (client: Client, namespace: string, pod: string, app: string, cores: number): Promise<void> => {
  const fields = {
    timestamp: new Date().toISOString(),
    window: '1s',
    containers: [{ name: 'main', usage: { cpu: `${Math.round(cores * 1e9)}n`, memory: '1Mi' } }],
  };
  const { group, version, kind } = POD_METRICS;
  const object = {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { namespace, name: pod, labels: { app } },
    ...fields,
  };
  try {
    await client.patch(POD_METRICS, { namespace, name: pod }, 'merge', fields);
  } catch {
    await client.create(POD_METRICS, object);
  }
};

/** Once a second every Pod of the Service reports the load that clients put on it under the hints of this moment. */
export const startMeter = (client: Client, namespace: string, service: string): Meter => {
  const stop = new AbortController();
  const meter: Meter = {
    demand: {},
    silent: false,
    async stop() {
      stop.abort();
      await running;
    },
  };
  const report = async (): Promise<void> => {
    const slices = await slicesOf(client, namespace, serviceSelector(service));
    const family = slices.filter(({ addressType }: EndpointSlice) => addressType === 'IPv4');
    for (const [pod, cores] of loadsUnderHints(family, meter.demand))
      await write(client, namespace, pod, service, cores);
  };
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      // A Pod or slice may go away in between; the next second is another try.
      if (!meter.silent) await report().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  };
  const running = run();
  return meter;
};

export interface LoadedService {
  readonly namespace: string;
  readonly name: string;
  /** Label `app` of its Pods, by which they are asked for. */
  readonly app: string;
  /** Cores by client zone; what it is at the moment of a look. */
  readonly demand: Readonly<Record<string, number>>;
}

export interface FollowedLoad {
  /** Of all Pods, as old as the last look that the API server answered. */
  readings(): PodReading[];
  stop(): Promise<void>;
}

const INTERVAL_MS = 500;
/** An API server that is frozen answers later, or never. */
const TRY_MS = 3_000;

/** Looks at the slices twice a second, until stopped. */
export const followLoad = (client: Client, services: readonly LoadedService[]): FollowedLoad => {
  const known = new Map<LoadedService, PodReading[]>();
  const ending = new AbortController();
  const { signal } = ending;
  const look = async (service: LoadedService): Promise<void> => {
    const { namespace, name, app, demand } = service;
    const until = AbortSignal.any([signal, AbortSignal.timeout(TRY_MS)]);
    const { items } = await client.list<EndpointSlice>(
      ENDPOINT_SLICES,
      { namespace, labelSelector: serviceSelector(name) },
      until,
    );
    const sampledAt = Date.now() / 1_000;
    const loads = loadsUnderHints(
      items.filter(({ addressType }) => addressType === 'IPv4'),
      demand,
    );
    known.set(
      service,
      [...loads].map(([pod, cores]) => ({ namespace, pod, labels: { app }, cores, sampledAt, window: 1 })),
    );
  };
  const follow = async (service: LoadedService): Promise<void> => {
    while (!signal.aborted) {
      // The API server may be away: the readings grow old, as they do in a real cluster.
      await look(service).catch(() => undefined);
      await pause(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = Promise.all(services.map(follow));
  return {
    readings: () => [...known.values()].flat(),
    async stop() {
      ending.abort();
      await running;
    },
  };
};
