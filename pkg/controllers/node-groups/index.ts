// SPDX-License-Identifier: Apache-2.0
// Puts the NodeGroup controllers together: zones of Nodes, Services that have to follow them, and Services with KubeEdge's annotation.
import type { Service } from '../../apis/core.ts';
import { isEnabled } from '../../kubeedge/membership.ts';
import { zoneOf } from '../../kubeedge/node.ts';
import type { GroupNode } from '../../kubeedge/node.ts';
import type { ControllerHooks } from '../../kubernetes/controller.ts';
import { createController } from '../../kubernetes/controller.ts';
import type { Client, Clock, EventRecorder, Reconciler } from '../../kubernetes/types.ts';
import { createWorkQueue } from '../../kubernetes/work-queue.ts';
import type { WorkQueueHooks } from '../../kubernetes/work-queue.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/types.ts';
import { createRecentWrites } from '../settings/recent-writes.ts';
import type { Cache } from '../settings/cache.ts';
import { createLandscape, slicesOf } from './landscape.ts';
import { createNodeGroupMetrics } from './metrics.ts';
import { createReports } from './reports.ts';
import { createServiceTopology } from './services.ts';
import { createToucher } from './touch.ts';
import { connectTriggers, enqueueAll } from './triggers.ts';
import { createZoneReconciler } from './zones.ts';

export interface NodeGroupControllersOptions {
  client: Client;
  clock: Clock;
  /** In [0, 1): jitter of back-offs. */
  random: () => number;
  logger: Logger;
  events: EventRecorder;
  metrics: Metrics;
  /** Hooks of work queues and controllers by name, which all controllers of a process share. */
  hooks: { queue(name: string): WorkQueueHooks; controller(name: string): ControllerHooks };
  /** Service writes a second that make endpoints follow a new zone. */
  touchesPerSecond: number;
  /** Their Services are never written. */
  excludedNamespaces: readonly string[];
  /** A list or watch failed. */
  onFailure?: (error: unknown) => void;
}

export interface NodeGroupControllers {
  /** For liveness; those that do not run yet are current. */
  readonly caches: readonly Cache<never>[];
  /** Works until the signal aborts, and does nothing while the API server knows no NodeGroups. */
  run(signal: AbortSignal): Promise<void>;
}

const splitKey = (key: string): { namespace: string; name: string } => {
  const at = key.indexOf('/');
  return { namespace: key.slice(0, at), name: key.slice(at + 1) };
};

export const createNodeGroupControllers = (options: NodeGroupControllersOptions): NodeGroupControllers => {
  const { client, clock, events, metrics, hooks, touchesPerSecond, excludedNamespaces } = options;
  const logger = options.logger.child({ part: 'node-groups' });
  const landscape = createLandscape({ ...options, logger });
  const { groups, nodes, services, meshes } = landscape;

  const known = () => (groups.state === 'synced' ? groups.list() : undefined);
  const serviceOf = (key: string): Service | undefined => {
    const ref = splitKey(key);
    const service = excludedNamespaces.includes(ref.namespace) ? undefined : services.get(ref);
    return service?.metadata?.deletionTimestamp === undefined ? service : undefined;
  };

  const reports = createReports({ events, logger, group: (name) => groups.get({ name }) });
  const zones = createZoneReconciler({
    node: (name) => nodes.get({ name }),
    groups: known,
    client,
    recent: createRecentWrites<GroupNode>(),
    reports,
    clock,
  });
  const topology = createServiceTopology({
    service: serviceOf,
    topologyEnabled: () => known()?.some(isEnabled),
    edgeMesh: () => meshes.list().length > 0,
    client,
    recent: createRecentWrites<Service>(),
    events,
    clock,
    logger,
  });
  const toucher = createToucher({
    client,
    clock,
    touchesPerSecond,
    service: serviceOf,
    slices: (key) => slicesOf(landscape, key),
    zoneOf(name) {
      const node = nodes.get({ name });
      return node === undefined ? undefined : { zone: zoneOf(node) };
    },
    events,
    logger,
    onTouch: (outcome) => counters.touched(outcome),
  });
  const counters = createNodeGroupMetrics(metrics, {
    zones: () => reports.counts(),
    services: () => topology.counts(),
  });

  const part = (name: string, reconciler: Reconciler) => {
    const queue = createWorkQueue({ clock, hooks: hooks.queue(name) });
    const controller = createController({ name, reconciler, queue, clock, logger, hooks: hooks.controller(name) });
    return { queue, controller };
  };

  const work = async (signal: AbortSignal): Promise<void> => {
    const parts = {
      zones: part('node-group-zones', zones),
      touches: part('node-group-touches', toucher.reconciler),
      services: part('node-group-services', topology.reconciler),
    };
    const triggers = {
      landscape,
      node: (name: string) => parts.zones.queue.add(name),
      touch: (key: string) => void (toucher.concerns(key) && parts.touches.queue.add(key)),
      service: (key: string) => parts.services.queue.add(key),
    };
    connectTriggers(triggers);
    enqueueAll(triggers);
    await Promise.all(Object.values(parts).map(({ controller }) => controller.run(signal)));
  };

  /** Resolves once NodeGroups are served, and rejects with the signal's reason. */
  const served = async (signal: AbortSignal): Promise<void> => {
    await groups.settled(signal);
    if (groups.state === 'synced') return;
    logger.info('no NodeGroups are served; waiting for them');
    await new Promise<void>((resolve, reject) => {
      groups.onChange(() => resolve());
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    logger.info('NodeGroups are served now');
  };

  return {
    caches: [groups as unknown as Cache<never>, ...landscape.others],
    async run(signal) {
      const following = [groups.run(signal)];
      try {
        await served(signal);
        following.push(...landscape.others.map((cache) => cache.run(signal)));
        await Promise.all(landscape.others.map((cache) => cache.settled(signal)));
        await work(signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        await Promise.all(following);
      }
    },
  };
};
