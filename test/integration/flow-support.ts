// SPDX-License-Identifier: Apache-2.0
// Runs the flow controller in this process against a sandbox with a metrics API, and with clients whose load the test sets.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '../../cmd/flow-controller/serve.ts';
import type { Session } from '../../cmd/flow-controller/session.ts';
import { CONFIG_API_VERSION } from '../../pkg/apis/config/config-kind.ts';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../pkg/apis/config/flow-controller.ts';
import { loadConfiguration } from '../../pkg/apis/config/load.ts';
import type { EndpointSlice, Event, Node, Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject, StringMap } from '../../pkg/apis/meta.ts';
import { LABEL_SERVICE_NAME } from '../../pkg/apis/names.ts';
import {
  ENDPOINT_SLICES,
  EVENTS,
  FLOW_POLICIES,
  MUTATING_WEBHOOK_CONFIGURATIONS,
  SERVICES,
} from '../../pkg/apis/resources.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import type { LoadSource, PodSample } from '../../pkg/metrics/types.ts';
import { parseKubernetesVersion } from '../../pkg/routing/version.ts';
import { flowPolicyDefinition } from '../../pkg/apis/flow-policy-crd.ts';
import type { FlowPolicy, FlowPolicySpec } from '../../pkg/apis/flow-policy.ts';
import { FLOW_POLICY_API_VERSION } from '../../pkg/apis/flow-policy-schema.ts';
import { buildRegistration } from '../../pkg/webhook/registration.ts';
import { FLOW_CONTROLLER, SETTINGS_RECONCILER, startAdmission } from '../fixtures/admission-server.ts';
import type { AdmissionFixture } from '../fixtures/admission-server.ts';
import { node as nodeOf, service as serviceOf } from '../fixtures/core.ts';
import type { Overrides } from '../fixtures/core.ts';
import { loadsUnderHints } from '../fixtures/flow-load.ts';
import { recordingLogger } from '../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../fixtures/recording-logger.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox, SandboxOptions, SandboxRequest } from '../sandbox/types.ts';
import { createSkippingClock, eventually } from './settings-support.ts';
import type { SkippingClock } from './settings-support.ts';

export const USER = FLOW_CONTROLLER;

/** A source whose load is what clients make of the hints that the slices carry. */
export interface Plant {
  /** Cores by client zone. */
  demand: Record<string, number>;
  /** Nothing is measured any more while true. */
  silent: boolean;
  readonly source: LoadSource;
}

export interface FlowBed {
  readonly sandbox: Sandbox;
  readonly clock: SkippingClock;
  readonly log: RecordingLogger;
  readonly plant: Plant;
  readonly printed: string[];
  session(yaml?: string): Promise<Session>;
  start(yaml?: string): Promise<{ stop(): Promise<void> }>;
  apply(...objects: KubernetesObject[]): Promise<void>;
  service(name: string): Service;
  slices(name: string): EndpointSlice[];
  /** `zone: zones` of every ready endpoint, by Pod in name order, of one address family. */
  hints(name: string): Record<string, string>;
  policy(name: string): FlowPolicy | undefined;
  /** `status/reason` of each condition by type. */
  conditions(name: string): Record<string, string>;
  events(): string[];
  writes(): SandboxRequest[];
  /** The webhook goes away, and comes back. */
  admission(present: boolean): Promise<void>;
  quiet(): Promise<void>;
  close(): Promise<void>;
}

export const NAMESPACE = 'shop';
const REGISTRATION = 'hints';

/** A ready Node of a zone, named after it. */
export const flowNode = (zone: string, overrides: Overrides<Node> = {}): Node =>
  nodeOf({ zone, ...overrides, metadata: { name: `node-${zone}`, ...overrides.metadata } });

export interface PodOptions {
  /** Of the node; the Pod is in its zone. Default the zone's. */
  readonly node?: string;
  /** CPU request; empty: none. Default 1. */
  readonly cpu?: string;
  readonly ready?: boolean;
  /** Value of its label `app`. Default `web`. */
  readonly app?: string;
}

const addressOf = (name: string): [string, string] => {
  const sum = Array.from(Buffer.from(name)).reduce((value, byte) => (value * 31 + byte) % 65_000, 7);
  return [`198.18.${Math.floor(sum / 250)}.${1 + (sum % 250)}`, `2001:db8::${sum.toString(16)}`];
};

/** A Pod with an address in each family, on the Node of a zone. */
export const flowPod = (name: string, zone: string, options: PodOptions = {}): KubernetesObject => {
  const { cpu = '1', ready = true, app = 'web' } = options;
  const [v4, v6] = addressOf(name);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE, labels: { app } },
    spec: {
      nodeName: options.node ?? `node-${zone}`,
      containers: [{ name: 'web', image: 'web', ...(cpu === '' ? {} : { resources: { requests: { cpu } } }) }],
    },
    status: {
      phase: 'Running',
      podIP: v4,
      podIPs: [{ ip: v4 }, { ip: v6 }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  } as KubernetesObject;
};

/** A Service `web` with annotations and labels. */
export const flowService = (metadata: { annotations?: StringMap; labels?: StringMap; name?: string } = {}): Service => {
  const { name = 'web' } = metadata;
  return serviceOf({ metadata: { name, namespace: NAMESPACE, ...metadata }, spec: { selector: { app: name } } });
};

/** A FlowPolicy of the Service with this name. */
export const flowPolicy = (spec: FlowPolicySpec, name = 'web'): FlowPolicy => ({
  apiVersion: FLOW_POLICY_API_VERSION,
  kind: 'FlowPolicy',
  metadata: { name, namespace: NAMESPACE },
  spec,
});

const register = (sandbox: Sandbox, { server, ca }: AdmissionFixture): void =>
  sandbox.seed([
    buildRegistration({
      name: REGISTRATION,
      version: parseKubernetesVersion('v1.36.3'),
      address: { kind: 'url', url: `https://127.0.0.1:${server.port}` },
      caBundle: ca,
      excludedNamespaces: [],
      timeoutSeconds: 5,
      settingsReconcilerUser: SETTINGS_RECONCILER,
      strategyAnnotation: false,
      keepSettings: false,
      carrier: 'webhook',
    }),
  ]);
const HEADER = `apiVersion: ${CONFIG_API_VERSION}\nkind: ${FLOW_CONTROLLER_CONFIGURATION.kind}\n`;
const COMMON = `
health: {port: 0, bindAddress: 127.0.0.1}
metrics: {port: 0, bindAddress: 127.0.0.1}
`;
const READS = new Set(['get', 'list', 'watch', 'raw']);

const zonesOf = ({ hints }: { hints?: { forZones?: { name: string }[] } }): string[] =>
  (hints?.forZones ?? []).map(({ name }) => name);

const createPlant = (sandbox: Sandbox, clock: SkippingClock): Plant => {
  const plant: Plant = {
    demand: {},
    silent: false,
    source: {
      name: 'metrics.k8s.io',
      read({ namespace, service, pods }) {
        const slices = sandbox
          .list<EndpointSlice>(ENDPOINT_SLICES, namespace)
          .filter(
            ({ metadata, addressType }) => metadata?.labels?.[LABEL_SERVICE_NAME] === service && addressType === 'IPv4',
          );
        const samples: PodSample[] = plant.silent
          ? []
          : [...loadsUnderHints(slices, plant.demand)]
              .filter(([pod]) => pods.has(pod))
              .map(([pod, load]) => ({ pod, load, sampledAt: clock.now() / 1_000, window: 1 }));
        return Promise.resolve({ kind: 'pods', samples, problems: [] });
      },
    },
  };
  return plant;
};

export const openFlowBed = async (options: SandboxOptions = {}): Promise<FlowBed> => {
  const sandbox = await startSandbox(options);
  const admission = await startAdmission();
  register(sandbox, admission);
  await sandbox.apply(flowPolicyDefinition());
  sandbox.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }]);
  const directory = await mkdtemp(join(tmpdir(), 'flow-'));
  const clock = createSkippingClock();
  const log = recordingLogger();
  const plant = createPlant(sandbox, clock);
  const running = new Set<{ stop(): Promise<void> }>();
  const clients = new Set<Client>();
  const printed: string[] = [];
  let sessions = 0;
  const bed: FlowBed = {
    sandbox,
    clock,
    log,
    plant,
    printed,
    async session(yaml = '') {
      sessions += 1;
      const file = join(directory, `kubeconfig-${sessions}`);
      await writeFile(file, sandbox.kubeconfig(USER));
      const client = createClient({ config: loadKubeConfig({ kubeconfig: file }), userAgent: 'test' });
      clients.add(client);
      const alone = yaml.includes('leaderElection') ? '' : '\nleaderElection: {enabled: false}';
      return {
        config: loadConfiguration(FLOW_CONTROLLER_CONFIGURATION, `${HEADER}${yaml}${alone}${COMMON}`, 'config.yaml'),
        client,
        sources: new Map([[plant.source.name, plant.source]]),
        namespace: 'default',
        identity: `test-${sessions}`,
        clock,
        random: () => 0.5,
        logger: log,
        print: (text) => void printed.push(text),
      };
    },
    async start(yaml) {
      const stop = new AbortController();
      const filled = log.entries.filter(({ message }) => message === 'caches are filled').length;
      const served = serve(await bed.session(yaml), stop.signal);
      served.catch(() => undefined);
      const handle = {
        async stop() {
          running.delete(handle);
          stop.abort(new Error('test is over'));
          await served;
        },
      };
      running.add(handle);
      await eventually(() => {
        if (log.entries.filter(({ message }) => message === 'caches are filled').length === filled)
          throw new Error('caches are not filled');
      });
      await bed.quiet();
      return handle;
    },
    async apply(...objects) {
      for (const object of objects) await sandbox.apply(object);
    },
    service(name) {
      const found = sandbox.get<Service>(SERVICES, { namespace: NAMESPACE, name });
      if (found === undefined) throw new Error(`no Service ${name}`);
      return found;
    },
    slices: (name) =>
      sandbox
        .list<EndpointSlice>(ENDPOINT_SLICES, NAMESPACE)
        .filter(({ metadata }) => metadata?.labels?.[LABEL_SERVICE_NAME] === name),
    hints: (name) =>
      Object.fromEntries(
        bed
          .slices(name)
          .filter(({ addressType }) => addressType === 'IPv4')
          .flatMap(({ endpoints }) => endpoints ?? [])
          .filter(({ conditions }) => conditions?.ready !== false)
          .map((one) => [one.targetRef?.name ?? one.addresses[0] ?? '', zonesOf(one).join()] as const)
          .sort(([left], [right]) => (left < right ? -1 : 1)),
      ),
    policy: (name) => sandbox.get<FlowPolicy>(FLOW_POLICIES, { namespace: NAMESPACE, name }),
    conditions: (name) =>
      Object.fromEntries(
        (bed.policy(name)?.status?.conditions ?? []).map(({ type, status, reason }) => [type, `${status}/${reason}`]),
      ),
    events: () => sandbox.list<Event>(EVENTS).map(({ reason, message }) => `${reason}: ${message}`),
    writes: () =>
      sandbox.requests.filter(
        ({ user, verb, resource }) =>
          user === USER && !READS.has(verb) && resource !== 'leases' && resource !== 'events',
      ),
    async admission(present) {
      if (present) register(sandbox, admission);
      else await sandbox.remove(MUTATING_WEBHOOK_CONFIGURATIONS, { name: REGISTRATION });
    },
    async quiet() {
      let seen = -1;
      let since = performance.now();
      while (performance.now() - since < 150) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        if (sandbox.requests.length !== seen) since = performance.now();
        seen = sandbox.requests.length;
      }
    },
    async close() {
      for (const handle of running) await handle.stop();
      for (const client of clients) await client.close();
      await sandbox.stop();
      await admission.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
  return bed;
};
