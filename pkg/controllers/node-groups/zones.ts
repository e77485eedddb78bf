// Reconciles one Node: decides its zone, checks its volumes if that moves it, writes, reports. Pods and volumes are read only then:
// too seldom for a cache.
import type { Node, NodeGroup } from '../../apis/core.ts';
import { nameOf } from '../../apis/values.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { ANNOTATION_GROUP_ZONE, COMMANDS, LABEL_ZONE } from '../../apis/names.ts';
import { NODES, NODE_GROUPS, PERSISTENT_VOLUMES, PODS, type Resource, regardingOf } from '../../apis/resources.ts';
import { decideZone, formatRecord, projectGroupNode } from '../../kubeedge/decide.ts';
import type { GroupNode, ZoneDecision } from '../../kubeedge/decide.ts';
import { type ClaimingPod, type PersistentVolume, claimsOf, unlessBound } from '../../kubeedge/volumes.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import { except, isConflict, isNotFound } from '../../kubernetes/errors.ts';
import { listAll } from '../../kubernetes/request.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import { CONFLICT_RETRY_MS, type Client, DONE, type Result, type Uses } from '../../kubernetes/types.ts';

/** Managed fields should name us, whatever the user agent: they distinguish KubeEdge's writes from this controller's. */
const OPTIONS = { fieldManager: COMMANDS.flowController };

/** The Node as the server has it now; undefined where another writer wrote it meanwhile, or it is gone. */
export const writeZone = async (
  node: GroupNode,
  { zone, record, moves }: Extract<ZoneDecision, { kind: 'write' }>,
  client: Pick<Client, 'patch'>,
  signal: AbortSignal,
): Promise<GroupNode | undefined> => {
  const patch = {
    metadata: {
      resourceVersion: node.metadata.resourceVersion,
      ...(moves ? { labels: { [LABEL_ZONE]: zone ?? null } } : {}),
      annotations: { [ANNOTATION_GROUP_ZONE]: record === undefined ? null : formatRecord(record) },
    },
  };
  const sent = client.patch<Node>(NODES, { name: nameOf(node) }, 'merge', patch, OPTIONS, signal);
  const written = await except(sent, isConflict, isNotFound);
  return written && projectGroupNode(written);
};

/**
 * The decision, unless a new zone would cut Pods of the Node off from their volumes.
 *
 * @throws ApiError when Pods or volumes cannot be read: then nothing is known, and the zone must stay.
 */
export const checkVolumes = async (
  client: Pick<Client, 'pages'>,
  node: string,
  decision: Extract<ZoneDecision, { kind: 'write' }>,
  signal: AbortSignal,
): Promise<ZoneDecision> => {
  if (!decision.moves) return decision;
  const pods = await listAll<ClaimingPod>(client, PODS, { fieldSelector: `spec.nodeName=${node}` }, signal);
  if (pods.every((pod) => claimsOf(pod).length === 0)) return decision;
  return unlessBound(decision, node, pods, await listAll<PersistentVolume>(client, PERSISTENT_VOLUMES, {}, signal));
};

interface Reported {
  /** Empty for a Node that is in no group any more. */
  readonly group: string;
  readonly state: string;
}

/** Pods and volumes are not watched: a Node that waits for them is looked at this often. */
const VOLUME_RETRY_MS = 60_000;
/** Least time between two reassertions of one zone. */
const REASSERT_MS = 60_000;

/** The key is the name of a Node. */
export const createZoneReconciler = (
  options: Uses<'client' | 'clock' | 'events' | 'logger', 'patch' | 'pages'> & {
    readonly nodes: Pick<Cache<GroupNode>, 'get'>;
    readonly groups: Pick<Cache<NodeGroup>, 'state' | 'list' | 'get'>;
  },
) => {
  const { nodes, groups, client, clock, events, logger } = options;
  const guard = createRewriteGuard({ clock, delayMs: () => REASSERT_MS });
  /** The last decision about each Node that is in a group, or was. */
  const known = new Map<string, Reported>();

  /** Once as an event and a log line, always as a count: what was decided, and done where it says so. */
  const report = (node: KubernetesObject, decision: ZoneDecision): void => {
    const name = nameOf(node);
    const before = known.get(name);
    const isOver = decision.kind === 'none' || (decision.kind === 'write' && decision.record === undefined);
    if (isOver) known.delete(name);
    else known.set(name, { group: decision.groups.join(), state: decision.reason });
    if (decision.kind === 'none' || decision.kind === 'settled') return;
    const { reason: detail, message } = decision;
    const refused = decision.kind === 'refused';
    if (refused && before?.state === detail && before.group === decision.groups.join()) return;
    const [type, reason] = refused ? (['Warning', detail] as const) : (['Normal', `Zone${detail}`] as const);
    const record = (resource: Resource, object: KubernetesObject): void =>
      events.record({ regarding: regardingOf(resource, object), type, reason, message });
    record(NODES, node);
    // The author of the group looks there; the Node's events show both what was done and what was not.
    for (const group of refused ? decision.groups : [])
      record(NODE_GROUPS, groups.get({ name: group }) ?? { metadata: { name: group } });
    const fields = { node: name, reason: detail, detail: message };
    if (refused) logger.warn('zone refused', fields);
    else logger.info('zone written', fields);
  };

  const carryOut = async (
    node: GroupNode,
    decision: Extract<ZoneDecision, { kind: 'write' }>,
    signal: AbortSignal,
  ): Promise<Result> => {
    const name = nameOf(node);
    const zone = decision.zone ?? '';
    const permit = guard.admit(name, zone);
    if (permit.kind === 'wait') return { kind: 'requeue', afterMs: permit.afterMs };
    const checked = await checkVolumes(client, name, decision, signal);
    if (checked.kind === 'refused') {
      report(node, checked);
      return { kind: 'requeue', afterMs: VOLUME_RETRY_MS };
    }
    const written = await writeZone(node, decision, client, signal);
    if (written === undefined) return { kind: 'requeue', afterMs: CONFLICT_RETRY_MS };
    guard.written(name, zone);
    report(written, decision);
    return DONE;
  };

  return {
    current: (): Iterable<Reported> => known.values(),
    async reconcile(name: string, signal: AbortSignal): Promise<Result> {
      // A group that is not seen, because groups cannot be read, is not gone.
      if (groups.state !== 'synced') return DONE;
      const node = nodes.get({ name });
      if (node === undefined) {
        known.delete(name);
        guard.forget(name);
        return DONE;
      }
      const decision = decideZone(node, groups.list(), Math.floor(clock.now() / 1_000));
      if (decision.kind === 'write') return carryOut(node, decision, signal);
      report(node, decision);
      return DONE;
    },
  };
};
