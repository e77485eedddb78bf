// By which Node traffic from outside enters a Service, by the kind of load balancer that is there.
import { type Node, type Service, zoneOfNode } from '../../apis/core.ts';
import type { StringMap } from '../../apis/meta.ts';
import { defined, nameOf } from '../../apis/values.ts';
import { countBy } from '../../evacuation/capacity.ts';
import { isEnabled } from '../../upstream/index.ts';
import { NODES_OF_BALANCER } from '../bypasses/kinds.ts';
import { isCrossZone, nodePortEntries } from '../bypasses/find.ts';
import { POOLS } from '../project/routers.ts';
import { selectsNode } from '../routers/kube-proxy.ts';
import type { RouterObject } from '../routers/types.ts';
import { itemsOf } from '../snapshot.ts';
import type { Facts } from './facts.ts';
import { type Cause, cause, counted, listed } from './reasons.ts';
import { PINNED_REMEDY, isPinned, whyEmpty } from './spread.ts';

interface Kind {
  readonly enters: string;
  readonly remedy: string;
  /** Under the policy Local: an address is announced by one Node with a Pod, or by all of these, and nothing asks for their health. */
  readonly announced?: 'one' | 'all';
  /** Under the policy Local: nothing shows that it leaves out Nodes without a Pod, which drop what enters; what to do. */
  readonly blind?: string;
  /** In these versions of the data plane; default: all. */
  readonly blindIn?: RegExp;
  /** Under the policy Local: what to do for a zone without Pods. Default: the load balancer leaves its Nodes out. */
  readonly reach?: string;
  /** It could send to Pods as well. */
  readonly toPods?: true;
  /** Name of its DaemonSet, which has to run where traffic is to enter. */
  readonly daemonSet?: RegExp;
}

interface Entry extends Kind {
  /** Ready Nodes through which it may enter. */
  readonly takers: readonly Node[];
  /** Under the policy Local: all its endpoints are on other Nodes. */
  readonly isStranded: boolean;
}

/** A kind of load balancer, and what it does where it is not known in which of its modes it runs. */
interface Family extends Kind {
  /** An annotation or the class of the Service, a label that the provider's Nodes have, and the namespace of its Pods. */
  readonly shown?: RegExp;
  readonly label?: RegExp;
  readonly namespace?: string;
  /** By what shows the mode: a kind of objects, a variable that is true in the environment of its DaemonSet, or where it sends to. */
  readonly modes?: Readonly<Record<string, Kind>>;
}

const ANYWHERE = 'Run a Pod wherever traffic may enter, or set `externalTrafficPolicy: Cluster`.';
const MONITOR = 'loadbalancer.openstack.org/enable-health-monitor'; // kubernetes/cloud-provider-openstack#2866
const ELECTION = 'svc_election';
const NO_ELECTION = `Without ${ELECTION} in its environment kube-vip announces from Nodes without a Pod (kube-vip/kube-vip#729): set it. ${ANYWHERE}`;

/** By its health checks under the policy Local. */
const anyNode = (who: string) => ({
  enters: `through any Node that ${who} picks`,
  remedy: `Nothing of the Service makes ${who} keep to zones.`,
});

const oneNode = (who: string) => ({
  enters: `through the one Node that announces its address (${who})`,
  remedy:
    'All traffic enters one zone, and `externalTrafficPolicy: Local` would leave the Pods of one Node. Over BGP several Nodes announce.',
  announced: 'one' as const,
});

const overBgp = (who: string) => ({
  enters: `through Nodes that routers pick (${who})`,
  remedy: 'Zones count where the routers prefer Nodes of their own zone.',
  announced: 'all' as const,
  reach: 'Run a Pod in every zone whose routers are to reach it.',
});

/** Either of them. */
const eitherWay = (who: string, layer2: string) => ({
  ...oneNode(''),
  enters: `through the one Node that announces its address (${who} in ${layer2} mode), or through Nodes that routers pick (BGP)`,
});

const CILIUM_L2: Kind = {
  ...oneNode('Cilium L2 announcements'),
  blind: `Before Cilium 1.20.2 the Node that announces need not have a Pod (cilium/cilium#27800). ${ANYWHERE}`,
  blindIn: /^1\.(?:1\d|20\.[01]$)/,
};
const CILIUM_BGP: Kind = {
  ...overBgp('BGP of Cilium'),
  blind: `Cilium before 1.14 announces from Nodes without a Pod (cilium/cilium#23035), and 1.19 was seen to (#44803, open). ${ANYWHERE}`,
  blindIn: /^1\.(?:1[0-3]|19)\./,
};

/** What runs in the cluster comes before what its provider would offer. */
const FAMILIES: readonly Family[] = [
  {
    // metallb/metallb speaker/layer2_controller.go, bgp_controller.go
    shown: /^metallb\.(?:universe\.tf|io)\//,
    namespace: 'metallb-system',
    daemonSet: /^(?:.*metallb-)?speaker$/,
    ...eitherWay('MetalLB', 'layer 2'),
    modes: { L2Advertisement: oneNode('MetalLB in layer 2 mode'), BGPAdvertisement: overBgp('BGP of MetalLB') },
  },
  {
    // kube-vip.io/docs/usage/kubernetes-services; kube-vip#201, #431
    shown: /^kube-vip\.io\//,
    daemonSet: /^kube-vip/,
    ...eitherWay('kube-vip', 'ARP'),
    modes: {
      bgp_enable: { ...overBgp('BGP of kube-vip'), blind: NO_ELECTION },
      vip_arp: { ...oneNode('kube-vip in ARP mode'), blind: NO_ELECTION },
    },
  },
  { shown: /openelb\.kubesphere\.io\//, namespace: 'openelb-system', ...eitherWay('OpenELB', 'layer 2') },
  { shown: /^purelb\.io\//, namespace: 'purelb', ...eitherWay('PureLB', 'layer 2') },
  {
    // docs.k3s.io/networking/networking-services; k3s#9592, #11077
    daemonSet: /^svclb-/,
    enters: 'through the Node whose address the client picks (ServiceLB of k3s)',
    remedy: 'Zones count where clients pick a Node of their own zone.',
    blind: ANYWHERE,
  },
  {
    shown: /^loadbalancer\.openstack\.org\//,
    ...anyNode('Octavia'),
    blind: `Octavia leaves such Nodes out with the annotation \`${MONITOR}: "true"\`, or create-monitor of its controller. ${ANYWHERE}`,
  },
  {
    // All of a Service have it off where nothing says otherwise: kubernetes/cloud-provider-aws aws.go, AWS Load Balancer Controller
    shown: /^service\.beta\.kubernetes\.io\/aws-load-balancer-|^service\.k8s\.aws\//,
    label: /^eks\.amazonaws\.com\/|^k8s\.io\/cloud-provider-aws/,
    enters: 'through Nodes in the zone of its address (cross-zone load balancing is off, as by default)',
    remedy:
      'It keeps to zones. An address in a zone without Nodes, or with target type IP without Pods, fails: give it subnets of the zones of the Nodes only, or switch cross-zone load balancing on.',
    reach:
      'Run a Pod in every zone of the load balancer, or switch its cross-zone load balancing on: until then clients of its address in that zone fail.',
    toPods: true,
    modes: {
      'cross-zone': {
        enters: 'through targets in any zone (cross-zone load balancing is on)',
        remedy: 'Cross-zone load balancing off and target type IP, with a Pod in every zone of the load balancer.',
        toPods: true,
      },
    },
  },
  {
    shown: /^networking\.gke\.io\/(?:internal-)?load-balancer-|^networking\.gke\.io\/l4-/,
    label: /^cloud\.google\.com\/gke-/,
    enters: 'through any Node that the load balancer of Google picks',
    remedy:
      'On GKE zones count for an internal load balancer with subsetting only: `spec.trafficDistribution: PreferClose` (kubernetes/ingress-gce#2815).',
    modes: {
      affinity: {
        enters: "through Nodes of the client's zone where the cluster has GKE subsetting, else through any",
        remedy:
          'trafficDistribution is set, by which an internal load balancer with subsetting keeps to zones (kubernetes/ingress-gce#2815): look whether the cluster has subsetting, and Pods in each zone of its clients.',
      },
    },
  },
  {
    shown: /^service\.beta\.kubernetes\.io\/azure-load-balancer-/,
    label: /^kubernetes\.azure\.com\//,
    ...anyNode('the load balancer of Azure'),
  },
  {
    // hcloud-cloud-controller-manager#247, digitalocean-cloud-controller-manager#222, scaleway-cloud-controller-manager#62, oci-cloud-controller-manager#145
    shown:
      /^load-balancer\.hetzner\.cloud\/|^oci(?:-network-load-balancer)?\.oraclecloud\.com\/|^service\.beta\.kubernetes\.io\/(?:do|scw|linode|alibaba-cloud|oci)-load-?balancer-/,
    label:
      /^(?:instance|csi)\.hetzner\.cloud\/|^doks\.digitalocean\.com\/|^k8s\.scaleway\.com\/|^oci\.oraclecloud\.com\/|^lke\.linode\.com\/|^alibabacloud\.com\//,
    ...anyNode('the load balancer of the cloud'),
  },
  // cilium/cilium Documentation/network/lb-ipam.rst names both classes.
  { shown: /^io\.cilium\/l2-announcer$/, ...CILIUM_L2 },
  { shown: /^io\.cilium\/bgp-control-plane$/, ...CILIUM_BGP },
  {
    ...eitherWay('Cilium', 'layer 2'),
    modes: { CiliumL2AnnouncementPolicy: CILIUM_L2, CiliumBGPClusterConfig: CILIUM_BGP },
  },
];

/** By an annotation of this name. */
export const namesBalancer = (annotation: string): boolean => FAMILIES.some(({ shown }) => shown?.test(annotation));

const OTHER_ENTRY: Kind = {
  enters: 'through the Node that its load balancer or client picks',
  remedy: 'See in the documentation of the load balancer whether it keeps to zones.',
  blind: `A load balancer that checks spec.healthCheckNodePort leaves such Nodes out. ${ANYWHERE}`,
};
/** What of it is not known. */
const uncheckedBy = (blind: string): string =>
  blind === OTHER_ENTRY.blind ? ', unless its load balancer leaves them out by their health' : '';

const NODE_PORT: Kind = {
  enters: 'through the Node whose port the client picks',
  remedy: 'Zones count where clients pick a Node of their own zone.',
  blind: ANYWHERE,
};

/** The pool that MetalLB took the address from. */
const POOL = /^metallb\.(?:universe\.tf|io)\/(?:ip-allocated-from-pool|address-pool)$/;
/** Nodes that no load balancer is to use (kubernetes.io/docs/reference/labels-annotations-taints). */
const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';

const PAIRS = /^[\w./-]+=[\w.-]*(?:,[\w./-]+=[\w.-]*)*$/;

/** Nodes that its load balancer sends to, where an annotation selects them by `a=b,c=d`: of OCI, OpenStack, Hetzner and AWS. */
const nodesByAnnotation = ({ metadata }: Service) =>
  Object.entries(metadata?.annotations ?? {})
    .filter(([key, text]) => NODES_OF_BALANCER.test(key) && PAIRS.test(text))
    .map(([, text]) => Object.fromEntries(text.split(',').map((pair) => pair.split('='))) as StringMap)
    .map((matchLabels) => ({ nodes: [{ matchLabels }] }));

/** What announces addresses of the Service: of every pool, where it or the Service names none. */
const announcersOf = ({ service, snapshot }: Facts): readonly RouterObject[] => {
  const annotations = Object.entries(service.metadata?.annotations ?? {});
  const [, pool = ''] = annotations.find(([key]) => POOL.test(key)) ?? [];
  return itemsOf(snapshot.routers).filter(
    ({ kind, settings: { [POOLS]: pools = '' } }) =>
      FAMILIES.some(({ modes = {} }) => Object.hasOwn(modes, kind)) &&
      (pool === '' || pools === '' || pools.split(',').includes(pool)),
  );
};

const kindOf = ({ service, nodes, snapshot, index }: Facts, announcers: readonly RouterObject[]): Kind => {
  const byClass = service.spec?.loadBalancerClass ?? '';
  const own = [...Object.entries(service.metadata?.annotations ?? {}).map((entry) => entry.join('=')), byClass];
  const isInternal = own.some((each) => each.endsWith('/load-balancer-type=Internal'));
  const { daemonSets } = index.bypasses;
  const variables = daemonSets.flatMap(({ containers }) => containers.flatMap(({ env }) => Object.entries(env)));
  const signs = new Set([
    ...announcers.map(({ kind }) => kind),
    ...variables.flatMap(([name, value]) => (value === 'true' ? [name] : [])),
    ...(isCrossZone(service) ? ['cross-zone'] : []),
    ...(isInternal && service.spec?.trafficDistribution !== undefined ? ['affinity'] : []),
  ]);
  const labels = [...new Set(nodes.flatMap(({ metadata }) => Object.keys(metadata?.labels ?? {})))];
  const isThere = ({ label, namespace, daemonSet, modes = {} }: Family): boolean =>
    labels.some((key) => label?.test(key)) ||
    daemonSets.some(({ name }) => daemonSet?.test(name)) ||
    itemsOf(snapshot.pods).some((pod) => pod.namespace === namespace) ||
    Object.keys(modes).some((sign) => signs.has(sign));
  const named = FAMILIES.find(({ shown }) => own.some((key) => shown?.test(key)));
  // A class belongs to one controller, whatever else runs in the cluster.
  if (named === undefined && byClass !== '')
    return { ...OTHER_ENTRY, enters: `through the Node that its load balancer (class ${byClass}) picks` };
  const family = named ?? FAMILIES.find(isThere) ?? OTHER_ENTRY;
  const modes = Object.entries('modes' in family ? (family.modes ?? {}) : {}).filter(([sign]) => signs.has(sign));
  const [mode] = modes.length === 1 ? modes : [];
  const { blind, blindIn, ...kind }: Kind = { ...defined({ daemonSet: family.daemonSet }), ...(mode?.[1] ?? family) };
  const [version = ''] = nodes.slice(0, 1).map((node) => index.routers.of(node).version ?? '');
  const isBlind = !signs.has(ELECTION) && (version === '' || blindIn?.test(version) !== false);
  return isBlind && blind !== undefined ? { ...kind, blind } : kind;
};

/** Undefined where none enters, or goes to Pods at once: then it stands among the bypasses. */
export const entryOf = (facts: Facts): Entry | undefined => {
  const { service, nodes, endpoints, index, snapshot } = facts;
  const { type, externalIPs, externalTrafficPolicy } = service.spec ?? {};
  const announcers = type === 'LoadBalancer' ? announcersOf(facts) : [];
  const ports = type === 'NodePort' ? nodePortEntries(service, index.bypasses) : [];
  const isBgp = announcers.length > 0 && announcers.every(({ kind }) => kind === 'BGPAdvertisement');
  // Of each kind that has a say some selector has to match: MetalLB has to have a peer there.
  const deciders = [
    announcers,
    ports,
    nodesByAnnotation(service),
    itemsOf(snapshot.routers).filter(({ kind }) => isBgp && kind === 'BGPPeer'),
  ].filter((own) => own.length > 0);
  const hosts = new Set(endpoints.map(({ nodeName }) => nodeName));
  const at = ({ blind, daemonSet, ...kind }: Kind): Entry => {
    // Where its Pods are not seen, their selectors say it.
    const runners = index.bypasses.daemonSets
      .filter(({ name }) => daemonSet?.test(name))
      .map((set) => {
        const near = itemsOf(snapshot.pods).filter(({ namespace }) => namespace === set.namespace);
        const own = near.filter((pod) => pod.serviceAccount === set.serviceAccount && pod.nodeName !== '');
        return own.length > 0
          ? own.map(({ nodeName }) => nodeName)
          : nodes.filter((node) => selectsNode(set, node)).map(nameOf);
      });
    // Of those that announce only MetalLB looks at the label, and clients look at none.
    const heeds =
      (type === 'LoadBalancer' || ports.length > 0) &&
      (kind.announced === undefined || kind.enters.includes('MetalLB'));
    const takers = nodes.filter(
      (node) =>
        !(heeds && node.metadata?.labels?.[EXCLUDED] !== undefined) &&
        (runners.length === 0 || runners.flat().includes(nameOf(node))) &&
        deciders.every((own) => own.some((each) => selectsNode(each, node))),
    );
    const isHost = (node: Node): boolean => hosts.has(nameOf(node));
    const isLocal = externalTrafficPolicy === 'Local';
    // What is on a Node that was not seen may be on one of these.
    const isStranded = isLocal && hosts.size > 0 && !takers.some(isHost) && nodes.filter(isHost).length === hosts.size;
    const entry = { ...kind, takers, isStranded };
    if (!isLocal) return entry;
    const isBlind = blind !== undefined && service.metadata?.annotations?.[MONITOR] !== 'true';
    const rest = kind.announced === undefined ? ': the others fail its health check, as intended' : '';
    let local = isBlind
      ? `; Nodes without one of its Pods drop it${uncheckedBy(blind)}`
      : `, among Nodes with one of its Pods${rest}`;
    if (isStranded) local = '; no Node that may take it has one of its Pods, so it fails';
    return { ...entry, ...(isBlind ? { blind } : {}), enters: `${kind.enters}${local} (externalTrafficPolicy Local)` };
  };
  if (type === 'NodePort') return at(ports[0] ?? NODE_PORT);
  if (type !== 'LoadBalancer')
    return Array.isArray(externalIPs) && externalIPs.length > 0 ? at(OTHER_ENTRY) : undefined;
  return facts.bypasses.some(({ client }) => client === 'aws-ip-targets') ? undefined : at(kindOf(facts, announcers));
};

const STRANDED_REMEDY = `Run its Pods on Nodes that may take it, let their Nodes take it (without the label \`${EXCLUDED}\`, selected by what announces it, and running that: nodeSelector and tolerations of its DaemonSet), or set \`externalTrafficPolicy: Cluster\`.`;
const LEFT_OUT =
  'As the policy intends: the load balancer leaves these Nodes out. Run a Pod in every zone where each of them is to take traffic.';

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

/** Under `externalTrafficPolicy: Local`: where traffic from outside may enter, and what of it finds no Pod. */
export const localEntryCauses = (facts: Facts): Cause[] => {
  const { service, name, endpoints } = facts;
  const entry = service.spec?.externalTrafficPolicy === 'Local' ? entryOf(facts) : undefined;
  if (entry === undefined || endpoints.length === 0) return [];
  const { takers, isStranded, blind, announced, reach } = entry;
  const dropping = takers.filter((node) => isDropping(facts, node)).map(nameOf);
  const fails = (evidence: string, remedy: string): Cause[] => [
    cause('effective', 'ZoneFailsHealthCheck', `Service ${name} has externalTrafficPolicy Local${evidence}`, remedy),
  ];
  if (isStranded) {
    const who = takers.length === 0 ? 'no Node' : `only ${listed(takers.map(nameOf))}`;
    const where = listed(endpoints.map(({ nodeName }) => nodeName));
    const why = 'may take its traffic from outside, by labels of Nodes and what announces it; its endpoints are on';
    return fails(`, and ${who} ${why} ${where}.`, STRANDED_REMEDY);
  }
  if (dropping.length > 0) {
    const what = 'terminate: kube-proxy there drops what enters until the load balancer has taken the Node out.';
    return fails(`, and all its endpoints on ${listed(dropping)} ${what}`, DROPPING_REMEDY);
  }
  const empty = [...new Set(takers.map(zoneOfNode))].filter((zone) => !endpoints.some((own) => own.zone === zone));
  const bare = takers.map(nameOf).filter((node) => !endpoints.some(({ nodeName }) => nodeName === node));
  const byNode = announced !== undefined && blind !== undefined;
  const where = byNode ? bare : empty;
  if (where.length === 0 || (announced === 'one' && !byNode)) return [];
  const kept = announced === undefined ? 'passes the health check of the load balancer' : 'announces its address';
  const what = blind === undefined ? `no Node there ${kept}` : `Nodes there drop what enters${uncheckedBy(blind)}`;
  const pinned = empty.length === 0 ? undefined : facts.workloads.find((workload) => isPinned(workload, empty));
  const why = pinned === undefined ? '' : ` ${whyEmpty(facts, pinned, empty)}`;
  const evidence = ` and no ready endpoint ${byNode ? 'on' : 'in'} ${listed(where)}: ${what}.${why}`;
  return fails(evidence, pinned ? PINNED_REMEDY : (blind ?? reach ?? LEFT_OUT));
};

/** Through which Nodes traffic from outside enters, and how they share it. */
export const entryCauses = (facts: Facts): Cause[] => {
  const { service, name, endpoints } = facts;
  const { type = '', externalTrafficPolicy } = service.spec ?? {};
  const entry = entryOf(facts);
  if (entry === undefined) return [];
  const say = (evidence: string, remedy: string) => [cause('prerequisite', 'LoadBalancerTraffic', evidence, remedy)];
  const by = ['LoadBalancer', 'NodePort'].includes(type) ? `type ${type}` : 'externalIPs';
  const outside = `Service ${name} has ${by}: traffic from outside`;
  if (externalTrafficPolicy !== 'Local')
    return say(`${outside} is routed by the zone of the Node through which it enters: ${entry.enters}.`, entry.remedy);
  const counts = [...countBy(endpoints, ({ nodeName }) => nodeName)].sort(([, a], [, b]) => a - b);
  const [few, many] = [counts[0], counts.at(-1)];
  if (entry.remedy === NODE_PORT.remedy || entry.announced === 'one' || !few || !many) return [];
  if (many[1] < 2 * few[1])
    return entry.announced === 'all'
      ? say(`${outside} stays on the Node through which it enters, whatever hints say: ${entry.enters}.`, entry.remedy)
      : [];
  const evidence = `With externalTrafficPolicy Local each Node with Pods gets the same share: ${counted(few[1], 'endpoint')} of Service ${name} on ${few[0]} as much as ${many[1]} on ${many[0]}.`;
  const toPods = entry.toPods === undefined ? '' : ', or have the load balancer send to Pods (target type IP)';
  return say(
    evidence,
    `Spread its Pods over Nodes (a constraint or anti-affinity on \`kubernetes.io/hostname\`)${toPods}.`,
  );
};
