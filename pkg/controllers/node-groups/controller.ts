// The controllers behind NodeGroups: zones of Nodes, and Services that have to follow them.
// The caches behind NodeGroups, each reduced to what decisions read; apart from the groups' own they begin once there are groups.
import type { NodeGroup, Service } from '../../apis/core.ts';
import { identityMeta, nameOf, picked, refOfKey } from '../../apis/values.ts';
import { ANNOTATION_TAKEOVER } from '../../apis/names.ts';
import { ENDPOINT_SLICES, NODES, NODE_GROUPS, SERVICES } from '../../apis/resources.ts';
import { type GroupNode, projectGroupNode, zoneLabelOf } from '../../kubeedge/decide.ts';
import { type PlacedSlice, projectPlaces } from '../../kubeedge/stale.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import type { Client, Clock, EventRecorder } from '../../kubernetes/types.ts';
import { type Watch, changes, hasChanged, objects } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/log.ts';
import { createZoneReconciler } from './zones.ts';
import { type TouchOutcome, createServiceResync } from './touch.ts';

/** Gauges are computed when they are scraped, so that nothing has to be kept in step. */
export const showNodeGroups = (
  metrics: Metrics,
  { current }: Pick<ReturnType<typeof createZoneReconciler>, 'current'>,
): void => {
  metrics.gauge({
    name: 'node_group_nodes',
    help: 'Members of NodeGroups by group and state of their zone: Assigned, or the reason why it was not assigned.',
    labels: ['group', 'state'],
    collect(gauge) {
      gauge.reset();
      for (const labels of current()) gauge.inc({ ...labels });
    },
  });
};

/** Counts the writes that make endpoints follow. */
export const createTouchCounter = (metrics: Metrics): ((outcome: TouchOutcome) => void) => {
  const touches = metrics.counter({
    name: 'node_group_touches_total',
    help: 'No-op writes of Services so that their endpoints follow a new zone: touched, followed, or gaveUp.',
    labels: ['outcome'],
  });
  return (outcome) => touches.inc({ outcome });
};

const INDEX_SERVICE = 'service';
const INDEX_NODE = 'node';

/** The slices of a Service, by `namespace/name`. */
const slicesOf = ({ slices }: Pick<NodeGroupCaches, 'slices'>, service: string): PlacedSlice[] =>
  slices.byIndex(INDEX_SERVICE, service);

/** Keys of the Services with endpoints on a Node. */
const servicesOn = ({ slices }: Pick<NodeGroupCaches, 'slices'>, node: string): Set<string> =>
  new Set(slices.byIndex(INDEX_NODE, node).map(({ metadata, service }) => `${metadata?.namespace ?? ''}/${service}`));

const projectGroup = ({ metadata = {}, spec }: NodeGroup): NodeGroup => ({
  metadata: { ...identityMeta(metadata), annotations: picked(metadata.annotations, [ANNOTATION_TAKEOVER]) },
  spec: { ...spec },
});

export const openNodeGroupCaches = (open: OpenCache) => {
  const groups = open<NodeGroup>(NODE_GROUPS, { transform: projectGroup });
  const after = groups as unknown as Cache<never>;
  return {
    /** Absent where KubeEdge's definitions are not installed. */
    groups,
    // What comes from the server is the whole object; what is cached is what the type says.
    nodes: open<GroupNode>(NODES, { transform: projectGroupNode, after }),
    services: open<Service>(SERVICES, {
      transform: ({ metadata = {} }) => ({ metadata: identityMeta(metadata) }),
      after,
    }),
    slices: open<PlacedSlice>(ENDPOINT_SLICES, {
      transform: projectPlaces,
      indexers: {
        [INDEX_SERVICE]: ({ metadata, service }) => (service === '' ? [] : [`${metadata?.namespace ?? ''}/${service}`]),
        [INDEX_NODE]: ({ places }) => [...new Set(places.map(({ node }) => node))],
      },
      after,
    }),
  };
};

export type NodeGroupCaches = ReturnType<typeof openNodeGroupCaches>;

/** Nodes: each for itself, and all of them for the groups that they may be in. */
export const nodeWatches = ({ groups, nodes }: NodeGroupCaches): Watch[] => [
  ...objects(nodes, (node, previous, deleted) => (deleted || hasChanged(node, previous) ? [nameOf(node)] : [])),
  ...changes(groups, (group, previous, deleted) =>
    deleted || hasChanged(group, previous) ? nodes.list().map(nameOf) : [],
  ),
];

/** Services whose endpoints may be stored with an old zone; `concerns` says which may have something to do. */
export const touchWatches = (caches: NodeGroupCaches, concerns: (key: string) => boolean): Watch[] => {
  const onNode = (node: GroupNode, previous: GroupNode | undefined, deleted: boolean): string[] => {
    const moved = !deleted && (previous === undefined || zoneLabelOf(previous) !== zoneLabelOf(node));
    return moved ? [...servicesOn(caches, nameOf(node))].filter(concerns) : [];
  };
  const ofSlice = ({ metadata, service }: PlacedSlice): string[] => {
    const key = `${metadata?.namespace ?? ''}/${service}`;
    return service !== '' && concerns(key) ? [key] : [];
  };
  return [...objects(caches.slices, ofSlice), ...changes(caches.nodes, onNode)];
};

/** By name; they do nothing while the API server serves no NodeGroups, since their caches begin after those. */
export const createNodeGroupControllers = (options: {
  readonly caches: NodeGroupCaches;
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  /** Service writes a second that make endpoints follow a new zone. */
  readonly touchesPerSecond: number;
  /** Their Services are never written. */
  readonly excludedNamespaces: readonly string[];
}): Readonly<Record<'node-group-zones' | 'node-group-touches', ControllerSpec>> => {
  const { caches, excludedNamespaces, metrics } = options;
  const { groups, nodes, services } = caches;
  const shared = { ...options, logger: options.logger.child({ part: 'node-groups' }) };
  const service = (key: string): Service | undefined => {
    const ref = refOfKey(key);
    const found = excludedNamespaces.includes(ref.namespace) ? undefined : services.get(ref);
    return found?.metadata?.deletionTimestamp === undefined ? found : undefined;
  };

  const zones = createZoneReconciler({ ...shared, nodes, groups });
  const touched = createTouchCounter(metrics);
  const resync = createServiceResync({
    ...shared,
    service,
    slices: (key) => slicesOf(caches, key),
    zoneOf(name) {
      const node = nodes.get({ name });
      return node === undefined ? undefined : { zone: zoneLabelOf(node) };
    },
    onTouch: touched,
  });
  showNodeGroups(metrics, zones);
  return {
    'node-group-zones': { reconcile: zones.reconcile, watches: nodeWatches(caches) },
    'node-group-touches': {
      ...resync.reconciler,
      watches: touchWatches(caches, resync.concerns),
      reads: [services, nodes],
    },
  };
};
