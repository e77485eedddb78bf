// What the suite about the flow controller needs of a cluster: the command, the definitions, and Pods that report their load.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_API_VERSION } from '../../pkg/apis/config/load.ts';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../pkg/apis/config/flow-controller.ts';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { flowPolicyDefinition } from '../../hack/lib/crd.ts';
import { FLOW_POLICY_API_VERSION, type FlowPolicy, type FlowPolicySpec } from '../../pkg/apis/flow-policy.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES } from '../../pkg/apis/resources.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../fixtures/crds.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { loadsUnderHints } from '../fixtures/flow-load.ts';
import { mastersGroup } from './bed/access.ts';
import type { Component } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { repeat, waitFor } from './bed/machine.ts';
import { commandReady, ownNamespace, sourceOf } from './commands.ts';
import { serviceSelector } from './hints-support.ts';
import { type PodReading, startMetricsApi } from './metrics-api.ts';

export const FLOW_USER = `system:serviceaccount:${ownNamespace}:${COMMANDS.flowController}`;

/** Free beside the ports of the other commands: health, and metrics at the next. */
const FLOW_PORT = 8_087;

/** Installs FlowPolicy, and waits until it is served. */
export const installFlowPolicies = async (client: Client): Promise<void> => {
  await client.create(CUSTOM_RESOURCE_DEFINITIONS, flowPolicyDefinition());
  await waitFor('FlowPolicies served', () => client.list(FLOW_POLICIES));
};

/** Describes the command, with its Lease; its source of load keeps nothing back. By default it may do everything. */
export const describeFlowController = async (
  bed: Bed,
  config: object = {},
  groups: readonly string[] = [mastersGroup],
  program: readonly [string, ...string[]] = [process.execPath, sourceOf(COMMANDS.flowController)],
): Promise<{ controller: Component; ready(): Promise<void> }> => {
  const name = COMMANDS.flowController;
  const file = join(bed.directory, `${name}.json`);
  const fields = {
    apiVersion: CONFIG_API_VERSION,
    kind: FLOW_CONTROLLER_CONFIGURATION.kind,
    metricSources: [{ name: 'metrics.k8s.io', type: 'ResourceMetrics', cacheSeconds: 0 }],
    health: { port: FLOW_PORT },
    metrics: { port: FLOW_PORT + 1 },
    ...config,
  };
  writeFileSync(file, JSON.stringify(fields));
  const controller = bed.program({
    name,
    command: [...program, '--config', file],
    environment: { POD_NAMESPACE: ownNamespace, KUBECONFIG: await bed.kubeconfig({ user: FLOW_USER, groups }) },
  });
  return { controller, ready: () => commandReady(controller, FLOW_PORT) };
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

export interface LoadedService {
  readonly namespace: string;
  readonly name: string;
  /** Label `app` of its Pods, by which they are asked for. */
  readonly app: string;
  /** Cores by client zone; what it is at the moment of a look. */
  readonly demand: Readonly<Record<string, number>>;
}

const INTERVAL_MS = 500;
/** An API server that is frozen answers later, or never. */
const TRY_MS = 3_000;

/** Looks at the slices twice a second. Gives readings of all Pods, as old as the last look that the API server answered. */
export const followLoad = (client: Client, services: readonly LoadedService[]): (() => PodReading[]) => {
  const known = new Map<LoadedService, PodReading[]>();
  const look = async (service: LoadedService, signal: AbortSignal): Promise<void> => {
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
  // The API server may be away: the readings grow old, as they do in a real cluster.
  for (const service of services) repeat(INTERVAL_MS, (signal) => look(service, signal).catch(() => undefined));
  return () => [...known.values()].flat();
};

/** Load of one Service, served as `metrics.k8s.io`. */
export interface Meter extends LoadedService {
  demand: Readonly<Record<string, number>>;
}

/** Every Pod of the Service has the load that clients put on it under the hints of the moment; at first none. */
export const startMeter = async (bed: Bed, client: Client, namespace: string, name: string): Promise<Meter> => {
  const meter: Meter = { namespace, name, app: name, demand: {} };
  await startMetricsApi(bed, { readings: followLoad(client, [meter]) });
  return meter;
};
