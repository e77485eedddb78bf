// Runs the flow controller in this process against a sandbox with a metrics API, and with clients whose load the test sets.
import { serve } from '../../cmd/flow-controller/app.ts';
import type { Session } from '../../cmd/flow-controller/options.ts';
import { openInline } from '../fixtures/inline-thread.ts';
import { CONFIG_API_VERSION, loadConfiguration } from '../../pkg/apis/config/load.ts';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../pkg/apis/config/flow-controller.ts';
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
import type { PodLoad } from '../../pkg/flow/assemble/turn.ts';
import type { LoadSource } from '../../pkg/metrics/types.ts';
import { flowPolicyDefinition } from '../../hack/lib/crd.ts';
import { FLOW_POLICY_API_VERSION, type FlowPolicy, type FlowPolicySpec } from '../../pkg/apis/flow-policy.ts';
import { FLOW_CONTROLLER, SETTINGS_RECONCILER, registrationFor, startAdmission } from '../fixtures/admission-server.ts';
import type { AdmissionFixture } from '../fixtures/admission-server.ts';
import { type Overrides, node as nodeOf, service as serviceOf } from '../fixtures/core.ts';
import { loadsUnderHints } from '../fixtures/flow-load.ts';
import type { SkippingClock } from '../fixtures/skipping-clock.ts';
import type { Sandbox, SandboxOptions, SandboxRequest } from '../sandbox/types.ts';
import { type ControllerBed, type Serving, openControllerBed, withTestDefaults } from './controller-bed.ts';

export const USER = FLOW_CONTROLLER;

/** A source whose load is what clients make of the hints that the slices carry. */
export interface Plant {
  /** Cores by client zone. */
  demand: Record<string, number>;
  /** Nothing is measured any more while true. */
  silent: boolean;
  readonly source: LoadSource;
}

export interface FlowBed extends Omit<ControllerBed, 'client' | 'session' | 'start' | 'writes'> {
  readonly plant: Plant;
  /** A session with this configuration (YAML below apiVersion and kind). */
  session(yaml?: string): Promise<Session>;
  start(yaml?: string): Promise<Serving>;
  service(name: string): Service;
  slices(name: string): EndpointSlice[];
  /** `zone: zones` of every ready endpoint, by Pod in name order, of one address family. */
  hints(name: string): Record<string, string>;
  policy(name: string): FlowPolicy | undefined;
  /** `status/reason` of each condition by type. */
  conditions(name: string): Record<string, string>;
  /** `reason: message` of every Event, oldest first. */
  events(): string[];
  /** The controller's requests that change something, Leases and Events left out. */
  writes(): SandboxRequest[];
  /** The webhook goes away, and comes back. */
  admission(present: boolean): Promise<void>;
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
  sandbox.seed([registrationFor({ server, ca }, { name: REGISTRATION, settingsReconcilerUser: SETTINGS_RECONCILER })]);
const HEADER = `apiVersion: ${CONFIG_API_VERSION}\nkind: ${FLOW_CONTROLLER_CONFIGURATION.kind}\n`;

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
        const samples: PodLoad[] = plant.silent
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
  const base = await openControllerBed(USER, options);
  const { sandbox } = base;
  const admission = await startAdmission();
  register(sandbox, admission);
  await sandbox.apply(flowPolicyDefinition());
  sandbox.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }]);
  const plant = createPlant(sandbox, base.clock);
  const bed: FlowBed = {
    ...base,
    plant,
    session: async (yaml = '') => ({
      ...(await base.session()),
      config: loadConfiguration(FLOW_CONTROLLER_CONFIGURATION, `${HEADER}${withTestDefaults(yaml)}`, 'config.yaml'),
      sources: new Map([[plant.source.name, plant.source]]),
      openThread: openInline,
    }),
    async start(yaml) {
      const session = await bed.session(yaml);
      return base.start((signal) => serve(session, signal));
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
    writes: () => base.writes(['leases', 'events']),
    async admission(present) {
      if (present) register(sandbox, admission);
      else await sandbox.remove(MUTATING_WEBHOOK_CONFIGURATIONS, { name: REGISTRATION });
    },
    async close() {
      await base.close();
      await admission.stop();
    },
  };
  return bed;
};
