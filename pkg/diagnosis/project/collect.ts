// Gathers objects of any kind, one by one, into a snapshot; of each it keeps what a diagnosis needs.
// FlowPolicies reduced to the demand that was observed, to what it is measured by, and to what the loop says of itself.
import { type Fields, defined, isFields } from '../../apis/values.ts';
import type { FlowPolicyCondition } from '../../apis/flow-policy.ts';
import { GROUP } from '../../apis/names.ts';
import { unitsOf } from '../../apis/quantity.ts';
import { expiryOf } from '../../evacuation/accept.ts';
import { DEFAULT_LOOP_POLICY } from '../../flow/loop/from-spec.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { COLLECTIONS, known, unknown } from '../snapshot.ts';
import type {
  ClusterSnapshot,
  CollectionName,
  EvacuationSummary,
  FlowLoopSummary,
  FlowPolicySummary,
} from '../snapshot.ts';
import {
  ciliumNodeConfigOf,
  daemonSetOf,
  eventOf,
  routerConfigOf,
  routerDeploymentOf,
  routerPodOf,
  settingsObjectOf,
  webhooksOf,
} from './routers.ts';
import {
  classOf,
  createSliceReader,
  gatewayOf,
  ingressOf,
  nodeOf,
  ownRouteOf,
  projectRoute,
  registrationOf,
  serviceOf,
  targetGroupOf,
} from './core.ts';
import {
  DEFAULT_NAMESPACE,
  FieldError,
  fieldsIn,
  listIn,
  metadataOf,
  requiredTextAt,
  textAt,
  textIn,
  wholeIn,
} from './fields.ts';
import { autoscalerOf, podOf, workloadOf } from './workloads.ts';

/** Undefined where it was deleted and is on its way out. */
const evacuationOf = (object: Fields): EvacuationSummary | undefined => {
  if (textIn(object, 'metadata.deletionTimestamp') !== '') return undefined;
  const creationTimestamp = textIn(object, 'metadata.creationTimestamp');
  const counts = ['moved', 'pending', 'left'].map(
    (name) => `${wholeIn(object, `status.services.${name}`) ?? 0} ${name}`,
  );
  return {
    name: metadataOf(object, false).name,
    zone: textIn(object, 'spec.zone'),
    until: expiryOf({ metadata: { creationTimestamp }, spec: { duration: textIn(object, 'spec.duration') } }),
    reason: textIn(object, 'spec.reason'),
    phase: textIn(object, 'status.phase'),
    services: Object.keys(fieldsIn(object, 'status.services')).length === 0 ? '' : counts.join(', '),
  };
};

const HUNDRED = 100;

/** The API server has checked a FlowPolicy by its schema, and only the controller writes its status. */
const loopOf = (object: Fields): FlowLoopSummary => {
  const change = listIn(object, 'status.lastChanges')[0];
  const spread = fieldsIn(object, 'status.plan')['spread'];
  const text = (path: string): string | undefined => textIn(object, path) || undefined;
  return {
    mode: textIn(object, 'spec.mode') === 'Observe' ? 'Observe' : 'Enforce',
    targetPercent:
      wholeIn(object, 'spec.targetUtilizationPercent') ?? Math.round(DEFAULT_LOOP_POLICY.targetUtilization * HUNDRED),
    zones: listIn(object, 'status.zones').map((zone) => ({
      zone: textIn(zone, 'zone'),
      demand: textIn(zone, 'demand'),
      endpoints: wholeIn(zone, 'endpoints') ?? 0,
      utilizationPercent: wholeIn(zone, 'utilizationPercent') ?? 0,
      spillPercent: wholeIn(zone, 'spillPercent') ?? 0,
    })),
    conditions: listIn(object, 'status.conditions').map((condition) => ({
      type: textIn(condition, 'type') as FlowPolicyCondition['type'],
      status: textIn(condition, 'status') as FlowPolicyCondition['status'],
      reason: textIn(condition, 'reason'),
      message: textIn(condition, 'message'),
    })),
    ...defined({
      source: text('status.source'),
      demand: text('status.demand'),
      inZonePercent: wholeIn(object, 'status.inZonePercent'),
      maxUtilizationPercent: wholeIn(object, 'status.maxUtilizationPercent'),
      boundPercent: wholeIn(object, 'status.bounds.integralityPercent'),
      spread: typeof spread === 'boolean' ? spread : undefined,
      lastChange:
        change === undefined
          ? undefined
          : { time: textIn(change, 'time'), reason: textIn(change, 'reason'), message: textIn(change, 'message') },
    }),
  };
};

/** Only a status that says that load is observed is an answer; an old one is none. */
const demandOf = (object: Fields): Record<string, number> | undefined => {
  const observed = listIn(object, 'status.conditions').some(
    ({ type, status }) => type === 'Observed' && status === 'True',
  );
  const zones = listIn(object, 'status.zones').map((zone) => [textIn(zone, 'zone'), unitsOf(zone['demand'])] as const);
  const demands = zones.filter((entry): entry is [string, number] => entry[1] !== undefined);
  return observed && demands.some(([, demand]) => demand > 0) ? Object.fromEntries(demands) : undefined;
};

export const flowPolicyOf = (object: Fields): FlowPolicySummary => {
  const { namespace = DEFAULT_NAMESPACE, name } = metadataOf(object, true);
  const capacityFrom = textIn(object, 'spec.capacity.from') || 'Requests';
  const percent = wholeIn(object, 'spec.targetUtilizationPercent');
  // Samples of a query are in whatever unit it has; `Value` is then in that unit as well.
  const inCores = capacityFrom !== 'Value' || textIn(object, 'spec.metrics.query') === '';
  return {
    namespace,
    name,
    capacityFrom,
    loop: loopOf(object),
    ...defined({
      demand: inCores ? demandOf(object) : undefined,
      capacity: capacityFrom === 'Value' ? unitsOf(fieldsIn(object, 'spec.capacity')['value']) : undefined,
      targetUtilization: percent === undefined ? undefined : percent / HUNDRED,
    }),
  };
};

type Reader = (object: Fields) => readonly unknown[];

const one = (value: unknown): readonly unknown[] => (value === undefined ? [] : [value]);

/** Groups that distinguish equal names of kinds. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  Service: [''],
  Node: [''],
  Pod: [''],
  Event: ['', 'events.k8s.io'],
  FlowPolicy: [GROUP],
  ZoneEvacuation: [GROUP],
  FelixConfiguration: ['crd.projectcalico.org', 'projectcalico.org'],
  Installation: ['operator.tigera.io'],
  CiliumNodeConfig: ['cilium.io'],
  Network: ['operator.openshift.io'],
  Ingress: ['networking.k8s.io'],
  IngressClass: ['networking.k8s.io'],
  Gateway: ['gateway.networking.k8s.io'],
  GatewayClass: ['gateway.networking.k8s.io'],
  IngressRoute: ['traefik.io', 'traefik.containo.us'],
  HTTPProxy: ['projectcontour.io'],
  VirtualServer: ['k8s.nginx.org'],
  APIService: ['apiregistration.k8s.io'],
};

type Entry = readonly [CollectionName, Reader];

const createReaders = (): Readonly<Record<string, readonly Entry[]>> => {
  const slice = createSliceReader();
  const workload: Entry = ['workloads', (object) => [workloadOf(object)]];
  const autoscaler: Entry = ['autoscalers', (object) => [autoscalerOf(object)]];
  const router = (read: (object: Fields) => unknown): Entry => ['routers', (object) => one(read(object))];
  const entry = (read: (object: Fields) => unknown): Entry => ['ingresses', (object) => one(read(object))];
  return {
    Node: [['nodes', (object) => [nodeOf(object)]]],
    Service: [['services', (object) => [serviceOf(object)]]],
    EndpointSlice: [['slices', (object) => [slice(object)]]],
    Pod: [['pods', (object) => [podOf(object)]], router(routerPodOf)],
    Deployment: [workload, router(routerDeploymentOf)],
    StatefulSet: [workload],
    ReplicaSet: [workload],
    HorizontalPodAutoscaler: [autoscaler],
    VerticalPodAutoscaler: [autoscaler],
    ScaledObject: [autoscaler],
    MutatingWebhookConfiguration: [['webhooks', webhooksOf], entry(registrationOf)],
    Event: [['events', (object) => one(eventOf(object))]],
    ConfigMap: [router(routerConfigOf)],
    DaemonSet: [router(daemonSetOf)],
    CiliumNodeConfig: [router(ciliumNodeConfigOf)],
    FelixConfiguration: [router(settingsObjectOf)],
    Installation: [router(settingsObjectOf)],
    Network: [router(settingsObjectOf)],
    Ingress: [entry(ingressOf)],
    IngressClass: [entry(classOf)],
    Gateway: [entry(gatewayOf)],
    GatewayClass: [entry(classOf)],
    HTTPRoute: [entry(projectRoute)],
    GRPCRoute: [entry(projectRoute)],
    TLSRoute: [entry(projectRoute)],
    TCPRoute: [entry(projectRoute)],
    IngressRoute: [entry(ownRouteOf)],
    HTTPProxy: [entry(ownRouteOf)],
    VirtualServer: [entry(ownRouteOf)],
    TargetGroupBinding: [entry(targetGroupOf)],
    ValidatingWebhookConfiguration: [entry(registrationOf)],
    APIService: [entry(registrationOf)],
    FlowPolicy: [['flowPolicies', (object) => [flowPolicyOf(object)]]],
    ZoneEvacuation: [['evacuations', (object) => one(evacuationOf(object))]],
  };
};

const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  'Node',
  'FelixConfiguration',
  'Installation',
  'Network',
  'IngressClass',
  'GatewayClass',
  'ZoneEvacuation',
]);

/** Most objects of these kinds say nothing of the collection. */
const MAY_TAKE_NOTHING: ReadonlySet<CollectionName> = new Set(['routers']);

const groupOf = (apiVersion: string): string => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '');

export const createCollector = () => {
  const readers = createReaders();
  const taken = new Map<CollectionName, Map<string, readonly unknown[]>>();
  const seen = new Set<CollectionName>();
  let count = 0;
  return {
    /**
     * Takes an object with apiVersion and kind; kinds that no diagnosis needs are passed over. A later object of the same
     * kind and name replaces an earlier one.
     *
     * @throws FieldError where a field of a Node, Service or slice is not what the API has there.
     */
    add(object: unknown): void {
      if (!isFields(object)) throw new FieldError([], 'a Kubernetes object (apiVersion, kind, metadata)', object);
      const kind = requiredTextAt(object, 'kind');
      const group = groupOf(textAt(object, 'apiVersion') ?? '');
      count += 1;
      if (!Object.hasOwn(readers, kind) || GROUPS[kind]?.includes(group) === false) return;
      const { namespace = '', name: own } = metadataOf(object, !CLUSTER_SCOPED.has(kind));
      for (const [name, read] of readers[kind] ?? []) {
        const items = read(object);
        const collection = taken.get(name) ?? new Map<string, readonly unknown[]>();
        collection.set(`${kind}/${namespace}/${own}`, items);
        taken.set(name, collection);
        if (items.length > 0 || !MAY_TAKE_NOTHING.has(name)) seen.add(name);
      }
    },
    /** Items taken so far, of any kind. */
    get count() {
      return count;
    },
    /** Collections of which at least one object was taken. */
    seen: seen as ReadonlySet<CollectionName>,
    /** `missing`: why a collection is not known; those not named are complete. */
    snapshot(missing: ReadonlyMap<CollectionName, string>, version?: KubernetesVersion): ClusterSnapshot {
      const of = (name: CollectionName) => {
        const why = missing.get(name);
        return why === undefined ? known([...(taken.get(name)?.values() ?? [])].flat()) : unknown(why);
      };
      // Each reader's type is that of its collection: the table above is the one place that pairs them.
      const collections = Object.fromEntries(COLLECTIONS.map((name) => [name, of(name)]));
      return { ...defined({ version }), ...collections } as unknown as ClusterSnapshot;
    },
  };
};

export type Collector = ReturnType<typeof createCollector>;
