// Why a Service has no endpoint, or zones have none that is ready: Pods that wait for a Node, and what keeps others out of it.
import { type Node, zoneOfNode } from '../../apis/core.ts';
import { LABEL_HOSTNAME, LABEL_ZONE } from '../../apis/names.ts';
import { workloadTitle } from '../../apis/values.ts';
import { matchesSelector } from '../../routing/types.ts';
import { atLeast } from '../../routing/version.ts';
import { barrier, hasSelector } from '../models/lookup.ts';
import { itemsOf } from '../snapshot.ts';
import { isControllerSlice } from '../../upstream/index.ts';
import { type Facts, type FamilyFacts, UNDRAIN, drainedText, isAnsweredOnNodes } from './facts.ts';
import { lastEvent } from './given.ts';
import { type Cause, OF_ALL, cause, counted, listed, remedyOf } from './reasons.ts';
import { allows, hardSpread, zoneConstraint } from './scheduler.ts';

/** What hard constraints count although every Node there keeps the Pods away. */
const countedInVain = ({ snapshot, makers }: Facts) =>
  makers.flatMap((workload) => {
    const open = itemsOf(snapshot.nodes).filter((node) => allows(node, workload));
    const hard = workload.spread.filter((each) => each.whenUnsatisfiable === 'DoNotSchedule' && !each.honorsTaints);
    return hard.flatMap(({ topologyKey }) =>
      [...Map.groupBy(open, ({ metadata }) => metadata?.labels?.[topologyKey] ?? '')]
        .filter(([domain, own]) => domain !== '' && own.every((node) => barrier(node, workload) !== undefined))
        .map(([domain, own]) => {
          const isOff = own.every(({ spec }) => spec?.unschedulable === true);
          return { isOff, text: `${/^\d+$/.test(domain) ? `zone "${domain}"` : domain}${isOff ? ' (cordoned)' : ''}` };
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

const TO_SCALE = 'Scale it up, or what scales it to zero, where clients are to have an endpoint here.';
const BY_KARPENTER = // aws/karpenter-provider-aws#845
  ' Karpenter makes Nodes only with labels that a NodePool (before 0.32 a Provisioner) has, in its template or requirements.';
const OF_KARPENTER = /^(?:topology\.kubernetes\.io\/zone|kubernetes\.io\/hostname|karpenter\.)/; // karpenter.sh "Topology Spread"
const BY_GROUPS = // kubernetes/autoscaler#1681
  ' cluster-autoscaler takes Nodes of a group for alike: one over several zones gets none for a Pod that needs a certain zone. Have a group for each zone (`--balance-similar-node-groups`).';

/** Pods that wait for a Node or to be asked for, for which, and what would end that where it is more than to look; an empty text: none does. */
export const waitingFor = (facts: Facts) => {
  // A label that the Service selects by may come once the Pod runs (zalando/postgres-operator#764).
  const isOwn = ({ namespace, labels }: Facts['pods'][number]): boolean =>
    namespace === facts.ref.namespace &&
    facts.makers.some((own) => matchesSelector({ matchLabels: own.podLabels }, labels));
  const late = facts.workloads[0] || !facts.makers[0] ? [] : (facts.index.podsOn.get('') ?? []).filter(isOwn);
  const pending = [...new Set([...facts.pods.filter(({ nodeName }) => nodeName === ''), ...late])];
  const isIdle = facts.pods.length === 0 && facts.workloads.every(({ replicas }) => replicas === 0);
  const idle = isIdle ? facts.workloads.map((own) => ` ${workloadTitle(own)} asks for 0 replicas.`) : [];
  if (pending.length === 0) return { text: idle.join(''), remedy: idle[0] && TO_SCALE, causes: [] };
  const wanted = Math.max(...facts.makers.map((workload) => zoneConstraint(workload)?.minDomains ?? 0));
  const labels = new Set([LABEL_HOSTNAME, ...facts.nodes.flatMap((node) => Object.keys(node.metadata?.labels ?? {}))]);
  const missing = facts.makers.flatMap(hardSpread).filter(({ topologyKey }) => !labels.has(topologyKey));
  const zones = facts.clientZones.length;
  const open = facts.nodes.filter((node) => facts.makers.some((own) => allows(node, own)));
  const domains = new Set(open.map(zoneOfNode)).size;
  const isWide = wanted > Math.max(domains, 1);
  const vain = countedInVain(facts);
  const apart = facts.makers.find((own) => own.apart?.includes(LABEL_ZONE) === true && own.replicas > zones);
  const said = pending.flatMap(({ unplaced = [] }) => unplaced);
  const rolling = facts.makers.find((own) => own.kind === 'Deployment' && own.apart && own.updatedReplicas);
  const held = heldBy(facts, pending);
  const byGroups = facts.index.bypasses.images.some((image) => image.includes('/cluster-autoscaler')) ? BY_GROUPS : '';
  const byKarpenter = [...labels].some((key) => key.startsWith('karpenter.sh/')) ? BY_KARPENTER : '';
  const strange = facts.makers.flatMap((own) => own.apart ?? []).find((key) => !OF_KARPENTER.test(key));
  const terms = facts.makers.flatMap(({ nodeTerms = [] }) => nodeTerms);
  const isUnlike = said.length > 0 && terms.length > 0 && open.length === 0;
  const away = [...new Set(facts.makers.flatMap(({ allowedZones = [] }) => allowedZones))];
  const isAway = away.length > 0 && !facts.nodes.some((node) => away.includes(zoneOfNode(node)));
  const asked = listed(Object.entries(terms[0]?.matchLabels ?? {}).map((pair) => pair.join('=')));
  const unlike = `has what its nodeSelector or node affinity asks for${asked && ` (${asked})`}`;
  const isCordoned = vain.some(({ isOff }) => isOff);
  const honor = `${isCordoned ? 'Uncordon it, or set' : 'Set'} \`nodeTaintsPolicy: Honor\` (Kubernetes 1.26 and newer) or \`whenUnsatisfiable: ScheduleAnyway\` in that constraint, give`;
  const way = atLeast(facts.version, 26) ? honor : isCordoned ? 'Uncordon it, give' : 'Give';
  const found: readonly (readonly [sign: string, why: string | false | undefined, remedy?: string])[] = [
    [
      'spread', // cozystack/cozystack#3358
      missing.length > 0 &&
        `its DoNotSchedule constraint counts by ${listed(missing.map(({ topologyKey }) => topologyKey))}, a label that no Node has`,
      'Label the Nodes, or set `whenUnsatisfiable: ScheduleAnyway` in that constraint.',
    ],
    [
      'anti-affinity', // aws/karpenter-provider-aws#6440
      strange && byKarpenter && `its podAntiAffinity counts by ${strange}, for which Karpenter makes no Node`,
      'Name a `topologyKey` that Karpenter knows: `topology.kubernetes.io/zone`, `kubernetes.io/hostname` or `karpenter.sh/capacity-type`.',
    ],
    [
      'anti-affinity', // kubernetes/kubernetes#116891
      rolling && 'its podAntiAffinity counts Pods of the older roll-out too',
      'Have a roll-out take a Pod away before the next comes: `maxSurge: 0` and `maxUnavailable: 1` in the strategy of the Deployment. Or make the rule preferred.',
    ],
    [
      'spread', // gardener/gardener#7826
      isWide &&
        `minDomains of its topologySpreadConstraint asks for ${wanted} zones, and ${domains} have Nodes${domains < zones ? ' that its nodeSelector or node affinity allows' : ''}`,
      `Have a Node that takes the Pod in each of ${wanted} zones, or ask for fewer.${byGroups}`,
    ],
    [
      'anti-affinity',
      apart && `its podAntiAffinity lets one Pod in each zone, and it has ${counted(apart.replicas, 'replica')}`,
      remedyOf('OnePerZone'),
    ],
    [
      'spread', // kubernetes/kubernetes#106396
      vain.length > 0 &&
        `its topologySpreadConstraint counts ${listed(vain.map(({ text }) => text))}, where every Node keeps it away`,
      `${way} the Pods a toleration, or a node affinity that leaves it out.${byGroups}`,
    ],
    ...facts.makers.map((workload) => {
      const hard = hardSpread(workload).map(({ topologyKey }) => topologyKey); // kubernetes/kubernetes#109364
      const text = `its DoNotSchedule constraints on ${listed(hard)} may together leave no Node: make one of them ScheduleAnyway`;
      return ['spread', missing.length + vain.length === 0 && !isWide && hard.length > 1 && text] as const;
    }),
    [
      'volume', // kubernetes/kubernetes#49906, Azure/AKS#1333, #2187, #3146; Orange-OpenSource/nifikop#73
      held?.why ??
        ((said.some((own) => own.includes('volume node affinity')) || facts.makers.some(({ volumes }) => volumes)) &&
          'its volume may hold it to a zone without room, to another zone than its next volume, or where a constraint lets none in'),
      held?.remedy ??
        'See where its volumes lie (node affinity in `kubectl get pv -o yaml`). Where that is one zone, have a Node there that takes the Pod (cluster-autoscaler needs a node pool for each zone), or loosen the constraint that keeps it away. Where they lie in different zones, or without need of the data, delete the claims with the Pod (after a backup of what is needed): a StorageClass with `volumeBindingMode: WaitForFirstConsumer` makes new volumes where the Pod is placed.',
    ],
    [
      'selector', // datastax/cass-operator#64
      isUnlike && `no ready Node ${isAway ? `is in ${listed(away)}, where it may run` : unlike}`,
      `${isAway ? 'Name zones that have Nodes, or have Nodes there' : 'Give the labels to Nodes of a pool in each zone, or take them out of the Pods'}.${byKarpenter}`,
    ],
  ];
  // Where the scheduler says what it has against Nodes, nothing else holds the Pod.
  const reasons = found.filter(([sign, why]) => why && (said.length === 0 || said.some((own) => own.includes(sign))));
  const whys = [...reasons.map(([, why]) => why), ...said.slice(0, 1).map((own) => `the scheduler says: ${own}`)];
  const who = `${pending.length === 1 ? 'Pod' : 'Pods'} ${listed(pending.map(({ name }) => name))} wait${pending.length === 1 ? 's' : ''}`;
  const text = ` ${who} for a Node${whys.length === 0 ? '' : ': '}${whys.join('; ')}.`;
  const [remedy] = reasons.flatMap(([, , own = []]) => own);
  return { text, remedy, causes: [cause('prerequisite', 'PodsWaiting', text.trimStart(), remedy)] };
};

/** kubernetes/kubernetes#82494 */
const UNREADY =
  'See why Pods there are not ready: probes, readiness gates. Some programs keep Pods that stand by for a leader not ready: nothing is to be mended there. Where all its containers are, kubelet has not said so since its Node was away: delete the Pod.';
const STANDBY =
  'Nothing to mend where these Pods stand by: one is active, by design the others are not ready, and no setting of the Service keeps clients near. So that a zone may fail, spread all of them: a topologySpreadConstraint on `topology.kubernetes.io/zone`.';
/** One of their Pods is active, by an argument or image: fluxcd/flux2#4423; ibm-messaging/mq-helm#42, #79; zabbix/zabbix-docker#931. */
const TURNS = /leader-elect|\/(?:mq|ibm-mq[\w-]*|zabbix-server-\w+)[:@]/;
/** kubernetes.io/docs/concepts/cluster-administration/node-shutdown; OT-CONTAINER-KIT/redis-operator#1544; openshift/hypershift#9279 */
const LOST =
  'No Node of these Pods is ready. Taints of the Node evict them after 300 seconds, and a Deployment then makes others: have that sooner by tolerations of `node.kubernetes.io/not-ready` and `node.kubernetes.io/unreachable` with a shorter `tolerationSeconds`, where its Pods are made. Where a Node stays away, what else makes Pods (a StatefulSet, an operator) waits for their end: once it is down for sure, delete the Pod with `--force`, or give the Node the taint `node.kubernetes.io/out-of-service=nodeshutdown:NoExecute` (Kubernetes 1.26 and newer).';
const AS_SAID = 'Mend what that says (`kubectl describe pod` shows all).';
/** docs.aws.amazon.com/eks/latest/userguide/zone-shift.html */
const UNLISTED =
  'On EKS a zonal shift takes the endpoints of a zone out of all slices and cordons its Nodes, until it expires or is cancelled (`aws arc-zonal-shift list-zonal-shifts`). An NLB or ALB goes on sending there until it is shifted as well, which needs its attribute `zonal_shift.config.enabled=true`. Else see whether the EndpointSlice controller keeps up (kube-controller-manager).';

/** Pods in the zones, or on Nodes, that would serve them, were they ready or in a slice; undefined: none. `everywhere`: each of the zones has one. */
export const idlePods = (facts: Facts, zones: readonly string[]) => {
  const { pods, slices, endpoints, index } = facts;
  const isAt = (zone: string, node: string): boolean => zone === node || zone === index.zoneOf.get(node);
  const targets = new Set(slices.flatMap(({ endpoints: all }) => (all ?? []).map(({ targetRef }) => targetRef?.name)));
  const isServed = targets.has(undefined) || endpoints.some(({ zone }) => zones.includes(zone));
  const there = pods.filter(({ nodeName }) => zones.some((zone) => isAt(zone, nodeName)));
  const unready = there.filter(({ ready }) => !ready);
  const idle = unready.length > 0 ? unready : there.filter(({ name }) => !isServed && !targets.has(name));
  if (idle.length === 0) return undefined;
  const everywhere = zones.every((zone) => idle.some(({ nodeName }) => isAt(zone, nodeName)));
  const warned = unready.map(({ name }) => `Pod/${name}`);
  // Not from before it had a Node, nor that this was away, nor what lets it start: awsdocs/amazon-eks-user-guide#1086.
  const last = lastEvent(facts, /^(?!FailedScheduling|NodeNotReady|DNSConfig|MissingClusterDNS)/, warned);
  const said = last || unready.flatMap(({ waits }) => (waits ? ` A container waits: "${waits}".` : []))[0] || '';
  const is = unready.length > 0 ? `not ready.${said}` : 'ready, and in no slice of the Service.';
  const isLost = index.cpuOf.size > 0 && unready.every(({ nodeName }) => !index.cpuOf.has(nodeName));
  const isOne = endpoints.length === 1 && facts.makers.some((own) => TURNS.test([...own.images, own.steering].join()));
  const isStandby = isOne && unready.length > 0 && !isLost && !unready.some(({ waits }) => waits);
  const usual = isStandby ? STANDBY : said === '' ? UNREADY : AS_SAID;
  const isPartly = endpoints.length === 0 && unready.some(({ waits }) => waits) && unready.some(({ waits }) => !waits);
  const remedy = unready.length === 0 ? UNLISTED : isLost ? LOST : `${usual}${isPartly ? ` ${OF_ALL}` : ''}`;
  return { text: ` Pod ${listed(idle.map(({ name }) => name))} there is ${is}`, remedy, everywhere, isStandby };
};

/** What Pods lack that have all other labels of the selector (OT-CONTAINER-KIT/redis-operator#1153), or what those have that are meant (restatedev/restate#3905). */
export const lackText = ({ service: { metadata, spec }, ref, index }: Facts): string => {
  const textsOf = (labels = {}) => Object.entries(labels).map((pair) => pair.join('='));
  const lackOf = (labels = {}) => textsOf(spec?.selector).filter((own) => !textsOf(labels).includes(own));
  const lacks = (index.bypasses.pods.get(ref.namespace) ?? []).map(({ labels }) => lackOf(labels));
  const near = lackOf().length > 1 ? lacks.filter(({ length }) => length === 1).flat() : [];
  if (lacks.some(({ length }) => length === 0)) return '';
  if (near.length > 0)
    return ` Pods there have all labels of its selector but ${listed(near)}: what sets it (an operator, an election, a template) has not, or the selector is wrong.`;
  const of = `app.kubernetes.io/instance=${metadata?.labels?.['app.kubernetes.io/instance'] ?? ''}`;
  const all = index.workloads.get(ref.namespace)?.filter(({ podLabels }) => lackOf(podLabels).length > 0);
  const by = all?.find(({ name, podLabels }) => name === ref.name || textsOf(podLabels).includes(of));
  return by ? ` No Pod has ${listed(lackOf())}; ${workloadTitle(by)} gives ${listed(textsOf(by.podLabels))}.` : '';
};

const AUTO_DNS_REMEDY = 'Nothing: in EKS Auto Mode Pods ask the DNS server of their own Node, not the CoreDNS add-on.';
const PORT_REMEDY = 'Give the port of the container that name, or set `targetPort` to its number.';
const UNWRITTEN_REMEDY =
  'It has no selector: see what is to write its endpoints (kubectl, an operator, a mesh). Where they are of the other family, make the Service anew with that in `spec.ipFamilies`: the first cannot be changed.';

/** Every cluster has some: those of the API server. */
export const isUnlisted = ({ snapshot }: Pick<Facts, 'snapshot'>): boolean => itemsOf(snapshot.slices).length === 0;
const NONE_READ = 'No EndpointSlice, of any Service, is among these objects.';

/** Why a family has no endpoint, or none that is ready. */
export const emptyFamily = (facts: Facts, { family, label, endpoints, drained }: FamilyFacts): Cause[] => {
  const [{ kinds }, { slices, name, routes, service, bypasses }] = [facts.index.bypasses, facts];
  const own = slices.filter(({ addressType = 'IPv4' }) => addressType === family);
  const all = own.flatMap((slice) => slice.endpoints ?? []);
  const like = slices.length > 0 ? ` of ${family}, as its cluster IP is: its slices are of the other family` : ''; // zalando/postgres-operator#1562
  const none = own.length === 0 ? `no${label} EndpointSlice${like}` : `no endpoint in its${label} EndpointSlices`;
  const unwritten = hasSelector(service) ? undefined : UNWRITTEN_REMEDY;
  const joined = bypasses.find(({ client }) => client === (kinds.has('ZoneIngress') ? 'kuma' : 'cilium-clustermesh'));
  const others = joined && `Other clusters may have endpoints: ${joined.decides}. For that: ${joined.setting}.`;
  const { text, remedy: idle, causes } = waitingFor(facts);
  const remedy = others ?? (isAnsweredOnNodes(facts) ? AUTO_DNS_REMEDY : (causes[0]?.remedy ?? idle ?? unwritten));
  if (isUnlisted(facts)) return [{ ...cause('given', 'NoEndpoints', NONE_READ, remedyOf('NoNodes')), fix: [] }];
  if (!all[0]) return [cause('given', 'NoEndpoints', `Service ${name} has ${none}.${text || lackText(facts)}`, remedy)];
  const isPortless = own.every((slice) => isControllerSlice(slice) && !slice.ports?.length) && service.spec?.ports?.[0]; // kubernetes/kubernetes#109627
  const portless = `No container of the Pods of Service ${name} has a port of the name that \`targetPort\` gives: its${label} EndpointSlices list no port, and every connection fails.`;
  if (endpoints[0]) return isPortless ? [{ ...cause('given', 'NoEndpoints', portless, PORT_REMEDY), fix: [] }] : [];
  const weightless = `${drainedText(drained)}, and no other endpoint of Service ${name} is ready.`;
  if (drained.length > 0) return [cause('given', 'NoReadyEndpoints', weightless, UNDRAIN)];
  const unready = `None of the ${counted(all.length, `${label} endpoint`.trimStart())} of Service ${name} is ready`;
  const last = routes.find((route) => route.family === family && route.reason === 'TerminatingEndpoints');
  const hosts = facts.pods.flatMap(({ nodeName }) => nodeName || []);
  const { text: which = '', remedy: help } = idlePods(facts, hosts) ?? {};
  if (last === undefined) return [cause('given', 'NoReadyEndpoints', `${unready}.${which}`, help)];
  const used = `every Node uses ${counted(last.used.length, 'terminating endpoint')}, whatever the zone`;
  return [cause('given', 'TerminatingEndpoints', `${unready}; ${used}.`)];
};
