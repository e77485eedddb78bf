// The controllers behind NodeGroups: zones of Nodes, and Services that have to follow them.
import type { Service } from '../../apis/core.ts';
import type { NodeGroup } from '../../apis/kubeedge.ts';
import { nameOf, refOfKey } from '../../apis/object.ts';
import { zoneLabelOf } from '../../kubeedge/node.ts';
import type { GroupNode } from '../../kubeedge/node.ts';
import type { PlacedSlice } from '../../kubeedge/stale.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import type { Client, Clock, EventRecorder } from '../../kubernetes/types.ts';
import { changes, hasChanged, objects } from '../../kubernetes/watches.ts';
import type { Watch } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/types.ts';
import { servicesOn, slicesOf } from './caches.ts';
import type { NodeGroupCaches } from './caches.ts';
import { createTouchCounter, showNodeGroups } from './metrics.ts';
import { createReports } from './reports.ts';
import { createServiceResync } from './touch.ts';
import { createZoneReconciler } from './zones.ts';

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

export interface NodeGroupsOptions {
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
}

/** By name; they do nothing while the API server serves no NodeGroups, since their caches begin after those. */
export type NodeGroupControllers = Readonly<Record<'node-group-zones' | 'node-group-touches', ControllerSpec>>;

export const createNodeGroupControllers = (options: NodeGroupsOptions): NodeGroupControllers => {
  const { caches, excludedNamespaces, metrics } = options;
  const { groups, nodes, services } = caches;
  const shared = { ...options, logger: options.logger.child({ part: 'node-groups' }) };
  /** Undefined while they cannot be read, since a group that is not seen is not gone. */
  const knownGroups = (): NodeGroup[] | undefined => (groups.state === 'synced' ? groups.list() : undefined);
  const service = (key: string): Service | undefined => {
    const ref = refOfKey(key);
    const found = excludedNamespaces.includes(ref.namespace) ? undefined : services.get(ref);
    return found?.metadata?.deletionTimestamp === undefined ? found : undefined;
  };

  const reports = createReports({ ...shared, group: (name) => groups.get({ name }) });
  const zones = createZoneReconciler({ ...shared, node: (name) => nodes.get({ name }), groups: knownGroups, reports });
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
  showNodeGroups(metrics, reports.counts);
  return {
    'node-group-zones': { ...zones, watches: nodeWatches(caches) },
    'node-group-touches': {
      ...resync.reconciler,
      watches: touchWatches(caches, resync.concerns),
      reads: [services, nodes],
    },
  };
};
