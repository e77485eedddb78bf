// What spreads Pods over zones; and where Pods may come to run, by zone: every way that hard rules leave open. What a
// scheduler merely prefers is not relied on: by default it scores zones against a skew of 5 (ScheduleAnyway), beside free capacity and images
// (kube-scheduler, podtopologyspread/plugin.go).
import { type Node, zoneOfNode } from '../../apis/core.ts';
import { LABEL_HOSTNAME, LABEL_ZONE } from '../../apis/names.ts';
import { nameOf, sumBy, sumOf, workloadTitle } from '../../apis/values.ts';
import { matchesSelector } from '../../routing/types.ts';
import { selectsNode } from '../routers/kube-proxy.ts';
import { barrier } from '../models/lookup.ts';
import { type SpreadConstraint, type Workload, itemsOf } from '../snapshot.ts';
import type { Facts } from './facts.ts';
import { listed } from './reasons.ts';

/** One that counts its own Pods before others. */
export const zoneConstraint = ({ spread }: Workload) => {
  const own = spread.filter(({ topologyKey }) => topologyKey === LABEL_ZONE);
  return own.find(({ selectsOwn }) => selectsOwn) ?? own[0];
};

/** A single Pod would count itself alone, where its constraint is one over several workloads. */
export const revisesPods = (workload: Workload): boolean =>
  workload.kind === 'Deployment' && (workload.replicas > 1 || zoneConstraint(workload) === undefined);

/** Its Pods are kept apart by zone only where that is easy. */
export const prefersApart = ({ zoneAntiAffinity, apart = [] }: Workload): boolean =>
  zoneAntiAffinity && !apart.includes(LABEL_ZONE);

export const DRAWN: Readonly<Record<NonNullable<Workload['drawn']>, string>> = {
  requires: 'requires its own Pods in one zone',
  prefers: 'prefers its own Pods in one zone',
  follows: 'keeps it in zones of Pods of others',
};

/** Its own podAffinity, unless a hard constraint counts for more. */
export const drawnText = (workload: Workload): string => {
  const isOutdone = workload.drawn === 'prefers' && zoneConstraint(workload)?.whenUnsatisfiable === 'DoNotSchedule';
  return workload.drawn === undefined || isOutdone
    ? ''
    : `The podAffinity of ${workloadTitle(workload)} on ${LABEL_ZONE} ${DRAWN[workload.drawn]}.`;
};

export const SELECTS_NONE = 'whose labelSelector matches none of its own Pods, so it spreads nothing';

export const spreadBy = (workload: Workload, { nodes }: Pick<Facts, 'nodes'>): string => {
  const constraint = zoneConstraint(workload);
  if (constraint === undefined) {
    const by = workload.zoneAntiAffinity ? `podAntiAffinity on ${LABEL_ZONE}` : 'nothing spreads its Pods over zones';
    const drawn = workload.drawn === undefined ? '' : `, its podAffinity ${DRAWN[workload.drawn]}`;
    const held = workload.allowedZones ? ` (they may run in ${listed(workload.allowedZones)} only)` : '';
    return `${workloadTitle(workload)}: ${by}${held}${drawn}`;
  }
  const { maxSkew, whenUnsatisfiable, selectsOwn } = constraint;
  const isBlind = whenUnsatisfiable === 'ScheduleAnyway' && nodes.every((node) => zoneOfNode(node) === ''); // kubernetes/kubernetes#122278, #127310
  const blind = isBlind ? ', a label that no Node has: then none of its preferred constraints spreads anything' : '';
  const how = selectsOwn ? `(maxSkew ${maxSkew}, ${whenUnsatisfiable})${blind}` : SELECTS_NONE;
  return `${workloadTitle(workload)}: topologySpreadConstraint on ${LABEL_ZONE} ${how}`;
};

/** Pods run where they were placed; empty: some Node of the zones was there before one of them, or that is not known. */
export const youngText = ({ pods, index }: Facts, zones: readonly string[]): string => {
  const nodes = zones.flatMap((zone) => index.nodesIn.get(zone) ?? []);
  const since = pods.map(({ creationTimestamp }) => creationTimestamp).sort();
  const made = nodes.map(({ metadata }) => metadata?.creationTimestamp ?? '').sort();
  const isYoung = (made[0] ?? '') > (since.at(-1) ?? '') && since[0] !== '' && since.length > 0;
  return isYoung ? ` The Nodes of ${listed(zones)} are younger than its Pods, and nothing moves Pods that run.` : '';
};

export const rollingText = (workload: Workload): string =>
  workload.updatedReplicas === undefined
    ? ''
    : ` A roll-out of ${workloadTitle(workload)} is under way (${workload.updatedReplicas} of ${workload.replicas} updated): look again when it is done; with \`maxUnavailable: 0\` no Pod goes before another is ready.`;

/** Pods by zone. */
export type Zones = ReadonlyMap<string, number>;

/** Beyond so many ways nothing is certain. */
const MOST_WAYS = 64;

const roomOn = (node: Node, { requestMilliCpu = 0, podLabels, namespace }: Workload, { index }: Facts): number => {
  const allocatable = index.cpuOf.get(nameOf(node));
  if (requestMilliCpu === 0 || allocatable === undefined) return Infinity;
  const others = (index.podsOn.get(nameOf(node)) ?? []).filter(
    (pod) => !(pod.namespace === namespace && matchesSelector({ matchLabels: podLabels }, pod.labels)),
  );
  return Math.max(0, Math.floor((allocatable - sumBy(others, (pod) => pod.requestMilliCpu ?? 0)) / requestMilliCpu));
};

export const allows = (node: Node, { allowedZones, nodeTerms = [] }: Workload): boolean =>
  selectsNode({ nodes: nodeTerms }, node) && allowedZones?.includes(zoneOfNode(node)) !== false;

/** Nodes that take Pods of the workload, by zone, and how many of them there is room for. */
export const roomByZone = (workload: Workload, facts: Facts, onePerNode = false): Zones => {
  const open = facts.nodes.filter((node) => allows(node, workload) && barrier(node, workload) === undefined);
  const most = onePerNode ? 1 : Infinity;
  const roomIn = (own: readonly Node[]) => sumBy(own, (node) => Math.min(most, roomOn(node, workload, facts)));
  return new Map([...Map.groupBy(open, zoneOfNode)].map(([zone, own]) => [zone, roomIn(own)]));
};

/** Constraints that keep Pods pending rather than be broken, and that count the workload's own Pods. */
export const hardSpread = ({ spread }: Pick<Workload, 'spread'>): readonly SpreadConstraint[] =>
  spread.filter(({ whenUnsatisfiable, selectsOwn }) => whenUnsatisfiable === 'DoNotSchedule' && selectsOwn);

/**
 * Every way in which its replicas may come to lie, where those of `staying` do not move; undefined where some may stay pending, where
 * rules are not modelled, and where there are too many ways.
 */
export const placements = (workload: Workload, facts: Facts, staying: Zones): readonly Zones[] | undefined => {
  const hard = hardSpread(workload);
  const apart = workload.apart ?? [];
  const keys = [...hard.map(({ topologyKey }) => topologyKey), ...apart];
  const isShared = workload.kind === 'Deployment' && workload.volumes === true;
  const isTied = isShared || (workload.drawn !== undefined && workload.drawn !== 'prefers');
  if (isTied || keys.some((key) => key !== LABEL_ZONE && key !== LABEL_HOSTNAME)) return undefined;
  const zonal = hard.filter(({ topologyKey }) => topologyKey === LABEL_ZONE);
  const room = roomByZone(workload, facts, keys.includes(LABEL_HOSTNAME));
  // Nodes without the label are left out by a constraint on it, and without one a Pod there has no zone.
  if (zonal.length === 0 && room.has('')) return undefined;
  const zones = [...room.keys()].filter((zone) => zone !== '');
  // Nodes that bar the Pods count as a domain all the same, unless that is said (nodeTaintsPolicy): an empty one holds the others down.
  const allowed = itemsOf(facts.snapshot.nodes).filter((node) => allows(node, workload));
  const all = new Set(allowed.map(zoneOfNode));
  const least = (counts: Zones, { honorsTaints = false, minDomains = 1 }: SpreadConstraint): number => {
    const domains = honorsTaints ? zones : [...all].filter((zone) => zone !== '');
    return domains.length < minDomains ? 0 : Math.min(...domains.map((zone) => counts.get(zone) ?? 0));
  };
  const takes = (counts: Zones, zone: string): boolean => {
    const own = counts.get(zone) ?? 0;
    return (
      own < (room.get(zone) ?? 0) &&
      !(own > 0 && apart.includes(LABEL_ZONE)) &&
      zonal.every((constraint) => own + 1 - least(counts, constraint) <= constraint.maxSkew)
    );
  };
  let ways: readonly Zones[] = [staying];
  for (let placed = sumOf(staying.values()); placed < workload.replicas; placed += 1) {
    const next = new Map<string, Zones>();
    for (const counts of ways) {
      const open = zones.filter((zone) => takes(counts, zone));
      if (open.length === 0) return undefined;
      for (const zone of open) {
        const after = new Map([...counts, [zone, (counts.get(zone) ?? 0) + 1]]);
        next.set(zones.map((each) => after.get(each) ?? 0).join(), after);
      }
    }
    if (next.size > MOST_WAYS) return undefined;
    ways = [...next.values()];
  }
  return ways;
};

/** Whether a new template moves all Pods, and is placed as if there were no others; else nothing is certain. */
export const movesAll = (workload: Workload): boolean => {
  const { kind, held = false, volumes = false, apart = [] } = workload;
  // A volume may lie in one zone.
  if (held || volumes) return false;
  // One Pod goes before the next comes, so that each goes where fewest are.
  if (kind === 'StatefulSet') return true;
  // Old Pods count as well, unless it is by revision: then zones are uneven once they are gone (KEP-3243).
  const rolling = hardSpread(workload).filter(({ topologyKey }) => topologyKey === LABEL_ZONE);
  return kind === 'Deployment' && apart.length === 0 && rolling.every(({ byRevision = false }) => byRevision);
};
