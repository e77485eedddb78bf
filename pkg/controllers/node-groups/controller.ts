// The controllers behind NodeGroups: zones of Nodes, and Services that are written until their endpoints are stored with the new zone.
import type { NodeGroup, Service } from '../../apis/core.ts';
import { identityMeta, nameOf, picked, refOf, refOfKey } from '../../apis/values.ts';
import { ANNOTATION_TAKEOVER, ANNOTATION_TOUCHED } from '../../apis/names.ts';
import { NODE_GROUPS, SERVICES, regardingOf } from '../../apis/resources.ts';
import { zoneLabelOf } from '../../kubeedge/decide.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';
import type { ControllerContext, ControllerSpec } from '../../kubernetes/manager.ts';
import { type Watch, changes, contents, hasChanged, objects } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { createZoneReconciler } from './zones.ts';
import { type FlowCaches, flowKeyOf, servicesOnNode, slicesOf } from '../flow/caches.ts';
import type { FlowSlice, FlowSliceEndpoint } from '../../flow/assemble/slice.ts';
import { ifFound } from '../../kubernetes/errors.ts';
import { createTokenBucket } from '../../kubernetes/rate-limiter.ts';
import { sleep } from '../../kubernetes/wait.ts';
import { type Result, type Uses, DONE } from '../../kubernetes/types.ts';

/** `gaveUp`: the zones did not follow, however often the Service was written. */
type TouchOutcome = 'touched' | 'followed' | 'gaveUp';

interface Attempt {
  /** What has to follow; when that changes, it all begins again. */
  readonly wanted: string;
  readonly touches: number;
  /** Monotonic milliseconds. */
  readonly notBefore: number;
}

/** A Node that changed may be news for the EndpointSlice controller, too. */
const SETTLE_MS = 500;
/** After the first touch; doubled with each one. The controller gathers changes for a second before it writes. */
const FIRST_WAIT_MS = 2_000;
const MAX_TOUCHES = 6;

export const createServiceResync = (
  options: Uses<'client' | 'clock' | 'events' | 'logger', 'patch'> & {
    /** Over all Services. */
    touchesPerSecond: number;
    /** By `namespace/name`; undefined: there is none, or it must not be written. */
    service(key: string): Service | undefined;
    slices(key: string): readonly FlowSlice[];
    /** Of a Node, empty where it has none; undefined: there is no such Node. */
    zoneOf(node: string): string | undefined;
    onTouch?(outcome: TouchOutcome): void;
  },
) => {
  const { client, clock, touchesPerSecond, slices, zoneOf, events, logger, onTouch } = options;
  const bucket = createTokenBucket({ clock, ratePerSecond: touchesPerSecond, burst: 1 });
  const attempts = new Map<string, Attempt>();

  const isBehind = ({ node, zone }: FlowSliceEndpoint): boolean => (zoneOf(node) ?? zone) !== zone;
  /** Nodes of endpoints that are stored with another zone than the Node has, in name order. */
  const behindOf = (key: string): string[] => {
    const followed = slices(key).filter(({ byControlPlane }) => byControlPlane);
    const behind = followed.flatMap(({ endpoints }) => endpoints.filter(isBehind).map(({ node }) => node));
    return [...new Set(behind)].sort();
  };

  const touch = async (service: Service, signal: AbortSignal): Promise<void> => {
    const patch = { metadata: { annotations: { [ANNOTATION_TOUCHED]: new Date(clock.now()).toISOString() } } };
    const touched = await ifFound(client.patch<Service>(SERVICES, refOf(service), 'merge', patch, {}, signal));
    if (touched !== undefined) onTouch?.('touched');
  };

  const giveUp = (key: string, service: Service, behind: readonly string[], attempt: Attempt): Result => {
    if (attempt.notBefore === Infinity) return DONE;
    attempts.set(key, { ...attempt, notBefore: Infinity });
    onTouch?.('gaveUp');
    const message = `EndpointSlices of Service ${key} still name another zone for Node ${behind.join(', ')} than its label, after ${MAX_TOUCHES} writes of the Service; check whether kube-controller-manager runs`;
    logger.warn('EndpointSlices do not follow the new zone of a Node', { service: key, nodes: behind });
    events.record({ regarding: regardingOf(SERVICES, service), type: 'Warning', reason: 'ZoneNotFollowing', message });
    return DONE;
  };

  const attemptOf = (key: string, behind: readonly string[]): Attempt => {
    const wanted = behind.map((node) => `${node}=${zoneOf(node) ?? ''}`).join();
    const known = attempts.get(key);
    if (known?.wanted === wanted) return known;
    const fresh = { wanted, touches: 0, notBefore: clock.monotonic() + SETTLE_MS };
    attempts.set(key, fresh);
    return fresh;
  };

  return {
    /** Whether a reconcile of this Service could do anything. */
    concerns: (key: string): boolean => attempts.has(key) || behindOf(key).length > 0,
    /** By Service; one at a time, so that the rate holds. */
    async reconcile(key: string, signal: AbortSignal): Promise<Result> {
      const behind = behindOf(key);
      const service = options.service(key);
      if (behind.length === 0 || service === undefined) {
        if (attempts.delete(key) && behind.length === 0) onTouch?.('followed');
        return DONE;
      }
      const attempt = attemptOf(key, behind);
      const waitMs = attempt.notBefore - clock.monotonic();
      if (attempt.touches >= MAX_TOUCHES && (waitMs <= 0 || waitMs === Infinity))
        return giveUp(key, service, behind, attempt);
      if (waitMs > 0) return { kind: 'requeue', afterMs: waitMs };
      await sleep(clock, bucket.reserve(), signal);
      await touch(service, signal);
      const nextMs = FIRST_WAIT_MS * 2 ** attempt.touches;
      attempts.set(key, { ...attempt, touches: attempt.touches + 1, notBefore: clock.monotonic() + nextMs });
      return { kind: 'requeue', afterMs: nextMs };
    },
  };
};

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
  const resync = createServiceResync({
    ...shared,
    service,
    slices: (key) => slicesOf(slices, key),
    zoneOf(name) {
      const node = nodes.get({ name });
      return node && (zoneLabelOf(node) ?? '');
    },
    onTouch: createTouchCounter(metrics),
  });
  showNodeGroups(metrics, zones);
  return {
    'node-group-zones': { reconcile: zones.reconcile, watches: nodeWatches(caches) },
    'node-group-touches': {
      reconcile: resync.reconcile,
      watches: touchWatches(caches, (key) => groups.state === 'synced' && resync.concerns(key)),
      reads: [services, nodes, groups],
    },
  };
};
