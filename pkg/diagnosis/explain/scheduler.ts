// Where Pods may come to run, by zone: every way that hard rules leave open. What a scheduler merely prefers is not relied on: by default it
// scores zones against a skew of 5 (ScheduleAnyway), beside free capacity and images (kube-scheduler, podtopologyspread/plugin.go).
import { type Node, zoneOfNode } from '../../apis/core.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { milliFromNano, nanoOf } from '../../apis/quantity.ts';
import { nameOf, sumBy, sumOf } from '../../apis/values.ts';
import { matchesSelector } from '../../routing/types.ts';
import { countBy } from '../../evacuation/capacity.ts';
import { LABEL_HOSTNAME } from '../project/core.ts';
import type { PodSummary, SpreadConstraint, Workload } from '../project/workloads.ts';
import { selectsNode } from '../routers/kube-proxy.ts';
import { barrier } from './waiting.ts';

/** Pods by zone. */
export type Zones = ReadonlyMap<string, number>;

export interface Cluster {
  /** Ready ones. */
  readonly nodes: readonly Node[];
  /** Those that are not ready as well: their zones count. */
  readonly known: readonly Node[];
  /** By Node, of every namespace, as far as they were seen. */
  readonly podsOn: ReadonlyMap<string, readonly PodSummary[]>;
}

/** Beyond so many ways nothing is certain. */
const MOST_WAYS = 64;

/** Own Pods that the Node has room for, by the CPU that they and others request: at most so many. */
const roomOn = (
  node: Node,
  { requestMilliCpu = 0, podLabels, namespace }: Workload,
  podsOn: Cluster['podsOn'],
): number => {
  const allocatable = nanoOf(node.status?.allocatable?.['cpu']);
  if (requestMilliCpu === 0 || allocatable === undefined) return Infinity;
  const others = (podsOn.get(nameOf(node)) ?? []).filter(
    ({ phase, namespace: own, labels }) =>
      phase !== 'Succeeded' &&
      phase !== 'Failed' &&
      !(own === namespace && matchesSelector({ matchLabels: podLabels }, labels)),
  );
  const left = milliFromNano(allocatable) - sumBy(others, (pod) => pod.requestMilliCpu ?? 0);
  return Math.max(0, Math.floor(left / requestMilliCpu));
};

/** By its nodeSelector and node affinity. */
export const allows = (node: Node, { allowedZones, nodeTerms = [] }: Workload): boolean =>
  selectsNode({ nodes: nodeTerms }, node) && allowedZones?.includes(zoneOfNode(node)) !== false;

/** Nodes that take Pods of the workload, by zone, and how many of them there is room for. */
export const roomByZone = (
  workload: Workload,
  { nodes, podsOn }: Omit<Cluster, 'known'>,
  onePerNode = false,
): Zones => {
  const open = nodes.filter((node) => allows(node, workload) && barrier(node, workload) === undefined);
  const most = onePerNode ? 1 : Infinity;
  const zones = Map.groupBy(open, zoneOfNode);
  return new Map(
    [...zones].map(([zone, own]) => [zone, sumBy(own, (node) => Math.min(most, roomOn(node, workload, podsOn)))]),
  );
};

/** Constraints that keep Pods pending rather than be broken, and that count the workload's own Pods. */
export const hardSpread = ({ spread }: Pick<Workload, 'spread'>): readonly SpreadConstraint[] =>
  spread.filter(({ whenUnsatisfiable, selectsOwn }) => whenUnsatisfiable === 'DoNotSchedule' && selectsOwn);

/**
 * Every way in which `replicas` Pods may come to lie, where those of `staying` do not move; undefined where some may stay pending, where
 * rules are not modelled, and where there are too many ways.
 */
export const placements = (
  workload: Workload,
  cluster: Cluster,
  staying: Zones,
  replicas: number,
): readonly Zones[] | undefined => {
  const hard = hardSpread(workload);
  const apart = workload.apart ?? [];
  const keys = [...hard.map(({ topologyKey }) => topologyKey), ...apart];
  if (keys.some((key) => key !== LABEL_ZONE && key !== LABEL_HOSTNAME)) return undefined;
  const zonal = hard.filter(({ topologyKey }) => topologyKey === LABEL_ZONE);
  const room = roomByZone(workload, cluster, keys.includes(LABEL_HOSTNAME));
  // Nodes without the label are left out by a constraint on it, and without one a Pod there has no zone.
  if (zonal.length === 0 && room.has('')) return undefined;
  const zones = [...room.keys()].filter((zone) => zone !== '');
  // Nodes that bar the Pods count as a domain all the same, unless that is said (nodeTaintsPolicy): an empty one holds the others down.
  const all = new Set(cluster.known.filter((node) => allows(node, workload)).map(zoneOfNode));
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
  for (let placed = sumOf(staying.values()); placed < replicas; placed += 1) {
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

interface Served {
  readonly workloads: readonly Workload[];
  readonly pods: readonly PodSummary[];
  readonly nodes: readonly Node[];
  readonly families: readonly { readonly endpoints: readonly { readonly zone: string }[] }[];
}

/** Where the ready Pods of each workload are, in its order; undefined where some of them are not ready, or whose they are is not known. */
export const zonesOfPods = ({ workloads, pods, nodes, families }: Served): readonly Zones[] | undefined => {
  const [first] = families.map(({ endpoints }) => countBy(endpoints, ({ zone }) => zone));
  const total = sumBy(workloads, ({ replicas }) => replicas);
  if (first === undefined || sumOf(first.values()) !== total) return undefined;
  if (workloads.length === 1) return [first];
  const zoneOf = new Map(nodes.map((node) => [nameOf(node), zoneOfNode(node)]));
  const ready = pods.filter((pod) => pod.ready);
  const found = workloads.map(({ podLabels }) => {
    const own = ready.filter(({ labels }) => matchesSelector({ matchLabels: podLabels }, labels));
    return countBy(own, ({ nodeName }) => zoneOf.get(nodeName) ?? '');
  });
  return found.every((own, at) => sumOf(own.values()) === workloads[at]?.replicas) ? found : undefined;
};
