// Gathers objects of any kind, one by one, into a snapshot; of each it keeps what a diagnosis needs.
import { type Fields, defined, isFields } from '../../apis/values.ts';
import { GROUP } from '../../apis/names.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { COLLECTIONS, known, unknown } from '../snapshot.ts';
import type { ClusterSnapshot, CollectionName } from '../snapshot.ts';
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
import { FieldError, asText, fieldAt, metadataOf, requiredTextAt } from './fields.ts';
import { evacuationOf, flowPolicyOf } from './policies.ts';
import { autoscalerOf, podOf, workloadOf } from './workloads.ts';

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
      const group = groupOf(fieldAt(object, 'apiVersion', asText) ?? '');
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
