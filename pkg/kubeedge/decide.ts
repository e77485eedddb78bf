// Decides the zone label of one Node from the NodeGroups of the cluster: what to write, or why nothing. An annotation on the Node
// remembers which zone we gave it and which it had before, so that this one can come back.
import type { Node, NodeGroup } from '../apis/core.ts';
import { type Fields, byText, defined, isLabelValue, nameOf, parseJson } from '../apis/values.ts';
import type { KubernetesObject, ObjectMeta } from '../apis/meta.ts';
import { ANNOTATION_GROUP_ZONE, ANNOTATION_TAKEOVER, COMMANDS, LABEL_BELONGING_TO, LABEL_ZONE } from '../apis/names.ts';

/** By name or by labels, as KubeEdge's controller selects; no labels select no Node: a group that is only a list of names has none. */
export const isMember = (node: KubernetesObject, { spec }: NodeGroup): boolean => {
  const labels = new Map(Object.entries(node.metadata?.labels ?? {}));
  const wanted = Object.entries(spec?.matchLabels ?? {});
  const selected = wanted.length > 0 && wanted.every(([key, value]) => labels.get(key) === value);
  return selected || (spec?.nodes ?? []).includes(nameOf(node));
};

/** The groups of a Node in name order; more than one is a mistake that KubeEdge does not accept either. A group on its way out has no Nodes. */
export const groupsOf = (node: KubernetesObject, groups: readonly NodeGroup[]): NodeGroup[] =>
  groups
    .filter((group) => group.metadata?.deletionTimestamp === undefined && isMember(node, group))
    .sort((left, right) => byText(nameOf(left), nameOf(right)));

/** Whether the members of the group get its name as their zone. */
export const isTopologyEnabled = ({ spec }: NodeGroup): boolean => spec?.topologyEnabled === true;

/** Whether the group may replace zone labels that another writer set. */
export const mayTakeOver = ({ metadata }: NodeGroup): boolean =>
  metadata?.annotations?.[ANNOTATION_TAKEOVER] === 'true';

export interface ZoneRecord {
  /** The zone that was written: the name of the group. */
  readonly zone: string;
  /** The zone label that it replaced; absent where there was none. */
  readonly previous?: string;
  /** How often another writer changed or removed the label since. */
  readonly losses: number;
  /** The last time that it was written again, seconds since 1970. */
  readonly lostAt?: number;
}

/** Undefined without an annotation, and for one that says nothing that could be acted upon. */
export const parseRecord = (text: string | undefined): ZoneRecord | undefined => {
  const value = text === undefined ? undefined : parseJson(text);
  if (typeof value !== 'object' || value === null) return undefined;
  const { zone, previous, losses, lostAt } = value as Record<string, unknown>;
  if (!isLabelValue(zone)) return undefined;
  return {
    zone,
    ...(isLabelValue(previous) ? { previous } : {}),
    losses: typeof losses === 'number' && losses >= 0 ? Math.floor(losses) : 0,
    ...(typeof lostAt === 'number' ? { lostAt } : {}),
  };
};

/** Equal records are equal texts. */
export const formatRecord = ({ zone, previous, losses, lostAt }: ZoneRecord): string =>
  JSON.stringify({ zone, ...defined({ previous }), ...(losses === 0 ? {} : { losses, lostAt }) });

export interface GroupNode extends KubernetesObject {
  /** All labels, since a group may select by any of them; of the annotations only our record. */
  readonly metadata: ObjectMeta;
  /** Field managers that own the zone label; empty where the server lists none. */
  readonly zoneManagers: readonly string[];
  /** Field managers that own the label with which KubeEdge marks members. */
  readonly memberManagers: readonly string[];
}

/** An entry of `metadata.managedFields`, as far as labels go. */
interface ManagedFields {
  readonly manager?: string;
  readonly fieldsV1?: { readonly 'f:metadata'?: { readonly 'f:labels'?: Fields } };
}

export const managersOf = (managedFields: readonly unknown[] | undefined, label: string): string[] =>
  ((managedFields ?? []) as readonly ManagedFields[]).flatMap(({ manager, fieldsV1 }) => {
    const owned = fieldsV1?.['f:metadata']?.['f:labels']?.[`f:${label}`] !== undefined;
    return manager !== undefined && owned ? [manager] : [];
  });

export const projectGroupNode = ({ metadata = {} }: Node): GroupNode => {
  const { name, uid, resourceVersion, labels, annotations, managedFields } = metadata;
  const record = annotations?.[ANNOTATION_GROUP_ZONE];
  return {
    metadata: {
      ...defined({ name, uid, resourceVersion }),
      labels: { ...labels },
      annotations: record === undefined ? {} : { [ANNOTATION_GROUP_ZONE]: record },
    },
    zoneManagers: managersOf(managedFields, LABEL_ZONE),
    memberManagers: managersOf(managedFields, LABEL_BELONGING_TO),
  };
};

/** The Node's zone; undefined without a label, or with an empty one. */
export const zoneLabelOf = ({ metadata }: KubernetesObject): string | undefined =>
  metadata?.labels?.[LABEL_ZONE] || undefined;

/** Why the zone of a member is not written, or no longer; stable words for events, metrics and docs. */
export type ZoneRefusal =
  'InSeveralGroups' | 'InvalidZoneName' | 'ForeignZone' | 'ZoneBoundVolumes' | 'ManagedByKubeEdge' | 'LabelTakenAway';

/** What a write is for. `Adopted` and `Released` only change our record. */
export type ZoneWrite = 'Assigned' | 'Reasserted' | 'Adopted' | 'Restored' | 'Released';

/** Written again this often, a label that goes again belongs to another writer. */
const MAX_LOSSES = 2;
/** A loss this long ago, seconds, is no sign of a rival: kubelets and people write labels too, now and then. */
const FORGIVEN_SECONDS = 86_400;
/** User agent, hence field manager, of KubeEdge's controller for NodeGroups. */
const KUBEEDGE_MANAGER = 'controllermanager';

interface Case {
  readonly node: GroupNode;
  readonly name: string;
  /** The label now. */
  readonly zone: string | undefined;
  readonly record: ZoneRecord | undefined;
  /** Seconds since 1970. */
  readonly now: number;
}

const quote = (zone: string | undefined): string => (zone === undefined ? 'no value' : JSON.stringify(zone));
const field = `metadata.labels[${LABEL_ZONE}]`;

/** `groups`: that it is about, in name order; none where the Node has left its group. */
const refuse = (groups: readonly string[], reason: ZoneRefusal, message: string) =>
  ({ kind: 'refused', reason, groups, message }) as const;

/** The Node has the zone that its group asks for. `Assigned`: since we wrote it. */
const settled = (reason: 'Assigned' | 'AlreadyInZone', group: string, message: string) =>
  ({ kind: 'settled', reason, groups: [group] as readonly string[], message }) as const;

/** `moves`: the label changes, and not only our record, so that volumes have to be looked at; `zone`: its new value, undefined: no label. */
const write = (
  { zone: before }: Case,
  groups: readonly string[],
  reason: ZoneWrite,
  change: { zone: string | undefined; record: ZoneRecord | undefined; message: string },
) => ({ kind: 'write', reason, groups, moves: change.zone !== before, ...change }) as const;

/**
 * KubeEdge 1.21 and newer write and delete the zone label themselves. A writer that marks members with KubeEdge's own label is
 * KubeEdge's controller, whatever its name there.
 */
const isKubeEdges = ({ zoneManagers, memberManagers }: GroupNode): boolean =>
  zoneManagers.some(
    (manager) =>
      manager === KUBEEDGE_MANAGER ||
      // Labels set by hand have no controller behind them.
      (memberManagers.includes(manager) && manager !== COMMANDS.flowController && !manager.startsWith('kubectl')),
  );

/** The label is as we wrote it, and no other owner of the label has written it since. */
const isOurs = ({ zone, record, node }: Case): boolean =>
  record?.zone === zone && zone !== undefined && !isKubeEdges(node);

const foreign = ({ name, zone }: Case, group: string) =>
  refuse(
    [group],
    'ForeignZone',
    `Node ${name}: ${field} is ${quote(zone)}, which NodeGroup ${group} did not set; it stays. Annotate the NodeGroup with ${ANNOTATION_TAKEOVER}: "true" to replace it while the Node is a member`,
  );

const before = ({ record }: Case): string =>
  record?.previous === undefined ? '' : `; before the group it was ${quote(record.previous)}`;

const takenAway = (one: Case, groups: readonly string[], advice: string) =>
  refuse(
    groups,
    'LabelTakenAway',
    `Node ${one.name}: another writer changed ${field} from ${quote(one.record?.zone)} to ${quote(one.zone)}, as KubeEdge's own controller does from 1.21 on${before(one)}. Nothing is written; ${advice}`,
  );

const kubeEdges = (one: Case, groups: readonly string[]) =>
  refuse(
    groups,
    'ManagedByKubeEdge',
    `Node ${one.name}: KubeEdge's own controller wrote ${field} ${quote(one.zone)}${before(one)}. Nothing is written here, nor restored later`,
  );

/** Gives the Node the group's name as its zone; what stands there now is remembered. */
const assign = (
  one: Case,
  group: string,
  reason: 'Assigned' | 'Reasserted',
  record: { previous: string | undefined; losses: number; lostAt?: number },
) =>
  write(one, [group], reason, {
    zone: group,
    record: { zone: group, ...defined(record) },
    message: `Node ${one.name} is in NodeGroup ${group}: ${field} from ${quote(one.zone)} to ${quote(group)}`,
  });

/** The zone is the group's already. */
const inPlace = (one: Case, group: string) => {
  const { name, record, node } = one;
  if (isKubeEdges(node)) return kubeEdges(one, [group]);
  const message = `Node ${name} is in zone ${group}, the name of its NodeGroup`;
  if (record === undefined) return settled('AlreadyInZone', group, message);
  if (record.zone === group) return settled('Assigned', group, message);
  // Another writer moved it to the new group before us: the zone to give back at the end is still the one that we remember.
  return write(one, [group], 'Adopted', { zone: group, record: { ...record, zone: group, losses: 0 }, message });
};

/** What we wrote is not there any more, though the group still asks for it. */
const lost = (one: Case, group: string, record: ZoneRecord, takeover: boolean) => {
  const { zone, node, now } = one;
  if (isKubeEdges(node)) return kubeEdges(one, [group]);
  const losses = record.lostAt === undefined || now - record.lostAt > FORGIVEN_SECONDS ? 0 : record.losses;
  if (losses >= MAX_LOSSES)
    return takenAway(one, [group], `remove the annotation ${ANNOTATION_GROUP_ZONE} to try it again`);
  if (zone !== undefined && !takeover) return foreign(one, group);
  return assign(one, group, 'Reasserted', { previous: zone ?? record.previous, losses: losses + 1, lostAt: now });
};

const restore = (one: Case, groups: readonly string[], { previous }: ZoneRecord, why: string) =>
  write(one, groups, 'Restored', {
    zone: previous,
    record: undefined,
    message: `Node ${one.name} ${why}: ${field} from ${quote(one.zone)} to ${quote(previous)}, as before`,
  });

/** The one group of the Node asks for its zone. */
const wanted = (one: Case, group: NodeGroup) => {
  const { name, zone, record } = one;
  const target = nameOf(group);
  const takeover = mayTakeOver(group);
  // Names of objects may be longer than values of labels.
  if (!isLabelValue(nameOf(group))) {
    const message = `Node ${name}: the name of NodeGroup ${target} is not a valid label value, which has at most 63 characters; give the group a shorter name`;
    return refuse([target], 'InvalidZoneName', message);
  }
  const ours = isOurs(one);
  if (ours && record?.previous !== undefined && !takeover) {
    const why = `keeps its own zone, since NodeGroup ${target} may not take it over any more`;
    return restore(one, [target], record, why);
  }
  if (zone === target) return inPlace(one, target);
  if (ours) return assign(one, target, 'Assigned', { previous: record?.previous, losses: 0 });
  if (record !== undefined) return lost(one, target, record, takeover);
  if (isKubeEdges(one.node)) return kubeEdges(one, [target]);
  if (zone !== undefined && !takeover) return foreign(one, target);
  return assign(one, target, 'Assigned', { previous: zone, losses: 0 });
};

/** No group asks for a zone any more: what was set is reverted, and nothing else; `none`: nothing was set. */
const unwanted = (one: Case) => {
  const { name, zone, record, node } = one;
  if (record === undefined) return { kind: 'none' } as const;
  if (isOurs(one))
    return restore(one, [], record, `is no longer in NodeGroup ${record.zone}, or that group has no topology`);
  if (isKubeEdges(node) && record.previous !== undefined) return kubeEdges(one, []);
  // The writer that removed the label would remove it again. The record stays: it alone knows what the zone was.
  if (zone === undefined && record.previous !== undefined)
    return takenAway(one, [], `label the Node by hand, or remove the annotation ${ANNOTATION_GROUP_ZONE}`);
  const message = `Node ${name}: ${field} is ${quote(zone)} by now, so there is nothing to revert`;
  return write(one, [], 'Released', { zone, record: undefined, message });
};

/** Decides for one Node; `now` in seconds since 1970. Applying the decision and deciding again gives `settled`, `none` or the same refusal. */
export const decideZone = (node: GroupNode, all: readonly NodeGroup[], now: number) => {
  const groups = groupsOf(node, all);
  const record = parseRecord(node.metadata.annotations?.[ANNOTATION_GROUP_ZONE]);
  const one: Case = { node, name: nameOf(node), zone: zoneLabelOf(node), record, now };
  const [group] = groups;
  if (groups.length > 1 && (record !== undefined || groups.some(isTopologyEnabled))) {
    const names = groups.map(nameOf);
    const message = `Node ${one.name} is in NodeGroups ${names.join(', ')}; a Node has one zone, so its label stays as it is. Remove it from all but one`;
    return refuse(names, 'InSeveralGroups', message);
  }
  return group !== undefined && isTopologyEnabled(group) && groups.length === 1 ? wanted(one, group) : unwanted(one);
};

export type ZoneDecision = ReturnType<typeof decideZone>;
