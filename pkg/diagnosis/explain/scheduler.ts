// What keeps Pods from Nodes and which wait for one; and where Pods may come to run, by zone: every way that hard rules leave open. What a
// scheduler merely prefers is not relied on: by default it scores zones against a skew of 5 (ScheduleAnyway), beside free capacity and images
// (kube-scheduler, podtopologyspread/plugin.go).
import { type Node, zoneOfNode } from '../../apis/core.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { countBy, nameOf, sumBy, sumOf } from '../../apis/values.ts';
import { matchesSelector } from '../../routing/types.ts';
import { LABEL_HOSTNAME } from '../project/core.ts';
import { selectsNode } from '../routers/kube-proxy.ts';
import { barrier } from '../models/lookup.ts';
import { type SpreadConstraint, type Workload, itemsOf } from '../snapshot.ts';
import type { Facts } from './facts.ts';
import { type Cause, cause, counted, listed, remedyOf } from './reasons.ts';

export const workloadTitle = ({ kind, name }: Pick<Workload, 'kind' | 'name'>): string => `${kind} ${name}`;

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
    return `${workloadTitle(workload)}: ${by}${drawn}`;
  }
  const { maxSkew, whenUnsatisfiable, selectsOwn } = constraint;
  // kubernetes/kubernetes#122278, #127310
  const isBlind = whenUnsatisfiable === 'ScheduleAnyway' && nodes.every((node) => zoneOfNode(node) === '');
  const blind = isBlind ? ', a label that no Node has: then none of its preferred constraints spreads anything' : '';
  const how = selectsOwn ? `(maxSkew ${maxSkew}, ${whenUnsatisfiable})${blind}` : SELECTS_NONE;
  return `${workloadTitle(workload)}: topologySpreadConstraint on ${LABEL_ZONE} ${how}`;
};

/** What hard constraints count although every Node there keeps the Pods away. */
const countedInVain = ({ snapshot, makers }: Facts): string[] =>
  makers.flatMap((workload) => {
    const open = itemsOf(snapshot.nodes).filter((node) => selectsNode({ nodes: workload.nodeTerms ?? [] }, node));
    const hard = workload.spread.filter((each) => each.whenUnsatisfiable === 'DoNotSchedule' && !each.honorsTaints);
    return hard.flatMap(({ topologyKey }) =>
      [...Map.groupBy(open, ({ metadata }) => metadata?.labels?.[topologyKey] ?? '')]
        .filter(([domain, own]) => domain !== '' && own.every((node) => barrier(node, workload) !== undefined))
        .map(([domain, own]) => {
          const why = own.every(({ spec }) => spec?.unschedulable === true) ? ' (cordoned)' : '';
          return `${/^\d+$/.test(domain) ? `zone "${domain}"` : domain}${why}`;
        }),
    );
  });

const claimsText = (names: readonly string[]): string => `claim${names.length === 1 ? '' : 's'} ${listed(names)}`;

/** Volumes of Pods that lie in some zones only, and who picked these too early. Claims of a StatefulSet end with the name of the Pod. */
const volumesOf = ({ index, makers }: Facts, pods: Facts['pods']) => {
  const isMade = makers.some(({ volumes }) => volumes === true);
  const own = pods.flatMap(({ namespace, name: pod, claims }) => {
    const isOf = (name: string) => claims?.includes(name) ?? (isMade && /-\d+$/.test(pod) && name.endsWith(`-${pod}`));
    const found = (index.volumes.get(namespace) ?? []).filter(({ name }) => isOf(name));
    return found.map(({ name, settings: { zones = '', class: of = '' } }) => ({ name, zones: zones.split(','), of }));
  });
  const places = Map.groupBy(own, ({ zones }) => zones.join(' or '));
  const lie = listed([...places].map(([zone, all]) => `${claimsText(all.map(({ name }) => name))} in ${zone}`));
  const early = listed(own.flatMap(({ of }) => (index.early.has(of) ? of : [])));
  const how = early && `; StorageClass ${early} has volumeBindingMode Immediate, which picks a zone without the Pod`;
  return { own, lie, early, how };
};

/** Where volumes of Pods that run lie; empty: it was not seen. */
export const heldText = (facts: Facts): string => {
  const running = facts.pods.filter(({ nodeName }) => nodeName !== '');
  const { lie, how } = volumesOf(facts, running);
  return lie && ` Volumes hold Pods there: ${lie}${how}.`;
};

/** How volumes hold a Pod that waits, and what lets it have them; none: where they lie was not seen. */
const holding = (facts: Facts, pod: Facts['pods'][number]) => {
  const { own, lie } = volumesOf(facts, [pod]);
  const [first, ...more] = own;
  if (first === undefined) return [];
  const say = (why: string, help = '') => [{ why: `volumes lie in ${why} (${lie})`, help }];
  const zones = first.zones.filter((zone) => more.every((each) => each.zones.includes(zone)));
  if (zones.length === 0) return say('different zones');
  const where = listed(zones);
  const maker = facts.makers.find(({ podLabels }) => matchesSelector({ matchLabels: podLabels }, pod.labels));
  const { allowedZones = zones } = maker ?? {};
  if (!zones.some((zone) => allowedZones.includes(zone)))
    return say(`${where}, and the Pod may run in ${listed(allowedZones)} only`);
  const takes = (node: Node) => maker === undefined || (allows(node, maker) && barrier(node, maker) === undefined);
  const help = `Have a Node in ${where} that takes the Pod (a node pool, or instance group, for each zone). `;
  if (!facts.nodes.some((node) => zones.includes(zoneOfNode(node)) && takes(node)))
    return say(`${where}, where no ready Node takes the Pod`, help);
  return /spread|anti-affinity/.test(pod.unplaced ?? '')
    ? say(`${where}, where a constraint lets no more in`, 'Loosen that constraint. ')
    : say(`${where}, where Nodes that take the Pod may lack room`, `Have room in ${where}. `);
};

/** The same of all Pods that wait; their StorageClass cannot be changed (kubernetes.io/docs/concepts/storage/storage-classes). */
const heldBy = (facts: Facts, pods: Facts['pods']) => {
  const [first, ...more] = pods.flatMap((pod) => holding(facts, pod));
  if (first === undefined) return undefined;
  const { own, early, how } = volumesOf(facts, pods);
  const mode = early && ` (another than ${early}, or that one deleted and made again: its mode cannot be changed)`;
  const claims = claimsText(own.map(({ name }) => name));
  const anew = `${first.help ? 'Or, without need of the data, delete' : 'Delete'} ${claims} with the Pod, after a backup of what is needed`;
  const remedy = `${first.help}${anew}: a StorageClass with \`volumeBindingMode: WaitForFirstConsumer\`${mode} makes new volumes where the Pod is placed.`;
  return { why: `${[first, ...more.slice(0, 1)].map(({ why }) => why).join('; ')}${how}`, remedy };
};

/** Pods that wait for a Node, for which, and what would end that where it is more than to look; an empty text: none does. */
export const waitingFor = (facts: Facts) => {
  // A label that the Service selects by may come once the Pod runs (zalando/postgres-operator#764).
  const isOwn = ({ namespace, labels }: Facts['pods'][number]): boolean =>
    namespace === facts.ref.namespace &&
    facts.makers.some((own) => matchesSelector({ matchLabels: own.podLabels }, labels));
  const late =
    facts.workloads.length > 0 || facts.makers.length === 0 ? [] : (facts.index.podsOn.get('') ?? []).filter(isOwn);
  const pending = [...new Set([...facts.pods.filter(({ nodeName }) => nodeName === ''), ...late])];
  if (pending.length === 0) return { text: '' };
  const wanted = Math.max(...facts.makers.map((workload) => zoneConstraint(workload)?.minDomains ?? 0));
  const labels = new Set([LABEL_HOSTNAME, ...facts.nodes.flatMap((node) => Object.keys(node.metadata?.labels ?? {}))]);
  const missing = facts.makers.flatMap(hardSpread).filter(({ topologyKey }) => !labels.has(topologyKey));
  const zones = facts.clientZones.length;
  const isWide = wanted > Math.max(zones, 1);
  const vain = countedInVain(facts);
  const apart = facts.makers.find((own) => own.apart?.includes(LABEL_ZONE) === true && own.replicas > zones);
  const said = pending.flatMap(({ unplaced = [] }) => unplaced);
  const rolling = facts.makers.find((own) => own.apart !== undefined && own.updatedReplicas !== undefined);
  const held = heldBy(facts, pending);
  const found: readonly (readonly [sign: string, why: string | false | undefined, remedy?: string])[] = [
    // cozystack/cozystack#3358
    [
      'spread',
      missing.length > 0 &&
        `its DoNotSchedule constraint counts by ${listed(missing.map(({ topologyKey }) => topologyKey))}, a label that no Node has`,
      'Label the Nodes, or set `whenUnsatisfiable: ScheduleAnyway` in that constraint.',
    ],
    // kubernetes/kubernetes#116891
    [
      'anti-affinity',
      rolling && 'its podAntiAffinity counts Pods of the older roll-out too',
      'Have a roll-out take a Pod away before the next comes: `maxSurge: 0` and `maxUnavailable: 1` in the strategy of the Deployment.',
    ],
    // gardener/gardener#7826
    [
      'spread',
      isWide && `minDomains of its topologySpreadConstraint asks for ${wanted} zones, and ${zones} have Nodes`,
      `Have a Node that takes the Pod in each of ${wanted} zones, or ask for fewer.`,
    ],
    [
      'anti-affinity',
      apart && `its podAntiAffinity lets one Pod in each zone, and it has ${counted(apart.replicas, 'replica')}`,
      remedyOf('OnePerZone'),
    ],
    // kubernetes/kubernetes#106396
    [
      'spread',
      vain.length > 0 && `its topologySpreadConstraint counts ${listed(vain)}, where every Node keeps it away`,
      `${vain.join().includes('(cordoned)') ? 'Uncordon it, or set' : 'Set'} \`nodeTaintsPolicy: Honor\` in that constraint (Kubernetes 1.26 and newer), give the Pods a toleration, or a node affinity that leaves it out.`,
    ],
    // kubernetes/kubernetes#109364
    ...facts.makers.map((workload) => {
      const hard = hardSpread(workload).map(({ topologyKey }) => topologyKey);
      const text = `its DoNotSchedule constraints on ${listed(hard)} may together leave no Node: make one of them ScheduleAnyway`;
      return ['spread', missing.length + vain.length === 0 && !isWide && hard.length > 1 && text] as const;
    }),
    // kubernetes/kubernetes#49906, Azure/AKS#1333, #2187, #3146; Orange-OpenSource/nifikop#73
    [
      'volume',
      held?.why ??
        ((said.some((own) => own.includes('volume node affinity')) || facts.makers.some(({ volumes }) => volumes)) &&
          'its volume may hold it to a zone without room, to another zone than its next volume, or where a constraint lets none in'),
      held?.remedy ??
        'See where its volumes lie (node affinity in `kubectl get pv -o yaml`). Where that is one zone, have a Node there that takes the Pod (cluster-autoscaler needs a node pool for each zone), or loosen the constraint that keeps it away. Where they lie in different zones, or without need of the data, delete the claims with the Pod (after a backup of what is needed): a StorageClass with `volumeBindingMode: WaitForFirstConsumer` makes new volumes where the Pod is placed.',
    ],
  ];
  // Where the scheduler says what it has against Nodes, nothing else holds the Pod.
  const reasons = found.filter(([sign, why]) => why && (said.length === 0 || said.some((own) => own.includes(sign))));
  const whys = [...reasons.map(([, why]) => why), ...said.slice(0, 1).map((own) => `the scheduler says: ${own}`)];
  const who = `${pending.length === 1 ? 'Pod' : 'Pods'} ${listed(pending.map(({ name }) => name))} wait${pending.length === 1 ? 's' : ''}`;
  const text = ` ${who} for a Node${whys.length === 0 ? '' : ': '}${whys.join('; ')}.`;
  return { text, remedy: reasons.flatMap(([, , remedy = []]) => remedy)[0] };
};

export const waitingCauses = (facts: Facts): Cause[] => {
  const { text, remedy } = waitingFor(facts);
  return text === '' ? [] : [cause('prerequisite', 'PodsWaiting', text.trimStart(), remedy)];
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
    ({ phase, ...pod }) =>
      !['Succeeded', 'Failed'].includes(phase) &&
      !(pod.namespace === namespace && matchesSelector({ matchLabels: podLabels }, pod.labels)),
  );
  const left = allocatable - sumBy(others, (pod) => pod.requestMilliCpu ?? 0);
  return Math.max(0, Math.floor(left / requestMilliCpu));
};

export const allows = (node: Node, { allowedZones, nodeTerms = [] }: Workload): boolean =>
  selectsNode({ nodes: nodeTerms }, node) && allowedZones?.includes(zoneOfNode(node)) !== false;

/** Nodes that take Pods of the workload, by zone, and how many of them there is room for. */
export const roomByZone = (workload: Workload, facts: Facts, onePerNode = false): Zones => {
  const open = facts.nodes.filter((node) => allows(node, workload) && barrier(node, workload) === undefined);
  const most = onePerNode ? 1 : Infinity;
  const zones = Map.groupBy(open, zoneOfNode);
  const roomIn = (own: readonly Node[]) => sumBy(own, (node) => Math.min(most, roomOn(node, workload, facts)));
  return new Map([...zones].map(([zone, own]) => [zone, roomIn(own)]));
};

/** Constraints that keep Pods pending rather than be broken, and that count the workload's own Pods. */
const hardSpread = ({ spread }: Pick<Workload, 'spread'>): readonly SpreadConstraint[] =>
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

/** Where the ready Pods of each workload are, in its order; undefined where some of them are not ready, or whose they are is not known. */
export const zonesOfPods = ({ workloads, pods, index, families }: Facts): readonly Zones[] | undefined => {
  const [first] = families.map(({ endpoints }) => countBy(endpoints, ({ zone }) => zone));
  const total = sumBy(workloads, ({ replicas }) => replicas);
  if (first === undefined || sumOf(first.values()) !== total) return undefined;
  if (workloads.length === 1) return [first];
  const found = workloads.map(({ podLabels: matchLabels }) => {
    const own = pods.filter(({ ready, labels }) => ready && matchesSelector({ matchLabels }, labels));
    return countBy(own, ({ nodeName }) => index.zoneOf.get(nodeName) ?? '');
  });
  return found.every((own, at) => sumOf(own.values()) === workloads[at]?.replicas) ? found : undefined;
};
