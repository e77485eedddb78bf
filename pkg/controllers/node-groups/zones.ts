// Reconciles one Node: decides its zone, checks its volumes if that moves it, writes, reports.
// Reads, when a Node is about to change its zone, the Pods on it and the volumes of the cluster: that is too seldom for a cache.
// Reports the zone decision of each Node: once as an event and a log line, always as a count.
import type { Node, NodeGroup } from '../../apis/core.ts';
import { defined, nameOf } from '../../apis/values.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { ANNOTATION_GROUP_ZONE, COMMANDS, LABEL_ZONE } from '../../apis/names.ts';
import { NODES, NODE_GROUPS, PERSISTENT_VOLUMES, PODS, type Resource, apiVersionOf } from '../../apis/resources.ts';
import { decideZone, formatRecord, projectGroupNode } from '../../kubeedge/decide.ts';
import type { GroupNode, ZoneDecision } from '../../kubeedge/decide.ts';
import { type ClaimingPod, type PersistentVolume, claimsOf, unlessBound } from '../../kubeedge/volumes.ts';
import { isConflict, isNotFound } from '../../kubernetes/errors.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type {
  Client,
  Clock,
  EventInput,
  EventRecorder,
  Reconciler,
  Result,
  Selection,
} from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/log.ts';

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
  try {
    return projectGroupNode(await client.patch<Node>(NODES, { name: nameOf(node) }, 'merge', patch, OPTIONS, signal));
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return undefined;
    throw error;
  }
};

const listAll = async <T extends KubernetesObject>(
  client: Pick<Client, 'pages'>,
  resource: Resource,
  selection: Selection,
  signal: AbortSignal,
): Promise<T[]> => {
  const items: T[] = [];
  for await (const page of client.pages<T>(resource, selection, signal)) items.push(...page.items);
  return items;
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
  const fieldSelector = `spec.nodeName=${node}`;
  const pods = await listAll<ClaimingPod>(client, PODS, { fieldSelector }, signal);
  if (pods.every((pod) => claimsOf(pod).length === 0)) return decision;
  return unlessBound(decision, node, pods, await listAll<PersistentVolume>(client, PERSISTENT_VOLUMES, {}, signal));
};

interface Reported {
  /** Empty for a Node that is in no group any more. */
  readonly group: string;
  /** Reason of the decision. */
  readonly state: string;
}

const regardingNode = ({ metadata }: KubernetesObject): EventInput['regarding'] => ({
  apiVersion: 'v1',
  kind: 'Node',
  name: metadata?.name ?? '',
  ...defined({ uid: metadata?.uid }),
});

export const createReports = ({
  events,
  logger,
  group,
}: {
  events: Pick<EventRecorder, 'record'>;
  logger: Logger;
  group(name: string): NodeGroup | undefined;
}) => {
  const known = new Map<string, Reported>();

  const regardingGroup = (name: string): EventInput['regarding'] => {
    const uid = group(name)?.metadata?.uid;
    return {
      apiVersion: apiVersionOf(NODE_GROUPS),
      kind: NODE_GROUPS.kind,
      name,
      ...defined({ uid }),
    };
  };

  /** The author of the group looks there; the Node's events show both what was done and what was not. */
  const record = (node: KubernetesObject, decision: Exclude<ZoneDecision, { kind: 'none' | 'settled' }>): void => {
    const refused = decision.kind === 'refused';
    const rest = {
      type: refused ? 'Warning' : 'Normal',
      reason: refused ? decision.reason : `Zone${decision.reason}`,
      message: decision.message,
    } as const;
    events.record({ regarding: regardingNode(node), ...rest });
    if (refused) for (const name of decision.groups) events.record({ regarding: regardingGroup(name), ...rest });
    logger[refused ? 'warn' : 'info'](refused ? 'zone refused' : 'zone written', {
      node: node.metadata?.name,
      reason: decision.reason,
      detail: decision.message,
    });
  };

  return {
    /** What was decided, and done where it says so. */
    report(node: KubernetesObject, decision: ZoneDecision): void {
      const name = nameOf(node);
      if (decision.kind === 'none') {
        known.delete(name);
        return;
      }
      const before = known.get(name);
      const now = { group: decision.groups.join(), state: decision.reason };
      const done = decision.kind === 'write' && (decision.reason === 'Restored' || decision.reason === 'Released');
      if (done) known.delete(name);
      else known.set(name, now);
      if (decision.kind === 'settled') return;
      if (decision.kind === 'write' || before?.state !== now.state || before.group !== now.group)
        record(node, decision);
    },
    forget: (node: string): void => void known.delete(node),
    /** The last decision about each Node that is in a group, or was. */
    current: (): Iterable<Reported> => known.values(),
  };
};

export type Reports = ReturnType<typeof createReports>;

const DONE: Result = { kind: 'done' };
/** After a conflict the watch brings the newer Node; a safety resync. */
const CONFLICT_RETRY_MS = 1_000;
/** Pods and volumes are not watched: a Node that waits for them is looked at this often. */
const VOLUME_RETRY_MS = 60_000;
/** Least time between two reassertions of one zone. */
const REASSERT_MS = 60_000;

export const createZoneReconciler = (options: {
  /** From the cache. */
  node(name: string): GroupNode | undefined;
  /** Undefined while they cannot be read: then nothing is decided, since a group that is not seen is not gone. */
  groups(): readonly NodeGroup[] | undefined;
  client: Pick<Client, 'patch' | 'pages'>;
  reports: Pick<Reports, 'report' | 'forget'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
}): Reconciler => {
  const { client, reports, clock } = options;
  const guard = createRewriteGuard({ clock, delayMs: () => REASSERT_MS });

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
      reports.report(node, checked);
      return { kind: 'requeue', afterMs: VOLUME_RETRY_MS };
    }
    const written = await writeZone(node, decision, client, signal);
    if (written === undefined) return { kind: 'requeue', afterMs: CONFLICT_RETRY_MS };
    guard.written(name, zone);
    reports.report(written, decision);
    return DONE;
  };

  return {
    async reconcile(name, signal) {
      const node = options.node(name);
      const groups = options.groups();
      if (groups === undefined) return DONE;
      if (node === undefined) {
        reports.forget(name);
        guard.forget(name);
        return DONE;
      }
      const decision = decideZone(node, groups, Math.floor(clock.now() / 1_000));
      if (decision.kind === 'write') return carryOut(node, decision, signal);
      reports.report(node, decision);
      return DONE;
    },
  };
};
