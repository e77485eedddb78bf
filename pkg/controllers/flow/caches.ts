// The caches of the flow controller, each reduced to the fields that decisions read.
import type { FlowControllerConfiguration } from '../../apis/config/flow-controller.ts';
import { type EndpointSlice, type Namespace, type Node, type Service, isSwitching } from '../../apis/core.ts';
import { createPool, defined, identityMeta, keyOf, nameOf, picked, refOf, refOfKey, sumOf } from '../../apis/values.ts';
import type { FlowPolicy } from '../../apis/flow-policy.ts';
import type { KubernetesObject, StringMap } from '../../apis/meta.ts';
import { ANNOTATION_APPLIED, ANNOTATION_HINTS, LABEL_CONSIDER, LABEL_STRATEGY, LABEL_ZONE } from '../../apis/names.ts';
import { TOPOLOGY_ANNOTATIONS } from '../../apis/names.ts';
import { unitsOf } from '../../apis/quantity.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, NAMESPACES, NODES, PODS, SERVICES } from '../../apis/resources.ts';
import { clientZonesOf, createSliceProjection, viewsOfEndpoints } from '../../flow/assemble/slice.ts';
import type { ClientZones, FlowSlice } from '../../flow/assemble/slice.ts';
import type { PodCpu } from '../../flow/assemble/turn.ts';
import { type GroupNode, projectGroupNode } from '../../kubeedge/decide.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';
import { type KeysOf, type Watch, changes, contents, hasChanged, objects } from '../../kubernetes/watches.ts';
import type { LoadQuery } from '../../metrics/types.ts';
import { matchesSelector } from '../../routing/types.ts';
import { routingMeta, routingStatus } from '../routers/evidence.ts';
import type { Snapshot } from './memory.ts';

interface WithResources {
  readonly resources?: { readonly requests?: StringMap; readonly limits?: StringMap };
}
interface Container extends WithResources {
  readonly restartPolicy?: string;
}
/** core/v1 Pod as far as its CPU goes. */
interface Pod extends KubernetesObject {
  readonly spec?: WithResources & {
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
  };
}

interface FlowPod extends KubernetesObject {
  readonly cpu: PodCpu;
}

/** The sum over containers; null where one of them does not say, as HPA has it. Sidecars run as long as the Pod and count. */
const coresOf = (pod: Pod, field: 'requests' | 'limits'): number | null => {
  const ofPod = unitsOf(pod.spec?.resources?.[field]?.['cpu']);
  if (ofPod !== undefined) return ofPod;
  const sidecars = (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const containers = [...(pod.spec?.containers ?? []), ...sidecars];
  const cores = containers.map(({ resources }) => unitsOf(resources?.[field]?.['cpu']));
  return cores.every((own) => own !== undefined) ? sumOf(cores) : null;
};

/** A function that reduces Pods; those with the same CPU share one object. */
export const createPodProjection = (): ((pod: KubernetesObject) => FlowPod) => {
  const pooled = createPool<PodCpu>(({ requests, limits }) => `${requests}/${limits}`, 1_000);
  return (pod) => {
    const { name, namespace, resourceVersion } = pod.metadata ?? {};
    const cpu = pooled({ requests: coresOf(pod, 'requests'), limits: coresOf(pod, 'limits') });
    return { metadata: defined({ name, namespace, resourceVersion }), cpu };
  };
};

const SERVICE_LABELS = [LABEL_STRATEGY, LABEL_CONSIDER];
const SERVICE_ANNOTATIONS = [ANNOTATION_APPLIED, ...TOPOLOGY_ANNOTATIONS];

export const projectService = ({ metadata = {}, spec }: Service): Service => ({
  metadata: {
    ...identityMeta(metadata),
    labels: picked(metadata.labels, SERVICE_LABELS),
    annotations: picked(metadata.annotations, SERVICE_ANNOTATIONS),
  },
  spec: {
    // What data planes look at before they follow hints, beside the selector.
    ...defined({ selector: spec?.selector, trafficDistribution: spec?.trafficDistribution }),
    ...(spec?.externalTrafficPolicy === 'Local' ? { externalTrafficPolicy: 'Local' } : {}),
  },
});

/** A Node as the flow-controller sees it; `GroupNode` says nothing where NodeGroups are switched off. */
export type FlowNode = Node & GroupNode;

const NODE_LABELS = [LABEL_ZONE, 'node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

const UNGROUPED: GroupNode = { metadata: {}, zoneManagers: [], memberManagers: [] };

/** `grouped`: with what decides the zones that NodeGroups give. */
export const projectNode = (node: Node, grouped = false): FlowNode => {
  const { metadata = {}, status } = node;
  const routing = routingMeta(metadata);
  const group = grouped ? projectGroupNode(node) : UNGROUPED;
  return {
    ...group,
    metadata: {
      ...identityMeta(metadata),
      labels: { ...routing.labels, ...picked(metadata.labels, NODE_LABELS), ...group.metadata.labels },
      annotations: { ...routing.annotations, ...group.metadata.annotations },
    },
    status: { ...routingStatus(node), allocatable: picked(status?.allocatable, ['cpu']) },
  };
};

const INDEX_SERVICE = 'service';
const INDEX_NAMESPACE = 'namespace';
const INDEX_NODE = 'node';

export const flowKeyOf = ({ metadata, service }: FlowSlice): string => `${metadata?.namespace ?? ''}/${service}`;

export const slicesOf = (cache: Cache<FlowSlice>, service: string): FlowSlice[] =>
  cache
    .byIndex(INDEX_SERVICE, service)
    .filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
    .sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));

/** Keys of the Services with endpoints on a Node; of none unless NodeGroups are switched on. */
export const servicesOnNode = (cache: Cache<FlowSlice>, node: string): Set<string> =>
  new Set(cache.byIndex(INDEX_NODE, node).map(flowKeyOf));

/** Keys of the Services that a Pod is an endpoint of. Asked seldom: an index of all Pods would cost more than it saves. */
const servicesOfPod = (cache: Cache<FlowSlice>, object: KubernetesObject): Set<string> => {
  const { namespace, name } = refOf(object);
  const holding = cache
    .byIndex(INDEX_NAMESPACE, namespace)
    .filter(({ service, endpoints }) => service !== '' && endpoints.some(({ pod }) => pod === name));
  return new Set(holding.map(flowKeyOf));
};

const projectNamespace = ({ metadata = {} }: Namespace): Namespace => {
  const { name, labels, annotations, resourceVersion } = metadata;
  return { metadata: defined({ name, labels, annotations: picked(annotations, [ANNOTATION_HINTS]), resourceVersion }) };
};

export const openFlowCaches = (open: OpenCache, { enabled: grouped }: FlowControllerConfiguration['nodeGroups']) => {
  const project = createSliceProjection();
  return {
    services: open<Service>(SERVICES, { transform: projectService }),
    slices: open<FlowSlice>(ENDPOINT_SLICES, {
      // What comes from the server is the whole slice; what is cached is what the type says.
      transform: (slice) => project(slice as unknown as EndpointSlice),
      indexers: {
        [INDEX_SERVICE]: (slice) => (slice.service === '' ? [] : [flowKeyOf(slice)]),
        [INDEX_NAMESPACE]: ({ metadata }) => [metadata?.namespace ?? ''],
        [INDEX_NODE]: ({ endpoints }) => (grouped ? [...new Set(endpoints.map(({ node }) => node))] : []),
      },
    }),
    pods: open<FlowPod>(PODS, { transform: createPodProjection() }),
    nodes: open<FlowNode>(NODES, { transform: (node) => projectNode(node, grouped) }),
    /** Absent where the definition is not installed: every Service then has the defaults. */
    policies: open<FlowPolicy>(FLOW_POLICIES, {}),
    namespaces: open<Namespace>(NAMESPACES, { transform: projectNamespace }),
  };
};

export type FlowCaches = ReturnType<typeof openFlowCaches>;

/** Pods that may not be read say nothing of their CPU. */
const UNKNOWN: PodCpu = { requests: null, limits: null };

export const createSnapshots = (
  { services, slices, pods, nodes, policies, namespaces }: FlowCaches,
  options: Pick<FlowControllerConfiguration, 'namespaceSelector' | 'excludedNamespaces'>,
) => {
  const { namespaceSelector, excludedNamespaces } = options;
  let looked: { readonly zones: ClientZones; readonly any: boolean } | undefined;
  nodes.onChange((node, previous, deleted) => {
    if (deleted || hasChanged(node, previous)) looked = undefined;
  });
  /** Asked in every turn: thousands of Nodes are not to be listed for it. */
  const look = (): NonNullable<typeof looked> => {
    const all = looked === undefined ? nodes.list() : [];
    return (looked ??= { zones: clientZonesOf(all), any: all.length > 0 });
  };
  const isOurs = (namespace: string): boolean =>
    !excludedNamespaces.includes(namespace) &&
    matchesSelector(namespaceSelector, namespaces.get({ name: namespace })?.metadata?.labels ?? {});
  const snapshotIn = (key: string, ours: boolean): Snapshot | undefined => {
    const ref = refOfKey(key);
    const service = isOurs(ref.namespace) === ours ? services.get(ref) : undefined;
    if (service === undefined || service.metadata?.deletionTimestamp !== undefined) return undefined;
    return {
      service,
      slices: slicesOf(slices, key),
      policy: policies.get(ref),
      zones: look().zones,
      podCpu: (name) => (pods.state !== 'synced' ? UNKNOWN : pods.get({ namespace: ref.namespace, name })?.cpu),
    };
  };
  const selects = Object.keys(namespaceSelector).length > 0;
  return {
    /** Whether Nodes are known, and the labels of namespaces where those decide what is served. */
    known: (): boolean => look().any && (!selects || namespaces.state === 'synced'),
    /** Undefined: there is no such Service, or it is not served. */
    snapshot: (key: string): Snapshot | undefined => snapshotIn(key, true),
    // What is excluded may be another planner's.
    /** The same for a Service in a namespace that is not served; undefined: it is served or excluded, or there is none. */
    foreign: (key: string): Snapshot | undefined =>
      excludedNamespaces.includes(refOfKey(key).namespace) ? undefined : snapshotIn(key, false),
    /** Keys of all served Services. */
    services: () => services.list().flatMap((own) => (isOurs(own.metadata?.namespace ?? '') ? keyOf(own) : [])),
  };
};

export type Snapshots = ReturnType<typeof createSnapshots>;

/** Whose load is asked for: the Pods of a Service that have ready endpoints. */
export const loadQueryOf = ({ service, slices }: Snapshot): LoadQuery => {
  const { namespace, name } = refOf(service);
  const { spec } = service;
  const ready = viewsOfEndpoints(slices).filter((endpoint) => endpoint.ready);
  return {
    namespace,
    service: name,
    pods: new Set(ready.map((endpoint) => (endpoint.pod === '' ? endpoint.name : endpoint.pod))),
    ...(spec?.selector && { selector: { matchLabels: spec.selector } }),
  };
};

/** A status that was written changes nothing for the loop. */
const ofPolicy: KeysOf<FlowPolicy> = (policy, previous, deleted) => {
  const edited = JSON.stringify(policy.spec ?? {}) !== JSON.stringify(previous?.spec ?? {});
  return deleted || previous === undefined || edited ? [keyOf(policy)] : [];
};

export const flowWatches = (
  { services, slices, pods, nodes, policies, namespaces }: FlowCaches,
  snapshots: Pick<Snapshots, 'services'>,
): Watch[] => {
  const ofPod: KeysOf<FlowPod> = (pod, previous, deleted) =>
    !deleted && hasChanged(pod, previous) ? servicesOfPod(slices, pod) : [];
  const ofNode: KeysOf<Node> = (node, previous) => {
    const zone = previous?.metadata?.labels?.[LABEL_ZONE] ?? node.metadata?.labels?.[LABEL_ZONE];
    return zone === undefined ? [] : snapshots.services();
  };
  const ofNamespace: KeysOf<Namespace> = (namespace, previous, deleted) => {
    if (isSwitching(namespace, previous)) return snapshots.services();
    const relabelled = JSON.stringify(namespace.metadata?.labels) !== JSON.stringify(previous?.metadata?.labels);
    if (deleted || !relabelled) return [];
    return Array.from(services.list(), keyOf).filter((key) => key.startsWith(`${nameOf(namespace)}/`));
  };
  return [
    ...objects(services, (service: Service) => [keyOf(service)]),
    ...changes(policies, ofPolicy),
    ...contents(slices, (slice) => (slice.service === '' ? [] : [flowKeyOf(slice)])),
    ...changes(pods, ofPod),
    ...contents(nodes, ofNode),
    ...changes(namespaces, ofNamespace),
  ];
};
