// The controllers behind NodeGroups: zones of Nodes, and Services that have to follow them.
import type { NodeGroup, Service } from '../../apis/core.ts';
import { identityMeta, nameOf, picked, refOfKey } from '../../apis/values.ts';
import { ANNOTATION_TAKEOVER } from '../../apis/names.ts';
import { NODE_GROUPS } from '../../apis/resources.ts';
import { zoneLabelOf } from '../../kubeedge/decide.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';
import type { ControllerContext, ControllerSpec } from '../../kubernetes/manager.ts';
import { type Watch, changes, contents, hasChanged, objects } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { createZoneReconciler } from './zones.ts';
import { type FlowCaches, flowKeyOf, servicesOnNode, slicesOf } from '../flow/caches.ts';
import { type TouchOutcome, createServiceResync } from './touch.ts';

export const showNodeGroups = (
  metrics: Metrics,
  { current }: Pick<ReturnType<typeof createZoneReconciler>, 'current'>,
): void =>
  void metrics.gauge({
    name: 'node_group_nodes',
    help: 'Members of NodeGroups by group and state of their zone: Assigned, or the reason why it was not assigned.',
    labels: ['group', 'state'],
    samples: () => Array.from(current(), ({ group, state }) => [{ group, state }, 1]),
  });

export const createTouchCounter = (metrics: Metrics): ((outcome: TouchOutcome) => void) => {
  const touches = metrics.counter({
    name: 'node_group_touches_total',
    help: 'No-op writes of Services so that their endpoints follow a new zone: touched, followed, or gaveUp.',
    labels: ['outcome'],
  });
  return (outcome) => touches.inc({ outcome });
};

type NodeGroupCaches = Pick<FlowCaches, 'nodes' | 'slices'> & { readonly groups: Cache<NodeGroup> };

const projectGroup = ({ metadata = {}, spec }: NodeGroup): NodeGroup => ({
  metadata: { ...identityMeta(metadata), annotations: picked(metadata.annotations, [ANNOTATION_TAKEOVER]) },
  spec: { ...spec },
});

/** Nodes: each for itself, and all of them for the groups that they may be in. */
const nodeWatches = ({ groups, nodes }: NodeGroupCaches): Watch[] => [
  ...objects(nodes, (node, previous, deleted) => (deleted || hasChanged(node, previous) ? [nameOf(node)] : [])),
  ...contents(groups, () => nodes.list().map(nameOf)),
];

/** Services whose endpoints may be stored with an old zone; `concerns` says which may have something to do. */
const touchWatches = ({ slices, nodes }: NodeGroupCaches, concerns: (key: string) => boolean): Watch[] => [
  ...objects(slices, (slice) => [flowKeyOf(slice)].filter(concerns)),
  ...changes(nodes, (node, previous, deleted) => {
    const moved = !deleted && (previous === undefined || zoneLabelOf(previous) !== zoneLabelOf(node));
    return moved ? [...servicesOnNode(slices, nameOf(node))].filter(concerns) : [];
  }),
];

/** By name; they do nothing while the API server serves no NodeGroups. */
export const createNodeGroupControllers = (
  options: ControllerContext & {
    readonly open: OpenCache;
    readonly caches: Pick<FlowCaches, 'nodes' | 'services' | 'slices'>;
    /** Service writes a second that make endpoints follow a new zone. */
    readonly touchesPerSecond: number;
    /** Their Services are never written. */
    readonly excludedNamespaces: readonly string[];
  },
): Readonly<Record<'node-group-zones' | 'node-group-touches', ControllerSpec>> => {
  const { excludedNamespaces, metrics } = options;
  /** Absent where KubeEdge's definitions are not installed. */
  const groups = options.open<NodeGroup>(NODE_GROUPS, { transform: projectGroup });
  const caches = { ...options.caches, groups };
  const { nodes, services, slices } = caches;
  const shared = { ...options, logger: options.logger.child({ part: 'node-groups' }) };
  const service = (key: string): Service | undefined => {
    const ref = refOfKey(key);
    const excluded = groups.state !== 'synced' || excludedNamespaces.includes(ref.namespace);
    const found = excluded ? undefined : services.get(ref);
    return found?.metadata?.deletionTimestamp === undefined ? found : undefined;
  };

  const zones = createZoneReconciler({ ...shared, nodes, groups });
  const touched = createTouchCounter(metrics);
  const resync = createServiceResync({
    ...shared,
    service,
    slices: (key) => slicesOf(slices, key),
    zoneOf(name) {
      const node = nodes.get({ name });
      return node && (zoneLabelOf(node) ?? '');
    },
    onTouch: touched,
  });
  showNodeGroups(metrics, zones);
  return {
    'node-group-zones': { reconcile: zones.reconcile, watches: nodeWatches(caches) },
    'node-group-touches': {
      ...resync.reconciler,
      watches: touchWatches(caches, (key) => groups.state === 'synced' && resync.concerns(key)),
      reads: [services, nodes, groups],
    },
  };
};
