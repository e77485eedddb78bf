// SPDX-License-Identifier: Apache-2.0
// Puts the NodeGroup controllers together: zones of Nodes, Services that have to follow them, and Services with KubeEdge's annotation.
import type { Service } from '../../apis/core.ts';
import type { NodeGroup } from '../../apis/kubeedge.ts';
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
import { createRecentWrites } from '../../kubernetes/recent-writes.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import { createLandscape, slicesOf } from './landscape.ts';
import type { NodeGroupLandscape } from './landscape.ts';
import { createNodeGroupMetrics } from './metrics.ts';
import { createReports } from './reports.ts';
import type { Reports } from './reports.ts';
import { createServiceTopology } from './services.ts';
import type { ServiceTopology } from './services.ts';
import { createToucher } from './touch.ts';
import type { TouchOutcome, Toucher } from './touch.ts';
import { connectTriggers, enqueueAll } from './triggers.ts';
import type { TriggerOptions } from './triggers.ts';
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

/** What the controllers share. */
interface Shared {
  readonly options: NodeGroupControllersOptions;
  readonly landscape: NodeGroupLandscape;
  readonly logger: Logger;
}

/** The groups; undefined while they cannot be read, since a group that is not seen is not gone. */
const knownGroups = ({ groups }: NodeGroupLandscape): NodeGroup[] | undefined =>
  groups.state === 'synced' ? groups.list() : undefined;

const serviceLookup =
  ({ options, landscape }: Shared) =>
  (key: string): Service | undefined => {
    const ref = splitKey(key);
    const service = options.excludedNamespaces.includes(ref.namespace) ? undefined : landscape.services.get(ref);
    return service?.metadata?.deletionTimestamp === undefined ? service : undefined;
  };

const openZones = ({ options, landscape, logger }: Shared): { reconciler: Reconciler; reports: Reports } => {
  const { client, clock, events } = options;
  const { groups, nodes } = landscape;
  const reports = createReports({ events, logger, group: (name) => groups.get({ name }) });
  const reconciler = createZoneReconciler({
    node: (name) => nodes.get({ name }),
    groups: () => knownGroups(landscape),
    client,
    recent: createRecentWrites<GroupNode>(),
    reports,
    clock,
  });
  return { reconciler, reports };
};

const openTopology = (shared: Shared): ServiceTopology => {
  const { options, landscape, logger } = shared;
  const { client, clock, events } = options;
  return createServiceTopology({
    service: serviceLookup(shared),
    topologyEnabled: () => knownGroups(landscape)?.some(isEnabled),
    edgeMesh: () => landscape.meshes.list().length > 0,
    client,
    recent: createRecentWrites<Service>(),
    events,
    clock,
    logger,
  });
};

const openToucher = (shared: Shared, onTouch: (outcome: TouchOutcome) => void): Toucher => {
  const { options, landscape, logger } = shared;
  const { client, clock, events, touchesPerSecond } = options;
  return createToucher({
    client,
    clock,
    touchesPerSecond,
    service: serviceLookup(shared),
    slices: (key) => slicesOf(landscape, key),
    zoneOf(name) {
      const node = landscape.nodes.get({ name });
      return node === undefined ? undefined : { zone: zoneOf(node) };
    },
    events,
    logger,
    onTouch,
  });
};

/** Resolves once NodeGroups are served; rejects with the signal's reason. */
const untilServed = async ({ landscape: { groups }, logger }: Shared, signal: AbortSignal): Promise<void> => {
  await groups.settled(signal);
  if (groups.state === 'synced') return;
  logger.info('no NodeGroups are served; waiting for them');
  await new Promise<void>((resolve, reject) => {
    groups.onChange(() => resolve());
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  logger.info('NodeGroups are served now');
};

interface Reconcilers {
  readonly zones: Reconciler;
  readonly toucher: Toucher;
  readonly topology: ServiceTopology;
}

/** Works until the signal aborts; the caches are filled. */
const work = async (
  { options, landscape, logger }: Shared,
  { zones, toucher, topology }: Reconcilers,
  signal: AbortSignal,
): Promise<void> => {
  const { clock, hooks } = options;
  const part = (name: string, reconciler: Reconciler) => {
    const queue = createWorkQueue({ clock, hooks: hooks.queue(name) });
    const controller = createController({ name, reconciler, queue, clock, logger, hooks: hooks.controller(name) });
    return { queue, controller };
  };
  const nodes = part('node-group-zones', zones);
  const touches = part('node-group-touches', toucher.reconciler);
  const services = part('node-group-services', topology.reconciler);
  const triggers: TriggerOptions = {
    landscape,
    node: (name) => nodes.queue.add(name),
    touch(key) {
      if (toucher.concerns(key)) touches.queue.add(key);
    },
    service: (key) => services.queue.add(key),
  };
  connectTriggers(triggers);
  enqueueAll(triggers);
  await Promise.all([nodes, touches, services].map(({ controller }) => controller.run(signal)));
};

export const createNodeGroupControllers = (options: NodeGroupControllersOptions): NodeGroupControllers => {
  const logger = options.logger.child({ part: 'node-groups' });
  const landscape = createLandscape({ ...options, logger });
  const shared: Shared = { options, landscape, logger };
  const zones = openZones(shared);
  const topology = openTopology(shared);
  const figures = { zones: () => zones.reports.counts(), services: () => topology.counts() };
  const { touched } = createNodeGroupMetrics(options.metrics, figures);
  const reconcilers: Reconcilers = { zones: zones.reconciler, toucher: openToucher(shared, touched), topology };
  const { groups, others } = landscape;
  return {
    caches: [groups as unknown as Cache<never>, ...others],
    async run(signal) {
      const following = [groups.run(signal)];
      try {
        await untilServed(shared, signal);
        following.push(...others.map((cache) => cache.run(signal)));
        await Promise.all(others.map((cache) => cache.settled(signal)));
        await work(shared, reconcilers, signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        await Promise.all(following);
      }
    },
  };
};
