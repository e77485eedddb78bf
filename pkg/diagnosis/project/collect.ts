// Gathers objects of any kind, one by one, into a snapshot; of each it keeps what a diagnosis needs.
import { defined } from '../../apis/defined.ts';
import { GROUP } from '../../apis/names.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import type { ClusterSnapshot, CollectionName } from '../snapshot.ts';
import { COLLECTIONS, known, unknown } from '../snapshot.ts';
import { classOf, gatewayOf, ingressOf, ownRouteOf, registrationOf, projectRoute, targetGroupOf } from './entries.ts';
import { eventOf, webhooksOf } from './admission.ts';
import { nodeOf, serviceOf } from './core.ts';
import { evacuationOf } from './evacuation.ts';
import { flowPolicyOf } from './flow-policy.ts';
import { FieldError, requiredTextAt, textAt } from './fields.ts';
import { metadataOf } from './metadata.ts';
import {
  ciliumNodeConfigOf,
  daemonSetOf,
  routerConfigOf,
  routerDeploymentOf,
  routerPodOf,
  settingsObjectOf,
} from './routers.ts';
import { createSliceReader } from './slices.ts';
import { autoscalerOf, podOf, workloadOf } from './workloads.ts';
import type { Fields } from '../../apis/fields.ts';
import { isFields } from '../../apis/fields.ts';

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
