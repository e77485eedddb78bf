// Gathers objects of any kind, one by one, into a snapshot; of each it keeps what a diagnosis needs.
// FlowPolicies reduced to the demand that was observed, to what it is measured by, and to what the loop says of itself.
import { type Fields, defined, isFields } from '../../apis/values.ts';
import type { FlowPolicyCondition, FlowPolicyZoneStatus } from '../../apis/flow-policy.ts';
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
  asFields,
  booleanAt,
  fieldsAt,
  listAt,
  metadataOf,
  objectAt,
  requiredTextAt,
  textAt,
  textIn,
  wholeAt,
} from './fields.ts';
import { autoscalerOf, podOf, workloadOf } from './workloads.ts';

const countsOf = (services: Fields): string =>
  ['moved', 'pending', 'left'].map((name) => `${wholeAt(services, name) ?? 0} ${name}`).join(', ');

/** Undefined where it was deleted and is on its way out. */
const evacuationOf = (object: Fields): EvacuationSummary | undefined => {
  const { name } = metadataOf(object, false);
  const spec = fieldsAt(object, 'spec');
  const { creationTimestamp = '', deletionTimestamp } =
    objectAt(object, 'metadata', (inner) => ({
      creationTimestamp: textAt(inner, 'creationTimestamp'),
      deletionTimestamp: textAt(inner, 'deletionTimestamp'),
    })) ?? {};
  if (deletionTimestamp !== undefined) return undefined;
  const until = expiryOf({ metadata: { creationTimestamp }, spec: { duration: textAt(spec, 'duration') ?? '' } });
  const status = fieldsAt(object, 'status');
  return {
    name,
    zone: textAt(spec, 'zone') ?? '',
    until,
    reason: textAt(spec, 'reason') ?? '',
    phase: textAt(status, 'phase') ?? '',
    services: objectAt(status, 'services', countsOf) ?? '',
  };
};

const HUNDRED = 100;

const oneOf = <T extends string>(fields: Fields, key: string, values: readonly T[]): T => {
  const found = values.find((value) => value === fields[key]);
  if (found === undefined) throw new FieldError([key], values.join(' or '), fields[key]);
  return found;
};

const conditionOf = (item: unknown): Pick<FlowPolicyCondition, 'type' | 'status' | 'reason' | 'message'> => {
  const fields = asFields(item);
  return {
    type: oneOf(fields, 'type', ['Observed', 'Effective', 'Stable']),
    status: oneOf(fields, 'status', ['True', 'False', 'Unknown']),
    reason: textIn(fields, 'reason'),
    message: textIn(fields, 'message'),
  };
};

const zoneOf = (item: unknown): FlowPolicyZoneStatus => {
  const fields = asFields(item);
  return {
    zone: textIn(fields, 'zone'),
    demand: textIn(fields, 'demand'),
    endpoints: wholeAt(fields, 'endpoints') ?? 0,
    utilizationPercent: wholeAt(fields, 'utilizationPercent') ?? 0,
    spillPercent: wholeAt(fields, 'spillPercent') ?? 0,
  };
};

const changeOf = (item: unknown): NonNullable<FlowLoopSummary['lastChange']> => {
  const fields = asFields(item);
  return { time: textIn(fields, 'time'), reason: textIn(fields, 'reason'), message: textIn(fields, 'message') };
};

/** `object`: the whole FlowPolicy. @throws FieldError where a field is not what the API has there. */
const loopOf = (object: Fields): FlowLoopSummary => {
  const spec = fieldsAt(object, 'spec');
  const status = fieldsAt(object, 'status');
  return {
    mode: textAt(spec, 'mode') === 'Observe' ? 'Observe' : 'Enforce',
    targetPercent:
      wholeAt(spec, 'targetUtilizationPercent') ?? Math.round(DEFAULT_LOOP_POLICY.targetUtilization * HUNDRED),
    zones: listAt(status, 'zones', zoneOf) ?? [],
    conditions: listAt(status, 'conditions', conditionOf) ?? [],
    ...defined({
      source: textAt(status, 'source'),
      demand: textAt(status, 'demand'),
      inZonePercent: wholeAt(status, 'inZonePercent'),
      maxUtilizationPercent: wholeAt(status, 'maxUtilizationPercent'),
      boundPercent: objectAt(status, 'bounds', (bounds) => wholeAt(bounds, 'integralityPercent')),
      spread: objectAt(status, 'plan', (plan) => booleanAt(plan, 'spread')),
      lastChange: listAt(status, 'lastChanges', changeOf)?.[0],
    }),
  };
};

/** Only a status that says that load is observed is an answer; an old one is none. */
const isObserved = (status: Fields): boolean =>
  (listAt(status, 'conditions', asFields) ?? []).some(
    (condition) => condition['type'] === 'Observed' && condition['status'] === 'True',
  );

const demandOf = (status: Fields): Record<string, number> | undefined => {
  if (!isObserved(status)) return undefined;
  const zones = listAt(status, 'zones', (item) => {
    const zone = asFields(item);
    return [textAt(zone, 'zone') ?? '', unitsOf(textAt(zone, 'demand'))] as const;
  });
  const demands = (zones ?? []).flatMap(([zone, demand]) => (demand === undefined ? [] : [[zone, demand] as const]));
  return demands.some(([, demand]) => demand > 0) ? Object.fromEntries(demands) : undefined;
};

/** Samples of a query are in whatever unit it has; `Value` is then in that unit as well. */
const inCores = (spec: Fields, from: string): boolean =>
  from !== 'Value' || objectAt(spec, 'metrics', (metrics) => textAt(metrics, 'query')) === undefined;

export const flowPolicyOf = (object: Fields): FlowPolicySummary => {
  const { namespace = DEFAULT_NAMESPACE, name } = metadataOf(object, true);
  const spec = fieldsAt(object, 'spec');
  const capacityFrom = objectAt(spec, 'capacity', (inner) => textAt(inner, 'from')) ?? 'Requests';
  const value = objectAt(spec, 'capacity', (inner) => unitsOf(textAt(inner, 'value')));
  const percent = wholeAt(spec, 'targetUtilizationPercent');
  const demand = inCores(spec, capacityFrom) ? objectAt(object, 'status', demandOf) : undefined;
  return {
    namespace,
    name,
    capacityFrom,
    loop: loopOf(object),
    ...defined({
      demand,
      capacity: capacityFrom === 'Value' ? value : undefined,
      targetUtilization: percent === undefined ? undefined : percent / HUNDRED,
    }),
  };
};

export interface Collector {
  /**
   * Takes an object with apiVersion and kind; kinds that no diagnosis needs are passed over. A later object of the same
   * kind and name replaces an earlier one.
   *
   * @throws FieldError where a field is not what the API has there.
   */
  add(object: unknown): void;
  /** Items taken so far, of any kind. */
  readonly count: number;
  /** Collections of which at least one object was taken. */
  readonly seen: ReadonlySet<CollectionName>;
  /** `missing`: why a collection is not known; those not named are complete. */
  snapshot(missing: ReadonlyMap<CollectionName, string>, version?: KubernetesVersion): ClusterSnapshot;
}

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

export const createCollector = (): Collector => {
  const readers = createReaders();
  const taken = new Map<CollectionName, Map<string, readonly unknown[]>>();
  const seen = new Set<CollectionName>();
  let count = 0;
  return {
    add(object) {
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
    get count() {
      return count;
    },
    seen,
    snapshot(missing, version) {
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
