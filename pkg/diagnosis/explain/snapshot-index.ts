// What many explanations of one snapshot share: its objects by name, namespace, Node and zone, and who routes on each Node.
import { type EndpointSlice, type Node, type Service, isNodeReady, zoneOfNode } from '../../apis/core.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { milliFromNano, nanoOf } from '../../apis/quantity.ts';
import { byText, keyOf, nameOf, refOf, sumBy, workloadTitle } from '../../apis/values.ts';
import { zoneWeights } from '../../flow/evaluate.ts';
import { MISSES_LATE_ZONE, isControlPlane, zoneShares } from '../../upstream/index.ts';
import { bypassIndex } from '../bypasses/bypass-index.ts';
import { selects } from '../bypasses/watchers.ts';
import { matchesSelector } from '../../routing/types.ts';
import { controlPlaneVersion, noZonesOf, slicesByService } from '../models/lookup.ts';
import { groupNodes } from '../models/routes.ts';
import { computeTypeOf } from '../routers/nodes.ts';
import { routersOf } from '../routers/routers.ts';
import type { Stated } from '../routers/types.ts';
import { type Autoscaler, type ClusterSnapshot, type Workload, itemsOf } from '../snapshot.ts';

type ByKey<T> = Pick<ReadonlyMap<string, readonly T[]>, 'get'>;

const byNamespace = <T extends { readonly namespace: string }>(items: readonly T[]): ByKey<T> =>
  Map.groupBy(items, ({ namespace }) => namespace);

const milliCpuOf = ({ status }: Node): number | undefined => {
  const allocatable = nanoOf(status?.allocatable?.['cpu']);
  return allocatable === undefined ? undefined : milliFromNano(allocatable);
};

/** A server of k3s and the like has the label of the control plane and no taint: Pods run there as on any Node. */
const asWorker = (node: Node): Node =>
  (node.spec?.taints ?? []).length > 0 ? node : { ...node, metadata: { labels: { [LABEL_ZONE]: zoneOfNode(node) } } };

/** Services of its Pods that have another value of this label, as those of replicas beside that of a primary. */
export const servicesBeside = (snapshot: ClusterSnapshot, service: Service, label: string): string[] => {
  const { [label]: value, ...matchLabels } = service.spec?.selector ?? {};
  const isBeside = ({ metadata, spec: { selector = {} } = {} }: Service): boolean =>
    metadata?.namespace === service.metadata?.namespace &&
    (selector[label] ?? value) !== value &&
    matchesSelector({ matchLabels }, selector);
  return itemsOf(snapshot.services).filter(isBeside).map(keyOf);
};

/** `stated`: what counts more than objects. */
export const indexSnapshot = (snapshot: ClusterSnapshot, stated: Stated = {}) => {
  const readyNodes = itemsOf(snapshot.nodes).filter(isNodeReady);
  const routers = routersOf(snapshot, stated);
  const workers = itemsOf(snapshot.nodes).flatMap((node) => (isControlPlane(asWorker(node)) ? [] : [asWorker(node)]));
  const weights = zoneWeights({ nodes: workers, by: 'cpu' });
  const groups = groupNodes(readyNodes, (node) => routers.keyOf(node));
  const nodesIn: ReadonlyMap<string, readonly Node[]> = Map.groupBy(readyNodes, zoneOfNode);
  const kinds = Map.groupBy(itemsOf(snapshot.routers), ({ kind }) => kind);
  const zoneOf = new Map(itemsOf(snapshot.nodes).map((node) => [nameOf(node), zoneOfNode(node)]));
  return {
    slices: slicesByService(itemsOf(snapshot.slices)) as ByKey<EndpointSlice>,
    shares: zoneShares(itemsOf(snapshot.nodes)),
    readyNodes,
    groups,
    /** One for Nodes that are alike: thousands of Services ask. */
    answers: groups.flatMap((nodes) => nodes.slice(0, 1)).map((node) => routers.of(node)),
    routers,
    bypasses: bypassIndex(snapshot),
    // How clients are spread over the zones: by the CPU of their Nodes; undefined: alike on every Node, where that is not known.
    weights: weights.kind === 'known' ? weights.weights : undefined,
    services: Map.groupBy(itemsOf(snapshot.services), (each) => refOf(each).namespace) as ByKey<Service>,
    /** A kube-proxy that picks by the address of the client, or by load. */
    hashing: itemsOf(snapshot.routers).find(
      ({ settings }) => settings['mode'] === 'ipvs' && /^(?:[sm]h|w?lc|sed|nq)$/.test(settings['ipvs.scheduler'] ?? ''),
    ),
    downZones: [...new Set(zoneOf.values())].filter((zone) => zone !== '' && !nodesIn.has(zone)).sort(byText),
    zoneOf,
    /** CPU that Pods may request, in millicores; undefined where the Node does not say. */
    cpuOf: new Map(readyNodes.map((node) => [nameOf(node), milliCpuOf(node)])),
    nodesIn,
    noZones: noZonesOf(readyNodes),
    fargate: new Set(readyNodes.filter((node) => computeTypeOf(node) === 'fargate').map(nameOf)),
    workerZones: new Set(workers.filter(isNodeReady).map(zoneOfNode)),
    version: controlPlaneVersion(snapshot, undefined),
    podsOn: Map.groupBy(itemsOf(snapshot.pods), ({ nodeName }) => nodeName),
    workloads: byNamespace(itemsOf(snapshot.workloads)),
    /** Under the names of their claims; StorageClasses that make them before it is known where the Pod will run. */
    volumes: byNamespace(kinds.get('PersistentVolume') ?? []),
    early: new Set(kinds.get('StorageClass')?.map(({ name }) => name)),
    autoscalers: byNamespace(itemsOf(snapshot.autoscalers)),
  };
};

export type SnapshotIndex = ReturnType<typeof indexSnapshot>;

/** ReplicaSets under the name of who makes them (a Rollout, a Deployment that was not seen), and none whose Deployment is there. */
const controllersOf = (workloads: readonly Workload[]): readonly Workload[] => {
  const seen = new Set(workloads.map(workloadTitle));
  const madeBy = (each: Workload) => (each.kind === 'ReplicaSet' ? each.marks?.ownerReferences?.[0] : undefined);
  const made = Map.groupBy(workloads.filter(madeBy), (each) => workloadTitle(madeBy(each) ?? each));
  const others = [...made].flatMap(([title, sets]) => {
    const [set] = sets.toSorted((a, b) => b.replicas - a.replicas);
    const owner = set === undefined ? undefined : madeBy(set);
    if (set === undefined || owner === undefined || seen.has(title)) return [];
    const { marks: _, ...rest } = set;
    return [{ ...rest, kind: owner.kind, name: owner.name, replicas: sumBy(sets, ({ replicas }) => replicas) }];
  });
  return [...workloads.filter((each) => madeBy(each) === undefined), ...others];
};

/** It changes how many Pods the workload has. */
export const scales = ({ namespace, targetKind, targetName, off }: Autoscaler, own: Workload): boolean =>
  !off && namespace === own.namespace && targetKind === own.kind && targetName === own.name;

/** What runs behind the Service, and what scales it. */
export const ownersOf = (index: SnapshotIndex, service: Service) => {
  const { namespace } = refOf(service);
  const near = index.workloads.get(namespace) ?? [];
  const workloads = controllersOf(near.filter((each) => selects(service, each)));
  const all = index.autoscalers.get(namespace) ?? [];
  const autoscalers = all.filter((each) => workloads.some((own) => scales(each, own)));
  const pods = index.bypasses.podsOf(service);
  const ends = /^-(?:\d+|(?:[^-]+-)?[^-]{5})$/; // of a StatefulSet, ReplicaSet or Deployment
  const makes = ({ name: own, podLabels: matchLabels }: Workload): boolean =>
    pods.some(({ name, labels }) => ends.test(name.replace(own, '')) && matchesSelector({ matchLabels }, labels));
  /** Also those whose Pods have labels that their template does not give them (timescale/helm-charts#25, CrunchyData/postgres-operator#2288). */
  const makers = workloads.length > 0 ? workloads : controllersOf(near.filter(makes));
  return { pods, workloads, autoscalers, makers };
};

/** Nodes of which one that got its zone late is ignored by its kube-proxy. */
export const racedNodes = ({ readyNodes, routers }: Pick<SnapshotIndex, 'readyNodes' | 'routers'>) => {
  const [first, last] = MISSES_LATE_ZONE;
  return readyNodes.filter((node) => {
    const { router, routing } = routers.of(node);
    const { minor } = routing.version;
    return router === 'kube-proxy' && minor >= first && minor <= last;
  });
};
