// Causes in where Pods run: zones with clients and without endpoints, and what should have spread the Pods.
import type { Node } from '../../apis/core.ts';
import { byText, countBy, nameOf, sumBy, workloadTitle } from '../../apis/values.ts';
import type { StringMap } from '../../apis/meta.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { matchesSelector } from '../../routing/types.ts';
import { atLeast } from '../../routing/version.ts';
import { STORES } from '../bypasses/programs.ts';
import { TEMPLATE, isPlacedByGardener, ownerNote } from '../owner.ts';
import { operatorField } from '../owner-fields.ts';
import { barrier } from '../models/lookup.ts';
import type { Workload } from '../snapshot.ts';
import { selectsNode } from '../routers/kube-proxy.ts';
import { nodeLines } from './ask.ts';
import { isOfGardener } from './given.ts';
import { FARGATE_REMEDY, autoscalerRemedy, karpenterRemedy, runsOnFargate } from './node-pools.ts';
import { type Facts, type FamilyFacts, UNDRAIN, drainedText, endpointsOfPort } from './facts.ts';
import { servicesBeside } from './snapshot-index.ts';
import { type Cause, SPREAD, cause, counted, listed, remedyOf } from './reasons.ts';
import { SELECTS_NONE, drawnText, prefersApart, revisesPods, rollingText } from './scheduler.ts';
import { spreadBy, youngText, zoneConstraint } from './scheduler.ts';
import { heldText, idlePods, waitingFor } from './waiting.ts';

/** `eu-1a 2, eu-1b 1`. */
export const byZone = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([zone, count]) => `${zone || 'no zone'} ${count}`).join(', ');

const byMean = ({ kind }: Facts['autoscalers'][number]): boolean => kind === 'HorizontalPodAutoscaler';

export const spreadText = (facts: Facts): string => {
  const { makers, wish, autoscalers } = facts;
  const scalers = autoscalers.filter(byMean).map(({ kind, name }) => `${kind} ${name} scales by the mean of all zones`);
  const found = [...makers.map((own) => spreadBy(own, facts)), ...scalers].sort(byText);
  return [...found, ...(/^(?:same-zone|proportional)$/.test(wish.mode) ? nodeLines(facts) : [])].join('; ');
};

const UNSELECTED_REMEDY =
  'Give these zones Nodes with those labels (a node pool in each), or ask for labels that Nodes of all zones have, then restart the workload: a topologySpreadConstraint counts only zones of Nodes that a nodeSelector or node affinity allows.';

const CORDONED_REMEDY = 'Uncordon a Node there, or add one, and restart the workload: Pods that run elsewhere stay.';

/** Zones that are empty because every Node there keeps these Pods away, and what would help against more than taints; undefined: none is. */
const barred = (facts: Facts, workload: Workload, zones: readonly string[]) => {
  const terms = { nodes: isPinned(workload, zones) ? [] : (workload.nodeTerms ?? []) };
  const asked = Object.entries(terms.nodes[0]?.matchLabels ?? {}).map(([key, value]) => ` ${key}=${value}`);
  const unselected = `its labels are not those of the nodeSelector or node affinity${asked.join()}`;
  const why = (node: Node) => (selectsNode(terms, node) ? barrier(node, workload) : unselected);
  const found = zones.flatMap((zone) => {
    const own = facts.index.nodesIn.get(zone) ?? [];
    const first = own[0] && why(own[0]);
    const text = `every Node of ${zone} keeps them away (${listed(own.map(nameOf))}: ${first})`;
    return first === undefined || own.some((node) => why(node) === undefined) ? [] : [{ own, text }];
  });
  if (found.length === 0) return undefined;
  // No Node of another place has these.
  const isPlace = asked.length > 0 && asked.every((own) => /\.kubernetes\.io\/(?:region|zone)=/.test(own));
  const grown = isPlace ? PINNED_REMEDY : `${autoscalerRemedy(facts, workload, zones)}${UNSELECTED_REMEDY}`;
  const byLabels = found.some(({ own: [node] }) => node && !selectsNode(terms, node)) ? grown : undefined;
  const isCordoned = !byLabels && found.every(({ own: [node] }) => node?.spec?.unschedulable === true);
  const other = isCordoned ? CORDONED_REMEDY : karpenterRemedy(facts, workload, zones);
  const isHeld = isPlace && byLabels !== undefined && other === undefined;
  return {
    text: `${workloadTitle(workload)}: ${found.map(({ text }) => text).join('; ')}.`,
    remedy: other ?? byLabels,
    isHeld,
  };
};

export const hasFew = ({ makers, clientZones }: Facts): boolean =>
  sumBy(makers, ({ replicas }) => replicas) < clientZones.length;

const BARRED_REMEDY =
  'Give the Pods a toleration, or the zone Nodes that take them. A topologySpreadConstraint counts such a zone all the same, and Pods wait, unless it has `nodeTaintsPolicy: Honor` (Kubernetes 1.26 and newer).';

export const PINNED_REMEDY = 'Where that is meant, keep its clients there; else allow other zones, and a Pod in each.';

export const isPinned = ({ allowedZones }: Workload, zones: readonly string[]): boolean =>
  zones.some((zone) => allowedZones?.includes(zone) === false);

/** kubernetes/kubernetes#98215, KEP-3243 */
const BY_REVISION =
  ' Let the constraint count Pods of one roll-out only (`matchLabelKeys: [pod-template-hash]`, Kubernetes 1.27 and newer; before, a label in its labelSelector that changes with each).';
const EVENED_OUT =
  ' What scaling down or a drain leaves is evened out by RemovePodsViolatingTopologySpreadConstraint of the descheduler: where an autoscaler is to add the Node, only with `topologyBalanceNodeFit: false` (kubernetes-sigs/descheduler#1138, #1148).';
/** kubernetes-sigs/descheduler#915, #1148 */
const OF_DESCHEDULER =
  ' The descheduler evicts for such a constraint only where RemovePodsViolatingTopologySpreadConstraint has `includeSoftConstraints: true` (newer releases: `constraints: [DoNotSchedule, ScheduleAnyway]`), and Pods with local storage (emptyDir) only with `evictLocalStoragePods: true`.';

const OF_UNREADY =
  'Update kube-proxy to 1.23 or newer: before, it goes by hints of endpoints that are not ready, and clients of their zone get no other (kubernetes/kubernetes#106507). ';

const VOLUMES_REMEDY =
  'Volumes keep the Pods in their zones, and no constraint moves them: one with `DoNotSchedule` leaves them pending when they restart. Only new replicas, or Pods whose volumes are made anew, come to lie elsewhere, if their StorageClass lets them: `volumeBindingMode: WaitForFirstConsumer`, and all zones in its `allowedTopologies`.';
/** weaviate/weaviate-helm#306 */
const SOFT_FOR_NEW = ' They do with a topologySpreadConstraint that is `ScheduleAnyway`, which leaves none pending.';
const EACH_REMEDY = // grafana/mimir#1729
  'Hold each of these workloads in a zone of its own, as their program counts them: by a nodeSelector on `topology.kubernetes.io/zone` (in charts of Grafana `zoneAwareReplication.zones[].nodeSelector`), or a podAntiAffinity by zone to other Pods of the same `rollout-group`.';
const SHARED_REMEDY = 'Its Pods share a volume: others run in other zones only where it is ReadWriteMany there too.';

export const STORE_REMEDY =
  'Clients in other zones cross, whatever the Service asks for. Another replica would be a store of its own, or a cluster (Trino), unless the program is set up to copy its data. The client that asks most of it can run in its zone: give it a podAffinity to this Pod with `topologyKey: topology.kubernetes.io/zone`.';

/** gardener/gardener#6579, #6934, docs/operations/topology_aware_routing.md there */
const TOGETHER_REMEDY =
  'Clients in other zones cross, whatever the Service asks for, and only failure tolerance type `zone` gives etcd a member in each. Without it Gardener from 2023 on runs all Pods of a control plane in one zone: update an older one (a first form of that, gardener#6579, was withdrawn).';

/** gardener/gardener docs/usage/high-availability/shoot_high_availability.md */
const OF_SHOOT =
  'Pods in other zones need failure tolerance type `zone` (`spec.controlPlane.highAvailability.failureTolerance` of the Shoot): Gardener writes other changes back. Where one zone is meant, what comes to API servers from outside passes an Istio ingress gateway of that zone with `spec.settings.loadBalancerServices.zonalIngress.enabled: true` in the Seed (the default; Gardener has such gateways from late 2022 on, and the field from 1.131 on).';

export const isStore = (workloads: readonly Pick<Workload, 'images' | 'kind' | 'replicas' | 'volumes'>[]): boolean =>
  workloads.some(
    ({ images: [image = ''], kind, replicas, volumes }) =>
      STORES.test(image) || (kind === 'StatefulSet' && volumes === true && replicas === 1),
  );

const HARDER_REMEDY =
  'Set `whenUnsatisfiable: DoNotSchedule` in its topologySpreadConstraint on `topology.kubernetes.io/zone`, with as many replicas as zones (`minReplicas` of an autoscaler): then a Pod waits for room in the zone that lacks it.';

const MOVE_ONE = 'Delete one of its Pods: the next one goes to another Node that has room. For zones: ';
/** EvenPodsSpread is on by default (KEP-895). */
export const hasConstraints = (version: Facts['version']): boolean => atLeast(version, 18);
const APART_REMEDY =
  'Add a podAntiAffinity with `topologyKey: topology.kubernetes.io/zone` (before 1.17 `failure-domain.beta.kubernetes.io/zone`), and at least as many replicas as zones; topologySpreadConstraints count from 1.18 on.';

/** Azure/AKS#2389, swill.fun/blog/eks-topology-spread-mindomains-ebs-karpenter */
export const SPREAD_IN_ONE =
  'A topologySpreadConstraint counts only zones that have Nodes, and one zone satisfies it. For Pods in other zones run a Node in each, or let Pods wait for them with `minDomains` (Kubernetes 1.27 and newer), so that an autoscaler adds one.';

/** The remedy comes before others, unless Pods wait, or it may not run there. */
type Sort = Partial<Record<'isFirst' | 'isVague' | 'isHeld', boolean>>;

/** Why zones have none of its Pods, and where a constraint is no remedy what is; else what the code says. */
export const placing = (facts: Facts, workload: Workload, zones: readonly string[] = facts.emptyZones) => {
  const say = (why: string, remedy?: string, sort: Sort = {}) => ({ why, remedy, ...sort });
  const { allowedZones, replicas, zoneAntiAffinity, volumes, apartInVain, apartByNode } = workload;
  const who = workloadTitle(workload);
  const onFargate = `The Pods of ${who} run on Fargate, which makes a Node for each Pod in a subnet that it picks.`;
  if (runsOnFargate(facts)) return say(onFargate, FARGATE_REMEDY, { isFirst: true });
  const bars = barred(facts, workload, zones);
  const held = volumes === true ? VOLUMES_REMEDY : undefined;
  const sort = { isFirst: true, isVague: !bars?.remedy, isHeld: bars?.isHeld === true };
  if (bars !== undefined) return say(bars.text, bars.remedy ?? held ?? BARRED_REMEDY, sort);
  const pinned = `${who} may run in ${listed(allowedZones ?? [])} only (nodeSelector or node affinity).`;
  if (isPinned(workload, zones)) return say(pinned, PINNED_REMEDY, { isHeld: true });
  const constraint = zoneConstraint(workload);
  const { maxSkew = 1, minDomains = 1, whenUnsatisfiable, byRevision = false } = constraint ?? {};
  const none = `${who} has a topologySpreadConstraint on ${LABEL_ZONE} ${SELECTS_NONE}.`;
  if (constraint?.selectsOwn === false) return say(none, remedyOf('SpreadSelectsNothing'));
  const few = `${who} has ${counted(replicas, 'replica')} for ${facts.clientZones.length} zones.`;
  const counts = ({ podLabels }: Workload) => matchesSelector(constraint?.selector ?? {}, podLabels);
  const alone = `${who} has one replica, and its constraint counts no Pod of the other workloads.`;
  // firestoned/bindy#473
  if (constraint && replicas === 1 && facts.workloads.length > 1 && facts.workloads.filter(counts).length === 1)
    return say(alone, 'Have each constraint select the Pods of all these workloads, as the Service does.');
  if (hasFew(facts) && !inOneZone(facts)) return say(few, constraint && remedyOf('SingleEndpoint'));
  const constrained = hasFew(facts) ? remedyOf('PodsNotSpread') : `${SPREAD}.`;
  const drawn = drawnText(workload);
  if (drawn !== '') return say(drawn, `Take the term out of its podAffinity. ${constrained}`);
  const [shrunk, evened] = facts.autoscalers.some(byMean) // kubernetes/kubernetes#89922
    ? [', and scaling down by its HorizontalPodAutoscaler looks at no zone', EVENED_OUT]
    : ['', ''];
  const isOnOne = apartByNode && !held && facts.hosts.size === 1; // siderolabs/talos#11877, kubernetes/kubeadm#1657
  const others = listed(workload.spread.map(({ topologyKey }) => topologyKey));
  // kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints "Cluster-level default constraints"
  const bare = `${who} has no topologySpreadConstraint on ${LABEL_ZONE}: ${others ? `as it has one on ${others}, the scheduler adds none by default` : 'what the scheduler does by default is a preference'}${apartInVain ? ', and its podAntiAffinity selects none of its own Pods' : apartByNode ? `, and its podAntiAffinity ${isOnOne ? 'by Node was not met when they were placed' : 'counts Nodes, not zones'}` : ''}.`;
  const isBare = constraint === undefined && (!zoneAntiAffinity || apartInVain); // Azure/AKS#3036
  const scaling = autoscalerRemedy(facts, workload, zones);
  const grown = scaling === '' ? undefined : `${scaling}${SPREAD}.`;
  if (isBare && workload.podLabels['rollout-group']) return say(bare, EACH_REMEDY);
  if (isBare && isOnOne && !apartInVain) return say(bare, `${MOVE_ONE}${constrained}`);
  if (isBare) return say(bare, held ? `${held}${SOFT_FOR_NEW}` : hasConstraints(facts.version) ? grown : APART_REMEDY);
  const older = constraint === undefined || byRevision ? '' : ', those of an older roll-out too';
  const revises = byRevision || !revisesPods(workload) || isPlacedByGardener(workload.marks) ? '' : BY_REVISION;
  const soft = `is a preference only${whenUnsatisfiable === undefined ? '' : ' (ScheduleAnyway)'}${shrunk}. It counts when Pods are placed${revises && older}, and moves none later.${hasFew(facts) ? ` ${few}` : ''}`;
  const isSeen = facts.index.bypasses.images.some((image) => image.includes('/descheduler'));
  const harder = held ?? karpenterRemedy(facts, workload, zones) ?? `${scaling}${HARDER_REMEDY}${revises}`;
  if (whenUnsatisfiable === 'ScheduleAnyway')
    return say(`The topologySpreadConstraint of ${who} ${soft}`, `${harder}${isSeen || shrunk ? OF_DESCHEDULER : ''}`);
  const apart = `The podAntiAffinity of ${who} on ${LABEL_ZONE} ${soft}`;
  if (constraint === undefined && prefersApart(workload)) return say(apart, `${held ?? constrained}${evened}`);
  const wide = maxSkew > 1 ? `, and lets a zone have ${maxSkew} more than the emptiest` : '';
  const scaled = shrunk && 'Scaling down by its HorizontalPodAutoscaler looks at no zone. '; // kubernetes/kubernetes#124149
  const anew = `${scaled}${maxSkew > 1 ? 'Set `maxSkew: 1`. ' : ''}Place the Pods anew: restart the workload, or delete a Pod of the fullest zone.${revises}${EVENED_OUT}`;
  const undone = `counts when Pods are placed${older}${wide}; taking Pods away, or a Node, undoes it.`;
  const isMade = inOneZone(facts) || karpenterRemedy(facts, workload, zones) !== undefined;
  const isVain = constraint && minDomains < 2 && isMade && youngText(facts, zones) !== '';
  return say(`${spreadBy(workload, facts)} ${undone}`, `${isVain ? `${SPREAD_IN_ONE} ` : ''}${held ?? anew}`);
};

const LEADER_REMEDY =
  'More replicas give the Service no endpoint as long as one Pod has that label (a leader, or one member): let clients that may read elsewhere use a Service without that label in its selector, or one of the other Pods';

const REVISION = 'rollouts-pod-template-hash';
/** argoproj/argo-rollouts#1760 */
const OF_ROLLOUT =
  'Argo Rollouts holds the Service to one revision while another has Pods too. `trafficRouting` in `spec.strategy.canary` of the Rollout has the stable one keep all its Pods; or have one Service select all Pods, without `stableService` and `canaryService` there.';
/** What operators make one Pod for, or one with each label: longhorn/longhorn#7872; rook/rook#8935, #11631. */
const OF_ONE: Readonly<Record<string, RegExp>> = {
  'Clients in other zones cross, whatever the Service asks for: one Pod has the volume. Hold it in the zone of its clients: by `shareManagerNodeSelector` among the parameters of its StorageClass, or by `allowedTopologies` there (Longhorn 1.5.5, 1.6.2, 1.7 and newer).':
    /^ShareManager /,
  'Clients take the map of the cluster here, and read and write at OSDs, by addresses of their Pods: `spec.csi.readAffinity.enabled: true` of the CephCluster (Rook 1.11 and newer) has block volumes read near, where `crushLocationLabels` there has the zone.':
    /^CephCluster \S+-mon-/,
};

/** The label by which a Service takes some of several Pods, where no template gives it to all; empty: it does not. */
export const chosenBy = ({ service, pods, workloads: [own, ...more], index, ref }: Facts): string => {
  const selector = Object.entries(service.spec?.selector ?? {});
  const isOther = ({ podLabels: { [REVISION]: other }, replicas, marks }: Workload): boolean =>
    other !== service.spec?.selector?.[REVISION] && replicas > 0 && marks?.ownerReferences?.[0]?.name === own?.name;
  if (service.spec?.selector?.[REVISION] && index.workloads.get(ref.namespace)?.some(isOther)) return REVISION;
  const member = selector.find(([key]) => /^(?:statefulset\S+\/pod-name|longhorn\.io\/share-manager)$/.test(key));
  if (member !== undefined) return member[0];
  /** By which key others differ that have some of these labels. */
  const differing = (others: readonly StringMap[]): string =>
    others
      .map((labels) => selector.flatMap(([key, value]) => (labels[key] === value ? [] : [key])))
      .find(({ length }) => length > 0 && length < selector.length)
      ?.at(-1) ?? '';
  if (own === undefined && pods.length > 0)
    return differing((index.bypasses.pods.get(ref.namespace) ?? []).map(({ labels }) => labels));
  // Members that an operator makes as a workload each, alike but for their names.
  const ownerOf = ({ marks }: Workload): string | undefined => marks?.ownerReferences?.[0]?.name;
  if (own === undefined || ownerOf(own) === undefined || more.length > 0 || own.replicas > 1) return '';
  const members = (index.workloads.get(ref.namespace) ?? []).filter(
    (each) => ownerOf(each) === ownerOf(own) && each.images.join() === own.images.join(),
  );
  return differing(members.map(({ podLabels }) => podLabels));
};

/** What would give the zones Pods; undefined: what the code says. */
const spreadRemedy = (facts: Facts, found: readonly ReturnType<typeof placing>[]): string | undefined => {
  const first = found.find(({ isFirst }) => isFirst);
  const { remedy, causes } = waitingFor(facts);
  if (first !== undefined) return remedy && first.isVague ? remedy : [remedy ?? '', first.remedy].join(' ').trim();
  // Where it may not run no label makes it run.
  if (found[0]?.isHeld && remedy === undefined) return isOfGardener(facts) ? OF_SHOOT : PINNED_REMEDY;
  if (chosenBy(facts) === REVISION) return `${OF_ROLLOUT} ${found[0]?.remedy ?? `${SPREAD}.`}`;
  if (chosenBy(facts) !== '')
    return `${remedy ?? ''} What writes that label (an operator, an election) decides which Pods have it. Run so many that every zone keeps one with it, and spread them over zones: both are set where the operator, or the chart, takes replicas and constraints. ${remedy ? '' : (found[0]?.remedy ?? '')}`.trim();
  const isHeld = facts.workloads.some(({ volumes }) => volumes === true) && remedy === undefined;
  // What waits would not come to lie elsewhere by a restart.
  const kept = !found[0] && inOneZone(facts) && heldText(facts) ? `${VOLUMES_REMEDY}${SOFT_FOR_NEW}` : undefined;
  const [way] = facts.makers.flatMap(({ marks }) => (marks && ownerNote(marks, TEMPLATE, facts.version)?.way) || []);
  return causes[0] && !isHeld
    ? causes[0].remedy
    : (way ?? found[0]?.remedy ?? kept ?? (isOfGardener(facts) ? OF_SHOOT : hasFew(facts) ? undefined : `${SPREAD}.`));
};

const unseenMaker = ({ pods, owner: by }: Facts): string => {
  const makers = listed(pods.flatMap(({ madeBy }) => madeBy ?? []));
  const field = operatorField(by?.apiVersion.replace(/\/.*/, '') ?? '', 'template');
  const place = makers.startsWith('StrimziPodSet')
    ? '`rack` only prefers to spread them, constraints belong in `spec.template.pod` of the KafkaNodePool (or KafkaConnect), or `spec.kafka.template.pod` of the Kafka'
    : `it has to be changed there${field === undefined ? '' : `, under ${field}`}`;
  return makers === ''
    ? ' What makes its Pods is not among these objects: it has to be changed there.'
    : ` ${makers} makes its Pods, and is not read here: ${place}.`;
};

const familySpread = (facts: Facts, { endpoints, drained: weightless, label }: FamilyFacts): Cause[] => {
  const { clientZones, name, workloads, makers, owner: by } = facts;
  const [only] = endpoints;
  if (only === undefined || clientZones.length < 2) return [];
  const counts = countBy(endpoints, ({ zone }) => zone);
  // By endpoints of its own: not by what hints lend it, and also where they are not followed, or the router is not known.
  const lacking = clientZones.filter((zone) => !counts.has(zone));
  // A slice that is older than the label of its Node has no zone yet.
  const unzoned = new Set(endpoints.flatMap(({ zone, nodeName }) => (zone === '' ? nodeName : [])));
  const late = new Set([...unzoned].map((node) => facts.index.zoneOf.get(node)));
  const empty = lacking.filter((zone) => !late.has(zone) && !facts.noZones.includes(zone));
  const drained = weightless.filter(({ zone }) => empty.includes(zone));
  if (drained.length > 0) {
    const evidence = `${drainedText(drained)}: no new connection of clients in ${listed(empty)} stays there.`;
    return [cause('effective', 'ZoneNotHinted', evidence, UNDRAIN)];
  }
  const role = chosenBy(facts);
  const who = by === undefined ? '' : `, which the operator of ${by.kind} ${by.name} decides`;
  const them = endpoints.length === 1 ? 'it' : 'them';
  const chosen = role === '' ? '' : ` Its selector picks ${them} among others by the label ${role}${who}.`;
  const stage = empty.length > 0 ? 'effective' : 'prerequisite';
  if (endpoints.length === 1) {
    const beside = servicesBeside(facts.snapshot, facts.service, role);
    const others = beside.length === 0 ? '' : ` (${listed(beside)})`;
    const evidence = `Service ${name} has one ready${label} endpoint (${only.address} in ${only.zone === '' ? 'no zone' : only.zone}); clients are in ${listed(clientZones)}.`;
    const isShared = workloads.some(({ kind, volumes }) => kind === 'Deployment' && volumes === true);
    const store = isOfGardener(facts) ? TOGETHER_REMEDY : STORE_REMEDY;
    const held = isStore(workloads) ? store : isShared ? SHARED_REMEDY : undefined;
    const [{ text, causes }, idle] = [waitingFor(facts), idlePods(facts, empty)];
    const [alone] = Object.entries(OF_ONE).find(([, kind]) => kind.test(`${by?.kind} ${name}`)) ?? [];
    const remedy = role === '' ? (causes[0]?.remedy ?? idle?.remedy ?? held) : (alone ?? `${LEADER_REMEDY}${others}.`);
    const isKept = role !== '' || isStore(workloads) || idle?.isStandby === true;
    const one = cause(stage, 'SingleEndpoint', `${evidence}${chosen}${text}${idle?.text ?? ''}`, remedy);
    return [{ ...one, ...(isKept && { futile: true as const }) }];
  }
  // Every zone has some, and more apart than its constraint allows (aws/karpenter-provider-aws#1528).
  const skew = Math.max(...counts.values()) - Math.min(...counts.values());
  const isPlain = role === '' && facts.wish.mode === 'none' && !counts.has('');
  const isBroken = (own: Workload) => isPlain && skew > (zoneConstraint(own)?.maxSkew ?? skew);
  if (empty.length === 0 && (makers.length > 1 || !makers.some(isBroken))) return [];
  const found = makers.map((workload) => placing(facts, workload, empty));
  const why = `${found.map((each) => ` ${each.why}`).join('') || unseenMaker(facts)}${youngText(facts, empty)}`;
  const rolling = makers.map(rollingText).join('');
  const isTogether = counts.size === 1 && only.zone !== '';
  const isOnOne = only.nodeName !== '' && endpoints.every(({ nodeName }) => nodeName === only.nodeName);
  const host = isOnOne ? ` on ${only.nodeName}` : '';
  const all = `All ${endpoints.length} ready${label} endpoints of Service ${name} are${host} in ${only.zone}, none in ${listed(empty)}.`;
  const lacks = `No ready${label} endpoint of Service ${name} is in ${listed(empty)}; endpoints by zone: ${byZone(counts)}.`;
  const uneven = `Ready${label} endpoints of Service ${name} by zone: ${byZone(counts)}.`;
  const none = empty.length === 0 ? uneven : isTogether ? all : lacks;
  const { text = '', remedy = '', everywhere } = idlePods(facts, empty) ?? {};
  // Pods are where they should be.
  const old = facts.routes.some((own) => own.reason === 'SameZoneHints' && own.used.length === 0) ? OF_UNREADY : '';
  if (everywhere === true) return [cause('effective', 'ZoneNotHinted', `${none}${text}${rolling}`, `${old}${remedy}`)];
  const evidence = `${none}${why}${rolling}${text}${isTogether ? heldText(facts) : ''}${waitingFor(facts).text}${chosen}`;
  return [cause(stage, 'PodsNotSpread', evidence, spreadRemedy(facts, found))];
};

/** Ports that only some of the Pods have, where a zone with clients has none of them. */
const portCauses = (facts: Facts, { family, endpoints, label }: FamilyFacts): Cause[] => {
  const ports = [...new Set(facts.idealRoutes.map(({ port }) => port))].flatMap((port) => {
    const own = endpointsOfPort(facts.slices, { family, port });
    const empty = facts.clientZones.filter((zone) => !own.some((endpoint) => endpoint.zone === zone));
    if (own.length === 0 || own.length === endpoints.length || empty.length === 0) return [];
    return [`port ${port}: ${own.length} of ${endpoints.length} ready${label} endpoints, none in ${listed(empty)}`];
  });
  if (ports.length === 0) return [];
  return [cause('effective', 'PortOfSomePods', `Service ${facts.name} has, for its ${ports.join('; for its ')}.`)];
};

/** Client zones for which there would be no endpoint even if every hint were as it should be. */
export const spreadCauses = (facts: Facts): Cause[] =>
  facts.families.flatMap((family) => [...familySpread(facts, family), ...portCauses(facts, family)]);

/** More than one, and clients elsewhere too. */
export const inOneZone = ({ endpoints: [first, ...others], clientZones }: Facts): boolean =>
  others.length > 0 && clientZones.length > 1 && first?.zone !== '' && others.every(({ zone }) => zone === first?.zone);
