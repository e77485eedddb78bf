// By which Node traffic from outside enters a Service, by the kind of load balancer that is there.
import { nodePortEntries } from '../bypasses/find.ts';
import { itemsOf } from '../snapshot.ts';
import type { Facts } from './facts.ts';

interface Entry {
  readonly enters: string;
  readonly remedy: string;
  /** It asks no Node for its health: an address is announced, by Nodes with a Pod where the policy is Local. */
  readonly unchecked?: true;
  /** Under the policy Local: nothing shows that it leaves out Nodes without a Pod, which drop what enters; what to do. */
  readonly blind?: string;
}

interface EntryKind extends Entry {
  /** An annotation or the class of the Service. */
  readonly shown?: RegExp;
  /** That the provider's Nodes have. */
  readonly label?: RegExp;
  /** Of its Pods. */
  readonly namespace?: string;
  /** Name of its DaemonSet. */
  readonly daemonSet?: RegExp;
}

const ANYWHERE = 'Run a Pod wherever traffic may enter, or set `externalTrafficPolicy: Cluster`.';
const MONITOR = 'loadbalancer.openstack.org/enable-health-monitor'; // kubernetes/cloud-provider-openstack#2866

/** What runs in the cluster comes before what its provider would offer. */
const ENTRIES: readonly EntryKind[] = [
  {
    shown: /^metallb\.(?:universe\.tf|io)\//,
    namespace: 'metallb-system',
    enters:
      'through the one Node that announces its address (MetalLB in layer 2 mode), or through Nodes that routers pick (BGP)',
    remedy:
      'In layer 2 mode all traffic enters one zone, and `externalTrafficPolicy: Local` would leave the Pods of one Node: use BGP.',
    unchecked: true,
  },
  {
    // kube-vip.io/docs/usage/kubernetes-services; kube-vip#201, #431
    shown: /^kube-vip\.io\//,
    daemonSet: /^kube-vip/,
    enters:
      'through the one Node that announces its address (kube-vip in ARP mode), or through Nodes that routers pick (BGP)',
    remedy:
      'In ARP mode all traffic enters one zone, and `externalTrafficPolicy: Local` leaves the Pods of one Node: use BGP.',
    unchecked: true,
  },
  {
    // docs.k3s.io/networking/networking-services; k3s#9592, #11077
    daemonSet: /^svclb-/,
    enters: 'through the Node whose address the client picks (ServiceLB of k3s)',
    remedy: 'Zones count where clients pick a Node of their own zone.',
    blind: ANYWHERE,
  },
  {
    shown: /^loadbalancer\.openstack\.org\//,
    enters: 'through any Node that Octavia picks',
    remedy: 'Nothing of the Service makes Octavia keep to zones.',
    blind: `Octavia leaves such Nodes out with the annotation \`${MONITOR}: "true"\`, or create-monitor of its controller. ${ANYWHERE}`,
  },
  {
    shown: /^service\.beta\.kubernetes\.io\/aws-load-balancer-|^service\.k8s\.aws\//,
    label: /^eks\.amazonaws\.com\/|^k8s\.io\/cloud-provider-aws/,
    enters:
      'through targets in any zone, or in the zone of its address where cross-zone load balancing is off (the default of an NLB)',
    remedy: 'On AWS: cross-zone load balancing off and target type IP, with a Pod in every zone of the load balancer.',
  },
  {
    shown: /^networking\.gke\.io\/(?:internal-)?load-balancer-|^networking\.gke\.io\/l4-/,
    label: /^cloud\.google\.com\/gke-/,
    enters: 'through any Node that the load balancer of Google picks',
    remedy:
      'On GKE zones count for an internal load balancer with subsetting only: `spec.trafficDistribution: PreferClose` (kubernetes/ingress-gce#2815).',
  },
  {
    shown: /^service\.beta\.kubernetes\.io\/azure-load-balancer-/,
    label: /^kubernetes\.azure\.com\//,
    enters: 'through any Node that the load balancer of Azure picks',
    remedy: 'Nothing of the Service makes the load balancer keep to zones.',
  },
  // cilium/cilium Documentation/network/lb-ipam.rst names both classes.
  {
    shown: /^io\.cilium\/l2-announcer$/,
    enters: 'through the one Node that announces its address (Cilium L2 announcements)',
    remedy: 'All traffic enters one zone: with the class `io.cilium/bgp-control-plane` routers pick among Nodes.',
    blind: `Before Cilium 1.20.2 the Node that announces need not have a Pod (cilium/cilium#27800). ${ANYWHERE}`,
  },
  {
    shown: /^io\.cilium\/bgp-control-plane$/,
    enters: 'through Nodes that routers pick (BGP of Cilium)',
    remedy: 'Zones count where the routers prefer Nodes of their own zone.',
    unchecked: true,
  },
];

/** By an annotation of this name. */
export const namesBalancer = (annotation: string): boolean => ENTRIES.some(({ shown }) => shown?.test(annotation));

const OTHER_ENTRY: Entry = {
  enters: 'through the Node that its load balancer or client picks',
  remedy: 'See in the documentation of the load balancer whether it keeps to zones.',
  blind: `A load balancer that checks spec.healthCheckNodePort leaves such Nodes out. ${ANYWHERE}`,
};

const NODE_PORT: Entry = {
  enters: 'through the Node whose port the client picks',
  remedy: 'Zones count where clients pick a Node of their own zone.',
  blind: ANYWHERE,
};

const balancerOf = ({ service, nodes, snapshot, index }: Facts): Entry => {
  const loadBalancerClass = service.spec?.loadBalancerClass ?? '';
  const own = [...Object.keys(service.metadata?.annotations ?? {}), loadBalancerClass];
  const entry = ENTRIES.find(({ shown }) => own.some((key) => shown?.test(key)));
  if (entry !== undefined) return entry;
  // A class belongs to one controller, whatever else runs in the cluster.
  if (loadBalancerClass !== '')
    return { ...OTHER_ENTRY, enters: `through the Node that its load balancer (class ${loadBalancerClass}) picks` };
  const labels = [...new Set(nodes.flatMap(({ metadata }) => Object.keys(metadata?.labels ?? {})))];
  const isThere = ({ label, namespace, daemonSet }: EntryKind): boolean =>
    labels.some((key) => label?.test(key)) ||
    index.bypasses.daemonSets.some(({ name }) => daemonSet?.test(name)) ||
    itemsOf(snapshot.pods).some((pod) => pod.namespace === namespace);
  return ENTRIES.find(isThere) ?? OTHER_ENTRY;
};

/** Undefined where none enters, or goes to Pods at once: then it stands among the bypasses. */
export const entryOf = (facts: Facts): Entry | undefined => {
  const { type, externalIPs, externalTrafficPolicy } = facts.service.spec ?? {};
  const at = ({ blind, ...entry }: Entry): Entry => {
    if (externalTrafficPolicy !== 'Local') return entry;
    const isBlind = blind !== undefined && facts.service.metadata?.annotations?.[MONITOR] !== 'true';
    const local = isBlind ? '; Nodes without one of its Pods drop it' : ', among Nodes with one of its Pods';
    return { ...entry, ...(isBlind ? { blind } : {}), enters: `${entry.enters}${local} (externalTrafficPolicy Local)` };
  };
  if (type === 'NodePort') return at(nodePortEntries(facts.service, facts.index.bypasses)[0] ?? NODE_PORT);
  if (type !== 'LoadBalancer')
    return Array.isArray(externalIPs) && externalIPs.length > 0 ? at(OTHER_ENTRY) : undefined;
  return facts.bypasses.some(({ client }) => client === 'aws-ip-targets') ? undefined : at(balancerOf(facts));
};
