// SPDX-License-Identifier: Apache-2.0
// The controllers behind NodeGroups: zones of Nodes, Services that have to follow them, and Services with KubeEdge's annotation.
import type { Service } from '../../apis/core.ts';
import type { NodeGroup } from '../../apis/kubeedge.ts';
import { isEnabled } from '../../kubeedge/membership.ts';
import { zoneOf } from '../../kubeedge/node.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import type { Client, Clock, EventRecorder } from '../../kubernetes/types.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/types.ts';
import { slicesOf } from './caches.ts';
import type { NodeGroupCaches } from './caches.ts';
import { createTouchCounter, showNodeGroups } from './metrics.ts';
import { createReports } from './reports.ts';
import { createServiceTopology } from './services.ts';
import { createToucher } from './touch.ts';
import { nodeWatches, serviceWatches, touchWatches } from './watches.ts';
import { createZoneReconciler } from './zones.ts';

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
export type NodeGroupControllers = Readonly<
  Record<'node-group-zones' | 'node-group-touches' | 'node-group-services', ControllerSpec>
>;

const splitKey = (key: string): { namespace: string; name: string } => {
  const at = key.indexOf('/');
  return { namespace: key.slice(0, at), name: key.slice(at + 1) };
};

export const createNodeGroupControllers = (options: NodeGroupsOptions): NodeGroupControllers => {
  const { caches, excludedNamespaces, metrics } = options;
  const { groups, nodes, services, meshes } = caches;
  const shared = { ...options, logger: options.logger.child({ part: 'node-groups' }) };
  /** Undefined while they cannot be read, since a group that is not seen is not gone. */
  const knownGroups = (): NodeGroup[] | undefined => (groups.state === 'synced' ? groups.list() : undefined);
  const service = (key: string): Service | undefined => {
    const ref = splitKey(key);
    const found = excludedNamespaces.includes(ref.namespace) ? undefined : services.get(ref);
    return found?.metadata?.deletionTimestamp === undefined ? found : undefined;
  };

  const reports = createReports({ ...shared, group: (name) => groups.get({ name }) });
  const zones = createZoneReconciler({ ...shared, node: (name) => nodes.get({ name }), groups: knownGroups, reports });
  const touched = createTouchCounter(metrics);
  const toucher = createToucher({
    ...shared,
    service,
    slices: (key) => slicesOf(caches, key),
    zoneOf(name) {
      const node = nodes.get({ name });
      return node === undefined ? undefined : { zone: zoneOf(node) };
    },
    onTouch: touched,
  });
  const topology = createServiceTopology({
    ...shared,
    service,
    topologyEnabled: () => knownGroups()?.some(isEnabled),
    edgeMesh: () => meshes.list().length > 0,
  });
  showNodeGroups(metrics, { zones: reports.counts, services: topology.counts });
  return {
    'node-group-zones': { ...zones, watches: nodeWatches(caches) },
    'node-group-touches': {
      ...toucher.reconciler,
      watches: touchWatches(caches, toucher.concerns),
      reads: [services, nodes],
    },
    'node-group-services': { ...topology.reconciler, watches: serviceWatches(caches), reads: [meshes] },
  };
};
