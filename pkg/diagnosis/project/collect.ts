// Gathers objects of any kind, one by one, into a snapshot; of each it keeps what a diagnosis needs.
import { type Fields, defined, isFields } from '../../apis/values.ts';
import { GROUP } from '../../apis/names.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { COLLECTIONS, type ClusterSnapshot, type CollectionName, known, unknown } from '../snapshot.ts';
import { ROUTER_KINDS, ROUTE_KINDS, steersClient } from '../bypasses/kinds.ts';
import { createSliceReader, clientEntry, nodeOf, serviceOf } from './core.ts';
import { FieldError, type Metadata, asText, fieldAt, metadataOf, requiredTextAt } from './fields.ts';
import { namesInConfig } from './names.ts';
import { evacuationOf, flowPolicyOf } from './policies.ts';
import { type Reference, referencesOf } from './references.ts';
import { eventOf, routerOf, webhooksOf } from './routers.ts';
import { type Workload, autoscalerOf, clusterRoleBindingOf, clusterRoleOf, podOf, workloadOf } from './workloads.ts';

/** What an object adds to a collection: an item, several, or undefined for none. */
type Reader = (object: Fields, metadata: Metadata) => unknown;

interface Kind {
  readonly reads: Partial<Record<CollectionName, Reader>>;
  /** Groups in which the kind has this name; default: any. */
  readonly groups?: readonly string[];
  /** It has no namespace. */
  readonly scoped?: boolean;
}

/** A workload or DaemonSet, which names what ConfigMaps name that it reads. */
type Reading = Partial<Pick<Workload, 'namespace' | 'calls' | 'registry' | 'set' | 'configMaps'>>;

const spaceOf = (object: Fields, metadata: Metadata) =>
  Object.keys({ ...metadata.labels, ...metadata.annotations }).some(steersClient) ? clientEntry(object, metadata) : [];

const groupOf = (apiVersion: string): string => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '');

const createKinds = (): Readonly<Record<string, Kind>> => {
  const workload = { reads: { workloads: workloadOf } };
  const autoscaler = { reads: { autoscalers: autoscalerOf } };
  const reads = { routers: routerOf };
  const rbac = ['rbac.authorization.k8s.io'];
  const role = { reads: { clusterRoles: clusterRoleOf }, groups: rbac };
  const binding = { reads: { clusterRoleBindings: clusterRoleBindingOf }, groups: rbac };
  const custom = (rows: typeof ROUTE_KINDS, each: Kind['reads']) =>
    [...Map.groupBy(rows, ([, kind]) => kind)].map(([kind, own]) => {
      // Calico's API server has them under another group, clusters before 1.22 had Ingresses.
      const groupsOf = (api: string) => [groupOf(api), groupOf(api).replace('crd.projectcalico', 'projectcalico')];
      const groups = ['extensions', ...own.flatMap(([api]) => groupsOf(api))];
      return [kind, { reads: each, groups, scoped: own.some(([, , where]) => where === 'cluster') }] as const;
    });
  return {
    ...Object.fromEntries(custom(ROUTE_KINDS, { ingresses: clientEntry })),
    ...Object.fromEntries(custom(ROUTER_KINDS, reads)),
    Node: { reads: { nodes: nodeOf }, groups: [''], scoped: true },
    Service: { reads: { services: serviceOf }, groups: [''] },
    Namespace: { reads: { ingresses: spaceOf }, groups: [''], scoped: true },
    EndpointSlice: { reads: { slices: createSliceReader() } },
    Pod: { reads: { pods: podOf, routers: routerOf }, groups: [''] },
    Deployment: { reads: { workloads: workloadOf, routers: routerOf } },
    StatefulSet: workload,
    ReplicaSet: workload,
    HorizontalPodAutoscaler: autoscaler,
    VerticalPodAutoscaler: autoscaler,
    ScaledObject: autoscaler,
    Event: { reads: { events: eventOf }, groups: ['', 'events.k8s.io'] },
    ConfigMap: { reads },
    DaemonSet: { reads },
    MutatingWebhookConfiguration: { reads: { webhooks: webhooksOf, ingresses: clientEntry }, scoped: true },
    ClusterRole: { ...role, scoped: true },
    ClusterRoleBinding: { ...binding, scoped: true },
    Role: role,
    RoleBinding: binding,
    FlowPolicy: { reads: { flowPolicies: flowPolicyOf }, groups: [GROUP] },
    ZoneEvacuation: { reads: { evacuations: evacuationOf }, groups: [GROUP], scoped: true },
  };
};

export const createCollector = () => {
  const kinds = createKinds();
  const taken = new Map<CollectionName, Map<string, readonly unknown[]>>();
  const seen = new Set<CollectionName>();
  const references: Reference[] = [];
  const configs = new Map<string, ReturnType<typeof namesInConfig>>();
  const withConfigs = (item: Reading): Reading => {
    const read = (item.configMaps ?? []).flatMap((name) => configs.get(`${item.namespace ?? ''}/${name}`) ?? []);
    if (read.length === 0) return item;
    const registry = [item, ...read].find((each) => each.registry !== undefined)?.registry;
    const set = [item, ...read].flatMap((each) => each.set ?? []);
    return { ...item, ...defined({ registry }), calls: [item, ...read].flatMap(({ calls = [] }) => calls), set };
  };
  return {
    /**
     * Takes an object with apiVersion and kind; kinds that no diagnosis needs are passed over. A later object of the same
     * kind and name replaces an earlier one.
     *
     * @throws FieldError where a field of a Node, Service or slice is not what the API has there.
     */
    add(object: unknown): void {
      if (!isFields(object)) throw new FieldError([], 'a Kubernetes object (apiVersion, kind, metadata)', object);
      const name = requiredTextAt(object, 'kind');
      const group = groupOf(fieldAt(object, 'apiVersion', asText) ?? '');
      const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
      if (kind === undefined || kind.groups?.includes(group) === false)
        return void references.push(...referencesOf(object, group));
      const metadata = metadataOf(object, kind.scoped !== true);
      if (name === 'ConfigMap')
        configs.set(`${metadata.namespace ?? ''}/${metadata.name}`, namesInConfig(object, metadata.name));
      for (const [into, read] of Object.entries(kind.reads) as [CollectionName, Reader][]) {
        const items = [read(object, metadata)].flat().filter((item) => item !== undefined);
        const collection = taken.get(into) ?? new Map<string, readonly unknown[]>();
        taken.set(into, collection.set(`${name}/${metadata.namespace ?? ''}/${metadata.name}`, items));
        // Most objects of these kinds say nothing of data planes, and most Namespaces nothing of who goes around.
        if (items.length > 0 || !['routers', 'ingresses'].includes(into)) seen.add(into);
      }
    },
    /** Collections of which at least one object was taken. */
    seen: seen as ReadonlySet<CollectionName>,
    /** `missing`: why a collection is not known, `partly`: why a part of it is not; those not named are complete. */
    snapshot(
      missing: ReadonlyMap<CollectionName, string>,
      version?: KubernetesVersion,
      partly?: ReadonlyMap<CollectionName, string>,
    ): ClusterSnapshot {
      const allOf = (name: CollectionName) => [...(taken.get(name)?.values() ?? [])].flat() as never[];
      const of = (name: CollectionName) => {
        const why = missing.get(name);
        if (why !== undefined) return unknown(why);
        const own = allOf(name).map((item) => withConfigs(item as Reading));
        return { ...known(own), ...defined({ without: partly?.get(name) }) };
      };
      // Each reader's type is that of its collection: the table above is the one place that pairs them.
      const collections = Object.fromEntries(COLLECTIONS.map((name) => [name, of(name)]));
      return { ...defined({ version }), references, ...collections } as unknown as ClusterSnapshot;
    },
  };
};

export type Collector = ReturnType<typeof createCollector>;
