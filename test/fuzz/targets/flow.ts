// Services, slices, Nodes, Pods, FlowPolicies and loads through the loop: what it writes an API server takes, and is of its own.
import { Ajv } from 'ajv';
import type { JsonPatchOperation } from '../../../pkg/apis/admission.ts';
import type { Endpoint, EndpointSlice, Node, Service } from '../../../pkg/apis/core.ts';
import { FLOW_POLICY_STATUS_SCHEMA, type FlowPolicy } from '../../../pkg/apis/flow-policy.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, type Resource, SERVICES } from '../../../pkg/apis/resources.ts';
import { createLoadReader } from '../../../pkg/controllers/flow/loads.ts';
import { createFlowCounters, showFlow } from '../../../pkg/controllers/flow/metrics.ts';
import { createPodProjection, projectNode, projectService } from '../../../pkg/controllers/flow/caches.ts';
import { createPlanning } from '../../../pkg/controllers/flow/planning.ts';
import { openInline } from '../../fixtures/inline-thread.ts';
import { createFlowReconciler } from '../../../pkg/controllers/flow/controller.ts';
import { createFlowReporter } from '../../../pkg/controllers/flow/reporter.ts';
import type { Snapshot } from '../../../pkg/controllers/flow/memory.ts';
import { type FlowSlice, clientZonesOf, createSliceProjection } from '../../../pkg/flow/assemble/slice.ts';
import { MAX_HINTS, isZoneName } from '../../../pkg/hints/readiness.ts';
import type { Client, EventInput } from '../../../pkg/kubernetes/types.ts';
import type { LoadReading, LoadSource } from '../../../pkg/metrics/types.ts';
import { createMetrics } from '../../../pkg/telemetry/metrics.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { applyJsonPatch } from '../../sandbox/patch-json.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';
import { LOOPS } from '../documents/flow.ts';
import { FLOW_POLICY, NODE, POD, SERVICE, SLICE, type Shape, isNamed, stored } from '../stored.ts';
import { type Input, type Target, must } from '../types.ts';

interface Reading {
  readonly kind: 'pods' | 'zone-pairs';
  readonly samples: readonly { readonly load: number; readonly age: number; readonly window: number }[];
  readonly problems: readonly string[];
}

/** All that the loop of one Service looks at, as an API server would store it. */
interface World {
  readonly service: Service;
  readonly policy: FlowPolicy | undefined;
  readonly nodes: readonly Node[];
  readonly pods: readonly KubernetesObject[];
  readonly slices: EndpointSlice[];
  readonly reading: Reading;
}

const READING: Shape = {
  kind: 'text',
  samples: [
    { pod: 'text', sourceZone: 'text', destinationZone: 'text', load: 'number', age: 'number', window: 'number' },
  ],
  problems: ['text'],
};

const KEY = 'shop/web';

const listOf = (shape: Shape, value: unknown): unknown[] =>
  (Array.isArray(value) ? value : []).map((item: unknown) => stored(shape, item)).filter(isNamed);

const hasSoundHints = ({ hints }: Endpoint): boolean => {
  const names = (hints?.forZones ?? []).map(({ name }) => name);
  return names.every(isZoneName) && names.length <= MAX_HINTS && new Set(names).size === names.length;
};

/** No two have one name, the server gives each a version, and refuses endpoints without address or with impossible hints. */
const slicesOf = (value: unknown): EndpointSlice[] =>
  [...new Map((listOf(SLICE, value) as EndpointSlice[]).map((slice) => [slice.metadata?.name, slice])).values()]
    .filter(({ metadata }) => metadata?.namespace === 'shop')
    .map((slice) => ({
      ...slice,
      metadata: { resourceVersion: '7', ...slice.metadata },
      endpoints: (slice.endpoints ?? []).filter((one) => (one.addresses ?? []).length > 0 && hasSoundHints(one)),
    }));

/** Undefined where not even the Service would be stored, or it is another one. */
const worldOf = (text: string): World | undefined => {
  const value = JSON.parse(text) as Record<string, unknown> | null;
  const service = stored(SERVICE, value?.['service']) as Service | undefined;
  if (service === undefined || `${service.metadata?.namespace}/${service.metadata?.name}` !== KEY) return undefined;
  const policy = stored(FLOW_POLICY, value?.['policy']) as FlowPolicy | undefined;
  const reading = stored(READING, value?.['reading']) as Reading | undefined;
  return {
    service,
    policy: isNamed(policy) ? policy : undefined,
    nodes: listOf(NODE, value?.['nodes']) as Node[],
    pods: listOf(POD, value?.['pods']) as KubernetesObject[],
    slices: slicesOf(value?.['slices']),
    reading: { kind: 'pods', problems: [], samples: [], ...reading },
  };
};

/** What a source may say: finite, not negative, of the past. */
const readingAt = ({ kind, samples, problems }: Reading, now: number): LoadReading => {
  const within = (value: unknown, least: number, most: number): number =>
    Math.min(most, Math.max(least, typeof value === 'number' ? value : least));
  const sound = samples.map(({ load, age, window, ...labels }) => ({
    pod: '',
    sourceZone: '',
    destinationZone: '',
    ...labels,
    load: within(load, 0, 1e15),
    sampledAt: now - within(age, 0, 1e9),
    window: within(window, 0.001, 3_600),
  }));
  return { kind: kind === 'zone-pairs' ? kind : 'pods', samples: sound, problems };
};

const OWN_PATH = /^\/metadata\/(?:resourceVersion|annotations(?:\/[^/]*plan)?)$|^\/endpoints\/\d+\/hints$/;

const checkHints = (value: unknown): void => {
  const { forZones } = value as { forZones: { name: unknown }[] };
  const names = forZones.map(({ name }) => name);
  const sound = names.length >= 1 && names.length <= MAX_HINTS && new Set(names).size === names.length;
  must(
    sound && names.every(isZoneName),
    () => `hints that no API server takes: ${JSON.stringify(names).slice(0, 200)}`,
  );
};

const checkSlicePatch = (patch: readonly JsonPatchOperation[]): void => {
  for (const operation of patch) {
    must(OWN_PATH.test(operation.path), () => `a slice is patched at ${operation.path}`);
    if (operation.op !== 'remove' && operation.path.endsWith('/hints')) checkHints(operation.value);
  }
};

const isStatus = new Ajv({ strict: false, validateFormats: false }).compile(FLOW_POLICY_STATUS_SCHEMA);
/** What etcd takes of one object, less what else is in it. */
const MAX_STATUS = 1_000_000;

const checkStatus = (status: unknown): void => {
  const text = JSON.stringify(status);
  must(isStatus(status), () => `status ${isStatus.errors?.[0]?.instancePath}: ${isStatus.errors?.[0]?.message}`);
  must(!/:null\b/.test(text), () => `a figure that is none: ${text.slice(0, 300)}`);
  must(text.length < MAX_STATUS, () => `a status of ${text.length} characters`);
};

/** The API server, as far as the loop writes to it: it applies patches to what is in the world. */
const clientOf = (world: World): Pick<Client, 'patch' | 'create' | 'delete'> => ({
  async patch<T extends KubernetesObject>(
    resource: Resource,
    ref: { namespace?: string; name: string },
    _type: string,
    patch: unknown,
  ): Promise<T> {
    must(ref.namespace === 'shop', () => `${resource.plural} ${ref.namespace}/${ref.name} is patched`);
    if (resource === SERVICES) return world.service as unknown as T;
    const operations = patch as JsonPatchOperation[];
    if (resource === FLOW_POLICIES) {
      const [{ value } = { value: undefined }] = operations as { value?: unknown }[];
      checkStatus(value);
      return { metadata: { name: ref.name } } as unknown as T;
    }
    must(resource === ENDPOINT_SLICES, () => `${resource.plural} are patched`);
    const index = world.slices.findIndex(({ metadata }) => metadata?.name === ref.name);
    checkSlicePatch(operations);
    const next = applyJsonPatch(world.slices[index], operations) as EndpointSlice;
    world.slices[index] = next;
    return next as unknown as T;
  },
  create: <T extends KubernetesObject>(_resource: Resource, object: T) => Promise.resolve(object),
  delete: () => Promise.resolve(),
});

const MAX_SERIES = 100;

/** The metrics tell numbers, and not more of them than a Service has zones. */
const checkMetrics = (text: string): void => {
  const series = text.split('\n').filter((line) => line.includes('namespace="shop"'));
  must(series.length <= MAX_SERIES, () => `${series.length} series of one Service`);
  const nonsense = series.find((line) => !Number.isFinite(Number(line.slice(line.lastIndexOf(' ')))));
  must(nonsense === undefined, () => `a series without a number: ${nonsense?.slice(0, 200)}`);
};

const createLoop = (world: World, clock: FakeClock) => {
  const client = clientOf(world);
  const events: EventInput[] = [];
  const log = recordingLogger();
  const metrics = createMetrics({ defaultMetrics: false });
  const project = createSliceProjection();
  const projectPod = createPodProjection();
  const pods = new Map(world.pods.map((pod) => [pod.metadata?.name, projectPod(pod).cpu]));
  const source: LoadSource = {
    name: 'prometheus',
    read: () => Promise.resolve(readingAt(world.reading, clock.now() / 1_000)),
  };
  const reporter = createFlowReporter({
    following: () => ({ kind: 'followed' }),
    client,
    status: { create: true, minIntervalSeconds: 0 },
    available: () => true,
    events: { record: (event) => void events.push(event) },
    counters: createFlowCounters(metrics),
    clock,
    logger: log,
  });
  showFlow(metrics, reporter);
  const snapshot = (): Snapshot => ({
    service: projectService(structuredClone(world.service)),
    slices: world.slices.map((slice): FlowSlice => project(slice)).filter(({ service }) => service === 'web'),
    policy: world.policy,
    zones: clientZonesOf(world.nodes.map((node) => projectNode(node))),
    podCpu: (name) => pods.get(name),
  });
  const late = (): void => undefined;
  const { signal: lifetime } = new AbortController();
  const reconciler = createFlowReconciler({
    snapshots: { snapshot, foreign: () => undefined, known: () => true },
    reporter,
    client,
    loads: createLoadReader({ sources: new Map([[source.name, source]]), clock, lifetime, onLate: late }),
    planning: createPlanning({ open: openInline, clock, onReady: late }),
    clock,
    random: () => 0.5,
  });
  return { reconciler, events, log, metrics: () => metrics.text() };
};

const TURNS = 3;
const never = new AbortController().signal;

export const target: Target = {
  bytes: false,
  open: () => {
    const run = async ({ text }: Input): Promise<void> => {
      const world = worldOf(text.toString());
      if (world === undefined) return;
      const clock = createFakeClock();
      const { reconciler, events, log, metrics } = createLoop(world, clock);
      for (let turn = 0; turn < TURNS; turn += 1) {
        await reconciler.reconcile(KEY, never);
        await clock.advance(60_000);
      }
      for (const { message } of events) must(message.length <= 1_024, () => `an event of ${message.length} characters`);
      const long = log.entries.map((entry) => JSON.stringify(entry)).find((line) => line.length > 20_000);
      must(long === undefined, () => `a log line of ${long?.length} characters`);
      must(
        events.length <= 2 * TURNS && log.entries.length <= 4 * TURNS,
        () => `${events.length} events in ${TURNS} turns`,
      );
      checkMetrics(await metrics());
    };
    return { samples: LOOPS, run };
  },
};
