// By which Node traffic from outside enters a Service, by the kind of load balancer that is there.
import { type Node, type Service, zoneOfNode, zonesOfNodes } from '../../apis/core.ts';
import { countBy, defined, nameOf } from '../../apis/values.ts';
import { isControlPlane, isEnabled } from '../../upstream/index.ts';
import { NODES_OF_BALANCER, addressesOf, withLabels } from '../bypasses/kinds.ts';
import { nodePortEntries } from '../bypasses/find.ts';
import { selects } from '../bypasses/watchers.ts';
import { type OwnerNote, ownerNote } from '../owner.ts';
import { flagValue, selectsNode } from '../routers/kube-proxy.ts';
import { itemsOf } from '../snapshot.ts';
import { ANYWHERE, type Kind, NODE_PORT, OTHER_ENTRY, PUBLISHED, STAYS, TAILNET } from './balancer.ts';
import { MONITOR, announcersOf, kindOf } from './balancers.ts';
import { type Facts, KUBE_ROUTER_LOCAL, PLACEHOLDER } from './facts.ts';
import { faultOf, sharedFault, shutOut } from './local.ts';
import { type Cause, cause, counted, listed, saying } from './reasons.ts';
import { inOnePlace } from './given.ts';
import { PINNED_REMEDY, hasFew, isPinned, placing } from './spread.ts';

/** Nodes that no load balancer is to use (kubernetes.io/docs/reference/labels-annotations-taints). */
const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';

/** By it data planes of OpenShift pass on what the policy has others drop (openshift/sdn#320). */
const FALLBACK = 'traffic-policy.network.alpha.openshift.io/local-with-fallback';
const PASSED = { bare: 'pass it on' };
const CROSS_ZONE = 'service.beta.kubernetes.io/aws-load-balancer-cross-zone-load-balancing-enabled';
const UNREAD = ` EKS Auto Mode does not read its annotation \`${CROSS_ZONE}\`.`;
/** Where it stands on the Service, and cross-zone load balancing is off. */
const unreadOf = ({ service }: Facts, { zonal }: Partial<Kind>): string =>
  zonal && service.metadata?.annotations?.[CROSS_ZONE] === 'true' ? UNREAD : '';

/** Nodes that its load balancer sends to, where an annotation selects them by `a=b,c=d`: of OCI, OpenStack, Hetzner (hcloud-cloud-controller-manager#633) and AWS. */
const nodesByAnnotation = ({ metadata }: Service) =>
  Object.entries(metadata?.annotations ?? {})
    .flatMap(([key, text]) => (NODES_OF_BALANCER.test(key) ? withLabels(text).map((own) => ({ key, text, own })) : []))
    .map(({ key, text, own }) => ({ kind: 'annotation', name: `${key}: ${text}`.slice(0, 99), nodes: [own] }));

const exposureOf = ({ metadata }: Service, { shown }: typeof PUBLISHED | typeof TAILNET = TAILNET) =>
  Object.entries(metadata?.annotations ?? {}).find(([key, text]) => shown.test(key) && text !== 'false')?.[0];

/** The field, or the annotation that is taken for it. */
const policyText = ({ takenBy, service: { spec, metadata } }: Facts): string =>
  takenBy && metadata?.annotations?.[KUBE_ROUTER_LOCAL] === 'true'
    ? `annotation ${KUBE_ROUTER_LOCAL}`
    : `externalTrafficPolicy ${spec?.externalTrafficPolicy ?? 'Cluster'}`;

/** Undefined where none enters, or goes to Pods at once: then it stands among the bypasses. */
export const entryOf = (facts: Facts) => {
  const { service, nodes, hosts, index, snapshot } = facts;
  const { type, externalIPs, externalTrafficPolicy: policy = 'Cluster' } = service.spec ?? {};
  const announcers = type === 'LoadBalancer' || externalIPs !== undefined ? announcersOf(facts) : [];
  const ports = type === 'NodePort' ? nodePortEntries(service, index.bypasses) : [];
  const isBgp = announcers.length > 0 && announcers.every(({ kind }) => kind === 'BGPAdvertisement');
  // Of each kind that has a say some selector has to match: MetalLB has to have a peer there.
  const peers = itemsOf(snapshot.routers).filter(({ kind }) => isBgp && kind === 'BGPPeer');
  const deciders = [announcers, ports, nodesByAnnotation(service), peers].filter((own) => own.length > 0);
  const wide = announcers.find(({ kind, nodes: at }) => kind === 'L2Advertisement' && at.length === 0); // metallb/metallb#1728
  const at = ({ blind, daemonSet, ...given }: Kind) => {
    const kind = { ...given, ...(service.metadata?.annotations?.[FALLBACK] !== undefined && PASSED) };
    // Where its Pods are not seen, their selectors say it.
    const runners = index.bypasses.daemonSets.filter(({ name }) => daemonSet?.test(name));
    const hostsOf = (set: (typeof runners)[number]): string[] => {
      const near = itemsOf(snapshot.pods).filter(({ namespace }) => namespace === set.namespace);
      const own = near.filter((pod) => pod.serviceAccount === set.serviceAccount && pod.nodeName !== '');
      const meant = nodes.filter((node) => own.length === 0 && selectsNode(set, node));
      return [...own.map(({ nodeName }) => nodeName), ...meant.map(nameOf)];
    };
    const running = new Set(runners.flatMap(hostsOf));
    // Clients look at no label.
    const heeds =
      (type === 'LoadBalancer' || ports.length > 0) &&
      (kind.announced === undefined || kind.leavesOut !== undefined) &&
      !index.bypasses.containers.some(({ args }) => flagValue(args, 'ignore-exclude-lb') === 'true');
    const marked = new Set(nodes.filter((node) => heeds && node.metadata?.labels?.[EXCLUDED] !== undefined));
    const open = nodes.filter((node) => !marked.has(node) && (runners.length === 0 || running.has(nameOf(node))));
    const takers = open.filter((node) => deciders.every((own) => own.some((each) => selectsNode(each, node))));
    const choosers = listed(deciders.flat().flatMap((own) => ('name' in own ? `${own.kind} ${own.name}` : [])));
    const isHost = (node: Node): boolean => hosts.has(nameOf(node));
    const isLocal = policy === 'Local';
    const probed = kind.unanswered && isGateway(facts) ? { why: kind.unanswered, remedy: kind.remedy } : undefined;
    const unmet = kind.unannounced ?? probed;
    const isClosed = unmet !== undefined || (takers.length === 0 && nodes.length > 0);
    // What is on a Node that was not seen may be on one of these.
    const isNarrow = isLocal || (kind.announced === 'one' && OLD_SPEAKER.test(index.bypasses.images.join()));
    const isStranded = isNarrow && hosts.size > 0 && !takers.some(isHost) && nodes.filter(isHost).length === hosts.size;
    const isBlind = isLocal && blind !== undefined && service.metadata?.annotations?.[MONITOR] !== 'true';
    const rest = kind.announced === undefined ? ': the others fail its health check, as intended' : '';
    let local = `, among Nodes with one of its Pods${rest}`;
    if (isBlind)
      local = takers.every(isHost) ? ', where it stays' : `; Nodes without one of its Pods ${kind.bare ?? 'drop it'}`;
    if (isStranded) local = '; no Node that may take it has one of its Pods, so it fails';
    if (isClosed) local = '; no Node may take it, so it fails';
    const own = unmet ?? (isLocal ? faultOf(facts, takers, !kind.announced && !blind, kind) : undefined);
    const failure: Kind['unannounced'] = (isLocal ? sharedFault(facts) : undefined) ?? own;
    if (failure) local = `; ${failure.why}`;
    const by = isLocal || isClosed ? policyText(facts) : 'before MetalLB 0.11, whatever the policy';
    const enters = isLocal || isClosed || isStranded ? `${kind.enters}${local} (${by})` : kind.enters;
    /** With the ready Nodes through which it may enter, the load balancers that use its node ports, and whether there are none, or under the policy Local all its endpoints are on others. */
    const isMarked = isClosed && marked.size === nodes.length;
    const remedy = kind.remedy.replace('{open}', wide ? `; ${wide.name} has none` : '');
    const found = { ...kind, policy, enters, takers, isMarked, failure, isStranded: isStranded || isClosed };
    return { ...found, chosenBy: choosers && ` (${choosers})`, remedy, doors: ports.length, ...(isBlind && { blind }) };
  };
  const around = new Set<string>(facts.bypasses.map(({ client }) => client));
  // Its node ports are there for the sake of an Ingress whose load balancer sends to Pods.
  if (type === 'NodePort' && ports.length === 0 && (around.has('aws-alb') || around.has('gke-neg'))) return undefined;
  if (type === 'NodePort') return at(ports[0] ?? (exposureOf(service, PUBLISHED) ? PUBLISHED : NODE_PORT));
  if (type === 'LoadBalancer') return around.has('aws-ip-targets') ? undefined : at(kindOf(facts, announcers));
  if (exposureOf(service) !== undefined) return at(TAILNET);
  if (announcers.length > 0) return at(kindOf(facts, announcers));
  return Array.isArray(externalIPs) && externalIPs.length > 0 ? at(OTHER_ENTRY) : undefined;
};

const LET_REMEDY = `Let Nodes with its Pods take it (without the label \`${EXCLUDED}\`, selected by what announces it, by labels of Kubernetes Nodes and not of servers in a cloud, and running that: nodeSelector and tolerations of its DaemonSet).`;
const STRANDED_REMEDY = `${LET_REMEDY} Or: ${ANYWHERE}`;
const OLD_SPEAKER = /metallb\S*speaker:v0\.(?:\d|10)\./; // metallb/metallb#302, #933, #976
const NARROW_REMEDY = `Update MetalLB: from 0.11 on, under externalTrafficPolicy Cluster, any speaker announces. Or: ${LET_REMEDY}`;
// siderolabs/talos#9960
const MARKED_REMEDY =
  'Take the label off Nodes that are to take it; that of Talos is written back, unless it leaves `machine.nodeLabels` of the machine configuration (`$patch: delete`).';
// metallb/metallb#926, aws/containers-roadmap#2024, kubernetes/ingress-nginx#8312
const OR_CLUSTER = ' Or set `externalTrafficPolicy: Cluster`: all Nodes pass it on then, and hide the client address.';
const LEFT_OUT = `As the policy intends, the load balancer leaves these Nodes out: that it shows them as unhealthy is no fault, and the label \`${EXCLUDED}\` on them takes them off it. For all zones: a Pod in each.`;

// kubernetes/kubernetes#85643, KEP-1669
const DROPPING_REMEDY =
  'Update kube-proxy to 1.26, which uses endpoints that terminate and still serve; before, have Pods serve (`preStop`) for longer than the health check takes to fail, and roll out with a Pod more (`maxUnavailable: 0`).';

/** Its endpoints all terminate, and kube-proxy there uses none that do. */
const isDropping = ({ slices, index }: Facts, node: Node): boolean => {
  const { router, routing } = index.routers.of(node);
  const own = slices.flatMap(({ endpoints }) => endpoints ?? []).filter(({ nodeName }) => nodeName === nameOf(node));
  const isLast = own.length > 0 && own.every(({ conditions }) => conditions?.terminating === true);
  return isLast && router === 'kube-proxy' && !isEnabled('ProxyTerminatingEndpoints', routing.version, routing.gates);
};

/** Under `externalTrafficPolicy: Local`: a Node with one Pod gets as much as one with several, or a zone where each has its own Node. */
const unevenEntry = ({ name, endpoints }: Facts, { announced, evenly, zonal }: Kind, note?: OwnerNote): Cause[] => {
  const isByZone = zonal !== undefined && countBy(endpoints, ({ nodeName }) => nodeName).size === endpoints.length;
  const counts = [...countBy(endpoints, (own) => (isByZone ? own.zone : own.nodeName))].sort(([, a], [, b]) => a - b);
  const [few, many] = [counts[0], counts.at(-1)];
  if (announced === 'one' || !few || !many || many[1] < 2 * few[1]) return [];
  const at = isByZone ? 'in' : 'on';
  const each = isByZone ? 'cross-zone load balancing off each zone' : 'externalTrafficPolicy Local each Node';
  const evidence = `With ${each} with Pods gets the same share: ${counted(few[1], 'endpoint')} of Service ${name} ${at} ${few[0]} as much as ${many[1]} ${at} ${many[0]}.`;
  const other = evenly === undefined ? '' : `, or have the load balancer ${evenly}`;
  const spread = `Spread its Pods over Nodes (a constraint or anti-affinity on \`kubernetes.io/hostname\`)${other}, or set \`externalTrafficPolicy: Cluster\`: any Pod then gets it, and sees no address of a client.`;
  const own = cause('prerequisite', 'LoadBalancerTraffic', evidence, isByZone ? zonal : spread);
  return [{ ...own, ...(isByZone && note && { fix: [note.line] }) }];
};

/** Why its Pods are in none of these zones, and what helps where they may not be. */
const lackOf = (facts: Facts, empty: readonly string[]) => {
  const pinned = facts.workloads.find((workload) => isPinned(workload, empty));
  const short = pinned ?? (empty.length > 0 && hasFew(facts) ? facts.workloads[0] : undefined);
  return { why: short ? ` ${placing(facts, short, empty).why}` : '', ...(pinned && { remedy: PINNED_REMEDY }) };
};

/** Of an NLB that sends to Pods: aws/eks-charts#865 */
const emptyZoneCauses = (facts: Facts): Cause[] => {
  const { name, service, emptyZones: empty } = facts;
  const kind = kindOf(facts, []);
  if (service.spec?.type !== 'LoadBalancer' || empty.length === 0 || !kind.zonal) return [];
  const { why, remedy = kind.reach } = lackOf(facts, empty);
  const evidence = `Service ${name} has no ready endpoint in ${listed(empty)}: its NLB sends to Pods in the zone of its address alone (cross-zone load balancing is off, as by default), and clients of its address there fail.${unreadOf(facts, kind)}${why}`;
  return [cause('effective', 'ZoneFailsHealthCheck', evidence, remedy)];
};

/** Where traffic from outside may enter no Node, and what of it finds no Pod: of an NLB in a zone, and under `externalTrafficPolicy: Local` (on workers: giantswarm/giantnetes-terraform#310). */
export const localEntryCauses = (facts: Facts): Cause[] => {
  const { name, endpoints } = facts;
  const entry = entryOf(facts);
  if (endpoints.length === 0 || (entry === undefined && endpoints[0]?.address === PLACEHOLDER)) return [];
  if (entry === undefined) return emptyZoneCauses(facts);
  const { policy, takers, isStranded, blind, announced, reach, leavesOut, isMarked, failure } = entry;
  if (policy !== 'Local' && !isStranded) return [];
  const dropping = takers.filter((node) => isDropping(facts, node)).map(nameOf);
  const asked = `Service ${name} has ${policyText(facts)}`;
  const fails = (evidence: string, remedy: string, fix?: readonly string[]): Cause[] => [
    { ...cause('effective', 'ZoneFailsHealthCheck', `${asked}${evidence}`, remedy), ...defined({ fix }) },
  ];
  if (failure) return fails(`; ${failure.why}.${failure.said ?? ''}`, failure.remedy, []);
  if (endpoints[0]?.address === PLACEHOLDER) return [];
  const hosts = [...facts.hosts];
  if (isMarked) {
    const evidence = `, and all Nodes have the label \`${EXCLUDED}\`, with which none may take its traffic from outside.`;
    const fix = [`kubectl label node ${hosts.join(' ')} ${EXCLUDED}-`];
    return fails(evidence, `${MARKED_REMEDY}${leavesOut ?? ''}`, fix);
  }
  if (isStranded) {
    const who = takers.length === 0 ? 'no Node' : `only ${listed(takers.map(nameOf))}`;
    const evidence = `, and ${who} may take its traffic from outside, by labels of Nodes and what announces it${entry.chosenBy}; its endpoints are on ${listed(hosts)}.`;
    const remedy = policy === 'Local' ? STRANDED_REMEDY : NARROW_REMEDY;
    return fails(evidence, takers.length === 0 ? LET_REMEDY : remedy, []);
  }
  if (dropping.length > 0) {
    const what = 'terminate: kube-proxy there drops what enters until the load balancer has taken the Node out.';
    return fails(`, and all its endpoints on ${listed(dropping)} ${what}`, DROPPING_REMEDY);
  }
  const empty = zonesOfNodes(takers).filter((zone) => !endpoints.some((own) => own.zone === zone));
  const bare = takers.filter((node) => !hosts.some((host) => host === '' || host === nameOf(node)));
  const isDropped = !announced && empty.length === 0 && facts.wish.mode === 'none' && !bare.every(isControlPlane);
  const isPicked = entry.picks === 'client' && (isDropped || takers.every((own) => zoneOfNode(own) === ''));
  const byNode = isPicked || (blind !== undefined && announced !== undefined);
  const where = byNode ? bare.map(nameOf) : empty;
  if (where.length === 0 || entry.bare === PASSED.bare || (announced === 'one' && !byNode)) return [];
  const does = (entry.bare ?? 'drop it').replace('it', 'what enters');
  const kept = announced === undefined ? 'passes the health check of the load balancer' : 'announces its address';
  const what = blind === undefined ? `no Node there ${kept}` : `Nodes there ${does}`;
  const { why, remedy: pinned } = lackOf(facts, empty);
  const remedy = pinned ?? blind ?? reach;
  const evidence = ` and no ready endpoint ${byNode ? 'on' : 'in'} ${listed(where)}: ${what}.${unreadOf(facts, entry)}${why}`;
  // What is as intended comes after what is not.
  const other = pinned || !(blind || announced === 'one') ? OR_CLUSTER : '';
  return [...(remedy ? [] : unevenEntry(facts, entry)), ...fails(evidence, `${remedy ?? LEFT_OUT}${other}`)];
};

/** Its Pods are those of a gateway: what enters is all that it is for, unless clients inside are seen, and nothing sends to its node ports. */
export const isGateway = ({ service, callers, index: { bypasses } }: Facts): boolean =>
  bypasses.watchers.receivers.some(({ runner, isProxy }) => isProxy && selects(service, runner)) &&
  (service.spec?.type !== 'NodePort' || callers.length === 0);

const KEPT = 'Nothing to do: it crosses no zone from that Node on. What asks for zones counts for clients inside.';
const ANY_ZONE = 'zone, until the Service asks for zones and the data plane follows';
const NARROW = 'Pods of that zone take all that enters: without what asks for zones all Pods of the Service share it. ';
const TO_TAKE = // kubernetes/cloud-provider-aws#569; #206 and aws_loadbalancer.go there, of an NLB
  'Change the Service (an annotation will do): its controller then takes zones that were added, of which until then it takes the Nodes alone. An NLB of the cloud provider (type `nlb`, without the AWS Load Balancer Controller) keeps the subnets that it was made with: make the Service anew.';
const BOTH = 'gets Pods of that Node or none: before kube-proxy 1.24 internalTrafficPolicy Local counts for it too';
const BOTH_REMEDY = 'Update kube-proxy to 1.24 or newer, where the policy counts for clients inside alone.';

/** Zones that came after a load balancer which takes zones as its Service is written: all their Nodes are younger, and no others are (kubernetes/cloud-provider-aws#569). */
const laterZones = ({ service: { metadata }, nodes, clientZones }: Facts, { zonal }: Kind): string => {
  const since = metadata?.creationTimestamp ?? '';
  const isYounger = (node: Node): boolean => (node.metadata?.creationTimestamp ?? '') > since;
  const older = new Set(nodes.flatMap((node) => (isYounger(node) ? [] : zoneOfNode(node))));
  const isPlain = older.size > 0 && nodes.every((node) => isYounger(node) !== older.has(zoneOfNode(node)));
  return zonal && isPlain ? listed(clientZones.filter((zone) => !older.has(zone))) : '';
};

/** Through which Nodes traffic from outside enters, and how they share it: at the stage `effective` where that is to be seen first. */
const entryCauses = (facts: Facts, wanted: boolean): Cause[] => {
  const { service, name, nodes, clientZones, index } = facts;
  const { type = '', externalTrafficPolicy } = service.spec ?? {};
  const entry = entryOf(facts);
  const [zone = '', other] = clientZones;
  if (entry?.stands && zone && other === undefined && service.metadata?.annotations?.[entry.stands] === undefined) {
    const evidence = `All ready worker Nodes are in ${zone}, and nothing here names the zone in which the load balancer of Service ${name} stands: from another one all that enters crosses.`;
    const remedy = `Make its load balancer anew with the annotation \`${entry.stands}: ${zone}\`.`;
    return [cause('prerequisite', 'LoadBalancerTraffic', evidence, remedy)];
  }
  const isZoneless = !wanted && zone === '' && nodes.length > 1 && type === 'LoadBalancer' && !inOnePlace(nodes);
  if (entry === undefined || (other === undefined && !isZoneless && externalTrafficPolicy !== 'Local')) return [];
  if (entry.policy !== 'Local' && entry.isStranded) return [];
  // Of a gateway, or where no client inside is seen, what enters comes first.
  const hasClients = facts.callers.length > 0 && !isGateway(facts);
  const isKept = !wanted && externalTrafficPolicy === 'Local' && type === 'LoadBalancer' && !hasClients;
  const isOpen = entry.picks === 'client' ? !isGateway(facts) : entry.picks === 'unknown' && !isKept;
  const stage = wanted || isOpen ? 'prerequisite' : 'effective';
  const pointer =
    (entry.policy === 'Local' && entry.announced ? undefined : entry.sets) ?? '/spec/externalTrafficPolicy';
  const note = stage === 'effective' && pointer !== '' && ownerNote(service.metadata ?? {}, { pointer }, facts.version);
  const inSettings = note && /istio-ingress|^kube-system$/.test(facts.ref.namespace) ? note.way : undefined;
  const more = { ...(note && { fix: [note.line] }), ...(isKept && { futile: true as const }) };
  const say = (evidence: string, remedy: string) => [
    { ...cause(stage, 'LoadBalancerTraffic', evidence, inSettings ?? remedy), ...more },
  ];
  const by = ['LoadBalancer', 'NodePort'].includes(type) ? `type ${type}` : (exposureOf(service) ?? 'externalIPs');
  const outside = `Service ${name} has ${by}: traffic from outside`;
  const younger = laterZones(facts, entry);
  const gap = `${outside} enters ${entry.enters}. Nodes of ${younger} are younger than the Service: where the subnets of that zone are younger too, and the Service has not changed since, its load balancer has none there and sends nothing to them (\`aws elbv2 describe-load-balancers\` shows its zones).`;
  if (younger) return [saying(`nothing may enter in ${younger}`, stage, 'LoadBalancerTraffic', gap, TO_TAKE)];
  if (externalTrafficPolicy !== 'Local') {
    const isOld = index.answers.some((own) => /^kube-proxy 1\.2[23]\b/.test(`${own.router} ${own.version}`));
    // kubernetes/kubernetes#105470
    if (isOld && service.spec?.internalTrafficPolicy === 'Local')
      return say(`${outside} enters ${entry.enters}, and ${BOTH}.`, BOTH_REMEDY);
    const any = isZoneless ? 'Node' : entry.announced === 'one' ? 'zone' : ANY_ZONE;
    const goes = `goes to Pods of any ${any} (externalTrafficPolicy Cluster; one for each connection, as long as that is kept)`;
    const on = `${wanted ? 'is routed by the zone of that Node' : goes}.${unreadOf(facts, entry)}`;
    const narrow = wanted && entry.announced === 'one' ? NARROW : '';
    const away = clientZones.filter((own) => !entry.takers.some((node) => zoneOfNode(node) === own));
    const kept = away.length > 0 ? ` (no Node of ${listed(away)} may take it, by labels and what selects them)` : '';
    const isNamed = wanted || type !== 'LoadBalancer' || entry.picks !== 'unknown';
    const helps = `${narrow}${entry.remedy}${isNamed ? '' : ` ${STAYS}`}`;
    return say(`${outside} enters ${entry.enters}${kept}, and from there ${on}`, helps);
  }
  if (entry.picks === 'client' || entry.failure) return [];
  const uneven = unevenEntry(facts, entry, note || undefined);
  if (uneven.length > 0 || (clientZones.length < 2 && entry.announced !== 'one'))
    return uneven.map((each) => ({ ...each, stage }));
  const stays = `${outside} stays on the Node through which it enters, whatever hints say: ${entry.enters}.`;
  const hosts = new Set(entry.isStranded ? [] : facts.hosts);
  const isSaid = (entry.announced !== undefined || type === 'NodePort') && hosts.size > 1;
  const idle = nodes.filter((node) => hosts.has(nameOf(node)) && !entry.takers.includes(node)).map(nameOf);
  const isQuiet = idle.length === 0 && isKept && !isSaid && hosts.size > 1 && localEntryCauses(facts).length === 0;
  const isBare = entry.takers.some((node) => !hosts.has(nameOf(node)));
  const helps = (isBare && entry.blind) || (!entry.zonal && entry.sets ? entry.remedy : KEPT);
  if (isQuiet) return [{ ...cause(stage, 'LoadBalancerTraffic', stays, helps), futile: true }];
  if (idle.length === 0) return isSaid ? say(stays, entry.reach ?? entry.remedy) : [];
  return say(`${stays} Its endpoints on ${listed(idle)} get none of it: none may enter there.`, LET_REMEDY);
};

const UNHEALTHY = "Google's load balancer did not find its Pods healthy in time";
const CHECKED = 'Give it a HealthCheckPolicy (for an Ingress a BackendConfig) whose `requestPath` answers with 200.';

/** artifact-keeper/artifact-keeper-iac#125, GoogleCloudPlatform/gke-autoneg-controller#158, #159 */
const negCauses = ({ service, endpoints, name, pods }: Facts): Cause[] => {
  // Where some are healthy the check is answered.
  const isRefused = pods.length > 0 && pods.every(({ refused }) => refused);
  const late = `Google's load balancer did not find Pods ${listed(pods.map((pod) => pod.name))} of Service ${name} healthy in time (condition \`cloud.google.com/load-balancer-neg-ready\`): its health check asks for \`/\` where nothing says otherwise.`;
  if (isRefused) return [saying(UNHEALTHY, 'effective', 'LoadBalancerTraffic', late, CHECKED)];
  const { 'cloud.google.com/neg-status': status = '' } = service.metadata?.annotations ?? {};
  const [, named = ''] = /"zones":\s*\[([^\]]+)/.exec(status) ?? [];
  const lost = endpoints.flatMap(({ zone }) => (named.includes(`"${zone}"`) ? [] : zone));
  const evidence = `Service ${name} has ready endpoints in ${listed(lost)}, and its annotation \`cloud.google.com/neg-status\` names ${named} alone: who goes by that (autoneg) leaves out the network endpoint group there.`;
  const remedy = 'Have autoneg read ServiceNetworkEndpointGroups (`--use-svcneg=true`, in newer releases).';
  return named === '' || lost.length === 0 ? [] : [cause('effective', 'LoadBalancerTraffic', evidence, remedy)];
};

/** Pods that are seen name its address, or the host of a route to such a gateway; node ports have no address of their own. */
export const isCalledInside = (facts: Facts): boolean => {
  const { near, callers } = facts.index.bypasses.members;
  const own = addressesOf(facts.service);
  const isRouted = isGateway(facts) && [...callers.values()].flat().some(({ scheme }) => scheme === 'world');
  const calls = [...near.values()].flat().flatMap((runner) => runner.calls ?? []);
  return facts.service.spec?.type !== 'LoadBalancer' || isRouted || calls.some(({ host }) => own.includes(host));
};

/** Of traffic from outside, and of what Pods send to the same address: one cause, which begins with what is seen. */
export const outsideCauses = (facts: Facts, wanted: boolean): Cause[] => {
  const all = [...[...negCauses(facts), ...entryCauses(facts, wanted)].slice(0, 1), ...shutOut(facts)];
  const [own] = all;
  const [first, second] = isCalledInside(facts) ? all.toReversed() : all;
  if (own === undefined || first === undefined || second === undefined) return all;
  return [{ ...own, evidence: `${first.evidence} ${second.evidence}`, remedy: `${first.remedy} ${second.remedy}` }];
};
