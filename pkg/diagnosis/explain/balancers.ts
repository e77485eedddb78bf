// Kinds of load balancers, as tables: by which Node traffic from outside enters, and what they make of zones; and which is that of a Service.
import type { Service } from '../../apis/core.ts';
import { defined, nameOf } from '../../apis/values.ts';
import { matchesSelector } from '../../routing/types.ts';
import { atLeast } from '../../routing/version.ts';
import { NODES_OF_BALANCER, addressesOf, isCrossZone } from '../bypasses/kinds.ts';
import { listIn } from '../project/fields.ts';
import { keyOfAddress, keyOfRange } from '../../traffic/addresses.ts';
import { EXTERNAL, POOLS, RANGES } from '../project/routers.ts';
import type { RouterObject } from '../routers/types.ts';
import { itemsOf } from '../snapshot.ts';
import { ANYWHERE, type Kind, NODE_PORT, OTHER_ENTRY, PUBLISHED, STAYS, SUBNETS, TAILNET } from './balancer.ts';
import { affinityOf, anyNode, eitherWay, oneNode, overBgp } from './balancer.ts';
import type { Facts } from './facts.ts';
import { lastEvent } from './given.ts';
import { listed } from './reasons.ts';

const selects = (annotation: string, since = ''): string =>
  ` Or a Service for each zone, with the annotation \`${annotation}\`${since} (\`topology.kubernetes.io/zone=<zone>\`), which selects the Nodes that take it: of one Service whose Pods are held in a region, those of that (\`topology.kubernetes.io/region=<region>\`).`;
const OFF = '`service.beta.kubernetes.io/aws-load-balancer-attributes: load_balancing.cross_zone.enabled=false`';
const ON = `${OFF.replace('false', 'true')}; of the in-tree controller \`aws-load-balancer-cross-zone-load-balancing-enabled\`, which EKS Auto Mode does not read`; // awsdocs/amazon-eks-user-guide latest/ug/automode/auto-configure-nlb.adoc
/** kubernetes/kubernetes#95247 */
const LOOK =
  ' Where `aws elbv2 describe-load-balancer-attributes` has it off (in-tree controllers before 1.14 do not read the annotation for an NLB (kubernetes/kubernetes#61064), and before 1.20 only when a Service changes (#82595)), switch it on there, or from 1.14 on take the annotation off, and set it again.';
const TO_PODS = 'send to Pods (target type IP)';
/** Annotations, class or name of what a Network Load Balancer of AWS stands for (kubernetes/cloud-provider-aws aws.go). */
const NETWORK = /aws-load-balancer-(?:type|nlb-|scheme|attributes|target-)|^\S+\/nlb$|\.elb\.[\w-]+\.amazonaws/;
/** On, as an annotation asks. */
const crossing = (look = ''): Kind => ({
  sets: '/metadata/annotations',
  enters: 'through targets in any of its zones, if the cross-zone load balancing that an annotation asks for is on',
  remedy: `Cross-zone load balancing off (${OFF}) and target type IP or \`externalTrafficPolicy: Local\`, with a Pod in every zone of the load balancer; for the in-tree controller, which has only the policy, "false" in that annotation.${look} ${SUBNETS}`,
  classic: `It is a Classic Load Balancer. ${SUBNETS} To keep to zones: "false" in that annotation and \`externalTrafficPolicy: Local\`, with a Pod in every zone.`,
  reach: `Run a Pod in every zone of the load balancer. Where its cross-zone load balancing is off all the same, clients of its address in that zone fail.${look}`,
  evenly: TO_PODS,
});
export const MONITOR = 'loadbalancer.openstack.org/enable-health-monitor'; // kubernetes/cloud-provider-openstack#2866
const BY_SELECTORS =
  'announce where `nodeSelectors` of an L2Advertisement (MetalLB from 0.13{open}) for each say so. By these it also keeps off Nodes of other subnets; under `externalTrafficPolicy: Local` it is a Node with a Pod, and its Pods alone serve, and see addresses of clients';
const OPENELB = 'protocol.openelb.kubesphere.io/v1alpha1';
const OPENELB_ANY = `OpenELB was seen to announce from Nodes without a Pod (openelb/openelb#323, open). ${ANYWHERE}`;
const ELECTION = 'svc_election';
const ANY_OF_SET = `of its DaemonSet may announce with ${ELECTION} in its environment (from 0.5 on; it prefers none: kube-vip/kube-vip#814, open; \`Local\` needs it, and that DaemonSet on Nodes with Pods: #980)`;
const NO_AFFINITY = `PureLB announces addresses of local pools from Nodes without a Pod (purelb/purelb#67): set its annotation \`purelb.io/node-affinity: service-endpoints\` (from 0.17). ${ANYWHERE}`;
const AGGREGATED = `A BGPAdvertisement with \`aggregationLength\` below 32 announces its whole range from each Node with a Pod of any Service there (metallb/metallb#2811): have this one announced by another, with 32. Or: ${ANYWHERE}`;
const NO_ELECTION = `Without ${ELECTION} in its environment (from 0.5 on) kube-vip announces from Nodes without a Pod (kube-vip/kube-vip#729): set it, or update it (releases before spring 2026 were seen to put the address on every Node in routing table mode: #1442). Where it has that, restart its Pod on the Node that holds the address (annotation \`kube-vip.io/vipHost\`), and update it: 1.0.4 was seen to leave it on one that Pods had left (#1474). ${ANYWHERE}`;

// metallb.io/installation, antrea-io/antrea#3785, metallb/metallb#153
const LOOSE = `kube-proxy in IPVS mode has all Nodes answer for its address: set \`ipvs.strictARP: true\` in the ConfigMap of kube-proxy.`;

// Azure/AKS#2903, kubernetes/ingress-nginx#8501
const PROBED: Kind = {
  enters: 'through any Node that the load balancer of Azure picks, whose node port answers its probe of `/` with 200',
  unanswered: 'its Nodes fail the probe of Azure unless a route answers `/` with 200',
  remedy: `As a port has \`appProtocol: http\` or \`https\`, its probe asks \`/\` of the node port: while that answers no 200, all Nodes fail it, until the annotation \`service.beta.kubernetes.io/azure-load-balancer-health-probe-request-path\` names a path that does (\`/healthz\` of ingress-nginx). ${STAYS}`,
};

const CILIUM_L2: Kind = {
  ...oneNode('Cilium L2 announcements', 'announce where a CiliumL2AnnouncementPolicy for each says so'),
  blind: `Before Cilium 1.20.2 the Node that announces need not have a Pod (cilium/cilium#27800). ${ANYWHERE}`,
  blindIn: /^1\.(?:1\d|20\.[01]$)/,
  silentIn: /^1\.2(?:0\.[2-9]|[1-9])/, // cilium/cilium#46399
};
const CILIUM_BGP: Kind = {
  ...overBgp('BGP of Cilium', '`spec.nodeSelector` of its CiliumBGPClusterConfig'),
  blind: `Use a release of Cilium from 1.14 to 1.18, which announces from Nodes with a Pod alone (cilium/cilium#23035; 1.19 was seen not to: #44803, open). Or: ${ANYWHERE}`,
  blindIn: /^1\.(?:1[0-3]|19)\./,
  silentIn: /^1\.1[0-8]\./, // cilium/cilium#36816, #42386
};

const BY_POLICY = { CiliumL2AnnouncementPolicy: CILIUM_L2, CiliumBGPClusterConfig: CILIUM_BGP };
const OF_CILIUM = ['CiliumLoadBalancerIPPool', 'a CiliumL2AnnouncementPolicy or a CiliumBGPClusterConfig'] as const;

/** What runs in the cluster comes before what its provider would offer; oci-cloud-controller-manager#145. */
const FAMILIES: readonly Kind[] = [
  TAILNET,
  {
    // metallb/metallb speaker/layer2_controller.go, bgp_controller.go
    shown: /^metallb\.(?:universe\.tf|io)\//,
    namespace: 'metallb-system',
    pool: ['IPAddressPool', 'an L2Advertisement or a BGPAdvertisement'],
    daemonSet: /^(?:.*metallb-)?speaker$/,
    // From 0.14 on: metallb/metallb#2274
    leavesOut: ' MetalLB announces from them all the same with `speaker.ignoreExcludeLB: true` of its chart.',
    ...eitherWay('MetalLB', 'layer 2', ['L2Advertisement', 'BGPAdvertisement'], BY_SELECTORS, {}, ''),
  },
  {
    // kube-vip.io/docs/usage/kubernetes-services; kube-vip#201, #431
    shown: /^kube-vip\.io\//,
    daemonSet: /^kube-vip/,
    ...eitherWay('kube-vip', 'ARP', ['vip_arp', 'bgp_enable', 'vip_routingtable'], ANY_OF_SET, { blind: NO_ELECTION }),
  },
  {
    // openelb/openelb pkg/constant/constants.go
    shown: /(?:openelb|porter|^lb)\.kubesphere\.io\//,
    namespace: 'openelb-system',
    ...eitherWay('OpenELB', 'layer 2', [`${OPENELB}=layer2`, `${OPENELB}=bgp`], undefined, { blind: OPENELB_ANY }),
  },
  // antrea-io/antrea docs/service-loadbalancer.md, pkg/agent/controller/serviceexternalip
  { shown: /^service\.antrea\.io\//, ...oneNode('Antrea', 'that an ExternalIPPool for each selects may announce') },
  { shown: /^purelb\.io\//, namespace: 'purelb', ...eitherWay('PureLB', 'layer 2'), blind: NO_AFFINITY },
  {
    // docs.k3s.io/networking/networking-services; k3s#6633 (#6901 to #6903), #9592, #11077
    daemonSet: /^svclb-/,
    enters: 'through the Node whose address the client picks (ServiceLB of k3s)',
    picks: 'client',
    remedy: NODE_PORT.remedy,
    announced: 'all',
    leavesOut: '',
    reach:
      'As the policy intends: ServiceLB gives the Service addresses of Nodes with its Pods alone (other Nodes may still answer: k3s#11077, unless the label `svccontroller.k3s.cattle.io/enablelb: "true"` stands on the Nodes that are to, and `svccontroller.k3s.cattle.io/lbpool` alike on them and the Service). Run a Pod in every zone in which traffic is to enter.',
  },
  {
    ...anyNode(
      /^loadbalancer\.openstack\.org\/|^openstack:/,
      'Octavia',
      `${selects('loadbalancer.openstack.org/node-selector')} \`loadbalancer.openstack.org/availability-zone\` puts it there as well.`,
    ),
    blind: `Octavia leaves such Nodes out, by releases of its controller from 2022 on (kubernetes/cloud-provider-openstack#763, #1720), with the annotation \`${MONITOR}: "true"\`, or create-monitor of its controller. ${ANYWHERE}`,
  },
  {
    // All of a Service have it off where nothing says otherwise: kubernetes/cloud-provider-aws aws.go, AWS Load Balancer Controller
    shown:
      /^service\.beta\.kubernetes\.io\/aws-load-balancer-|^service\.k8s\.aws\/|^eks\.amazonaws\.com\/|^k8s\.io\/cloud-provider-aws|^aws:/,
    sets: '/metadata/annotations',
    enters: 'through Nodes in the zone of its address (cross-zone load balancing is off, as by default)',
    // kubernetes/cloud-provider-aws#206, #569; docs.aws.amazon.com/elasticloadbalancing "Availability Zone DNS affinity"
    remedy: `With \`externalTrafficPolicy: Local\` traffic stays on the Node that it enters, with a Pod in every zone; with target type ip (\`service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip\`, AWS Load Balancer Controller) the NLB sends to Pods in its zone, without a second hop. Clients in its VPC get addresses of all zones, unless they use its name of their zone (\`<zone>.<name>\`), or it has the attribute \`dns_record.client_routing_policy=availability_zone_affinity\`. An address in a zone without Nodes (target type ip: without Pods) fails: give it subnets of zones with Nodes only, or switch cross-zone load balancing on (${ON}).`,
    // docs.aws.amazon.com/elasticloadbalancing/latest/classic; aws-load-balancer-controller docs/guide/service/annotations.md (the type is not to be changed)
    classic: `It is a Classic Load Balancer: each of its addresses, one for each zone in which it has a subnet, sends to Nodes of its own zone alone, until \`service.beta.kubernetes.io/aws-load-balancer-cross-zone-load-balancing-enabled: "true"\` lets it send to all; these balance again over Pods, whose shares may be uneven. With \`externalTrafficPolicy: Local\` traffic stays on the Node that it enters, with a Pod in every zone. Or make the Service anew with \`aws-load-balancer-type: external\` and \`aws-load-balancer-nlb-target-type: ip\` (AWS Load Balancer Controller): a Network Load Balancer sends to Pods of its zone, without a second hop.`,
    reach: `Run a Pod in every zone of the load balancer, or switch its cross-zone load balancing on (${ON}): until then clients of its address in that zone fail.`,
    evenly: TO_PODS,
    zonal: `Run as many Pods in each zone, or a Deployment with an autoscaler for each where their load differs, or switch cross-zone load balancing on (${ON}).`,
    modes: {
      // pingcap/tidb-operator#2368
      'cross-zone-old': crossing(LOOK),
      'cross-zone': crossing(),
    },
  },
  {
    shown:
      /^networking\.gke\.io\/(?:internal-)?load-balancer-|^networking\.gke\.io\/l4-|^cloud\.google\.com\/gke-|^gke-\S+-\w{4,8}(?:-\d+)?$/,
    enters: 'through any Node that the load balancer of Google picks',
    picks: 'Google',
    // kubernetes/ingress-gce pkg/annotations/service.go; GKE documents it from 1.31.0-gke.1506000 on
    evenly: 'weigh Nodes by their Pods (annotation `networking.gke.io/weighted-load-balancing: pods-per-node`)',
    remedy: `On GKE zones count for an internal load balancer with subsetting only, from 1.33.3-gke.1392000 on: \`spec.trafficDistribution: PreferClose\`, with Pods in each zone of its clients (kubernetes/ingress-gce#2815). ${STAYS}`,
    modes: {
      unset: {
        sets: '/spec/trafficDistribution',
        enters: 'through any Node that the load balancer of Google picks',
        remedy:
          'Set `spec.trafficDistribution: PreferClose`: from GKE 1.33.3-gke.1392000 on the load balancer keeps to the zone of its clients by it, where the cluster has GKE subsetting, with Pods in each zone of them (kubernetes/ingress-gce#2815).',
      },
      set: {
        sets: '',
        enters: "through Nodes of the client's zone where the cluster has GKE subsetting, else through any",
        remedy:
          'Run a Pod in each zone of its clients. It keeps to zones with GKE subsetting, from 1.33.3-gke.1392000 on (kubernetes/ingress-gce#2815).',
      },
    },
  },
  anyNode(
    /^service\.beta\.kubernetes\.io\/azure-load-balancer-|^kubernetes\.azure\.com\/|^aks-\S+-vmss\w{6}$|^azure:/,
    'the load balancer of Azure',
    '',
    { modes: { probed: PROBED } },
  ),
  // hcloud-cloud-controller-manager#247, syself/hetzner-cloud-controller-manager#64
  anyNode(
    /^load-balancer\.hetzner\.cloud\/|^(?:instance|csi)\.hetzner\.cloud\/|^hcloud:/,
    'the load balancer of Hetzner',
    selects('load-balancer.hetzner.cloud/node-selector', ', from 1.18 of its controller on,'),
    { networks: [/^(?:fsn|nbg|hel)/, /^ash/, /^hil/, /^sin/] },
  ),
  anyNode(
    /^oci(?:-network-load-balancer)?\.oraclecloud\.com\/|^service\.beta\.kubernetes\.io\/oci-load-balancer-/,
    'the load balancer of Oracle',
    selects('oci.oraclecloud.com/node-label-selector'),
  ),
  // scaleway-cloud-controller-manager#62, #83
  anyNode(
    /^service\.beta\.kubernetes\.io\/scw-loadbalancer-|^k8s\.scaleway\.com\/|^scaleway:/,
    'the load balancer of Scaleway',
    `${selects('service.beta.kubernetes.io/scw-loadbalancer-target-node-labels')} It stands in the zone that \`service.beta.kubernetes.io/scw-loadbalancer-zone\` names.`,
    { stands: 'service.beta.kubernetes.io/scw-loadbalancer-zone' },
  ),
  // digitalocean-cloud-controller-manager#222; docs of cloud-provider-alibaba-cloud, Tencent Cloud (457/51258), IBM Cloud (containers), Vultr, ovh/docs
  anyNode(
    /^service\.beta\.kubernetes\.io\/(?:do|linode|vultr|alibaba-cloud)-load-?balancer-|^service\.(?:cloud\.tencent\.com\/|kubernetes\.io\/(?:qcloud|tke|loadbalance-id|ibm-load-balancer))|^loadbalancer\.ovhcloud\.com\/|^(?:qcloud|ibm|vultr):|^doks\.digitalocean\.com\/|^lke\.linode\.com\/|^alibabacloud\.com\/|^(?:digitalocean|linode):|^[a-z]+(?:-[a-z\d]+)+\.i-\w{10}/,
    'the load balancer of the cloud',
    ' Or a Service for each zone, with an annotation that selects Nodes (`topology.kubernetes.io/zone=<zone>`): of Alibaba Cloud `service.beta.kubernetes.io/alibaba-cloud-loadbalancer-backend-label`, of Tencent Cloud `service.kubernetes.io/qcloud-loadbalancer-backends-label`, of IBM Cloud `service.kubernetes.io/ibm-load-balancer-cloud-provider-vpc-node-selector`.',
  ),
  {
    // cilium/cilium Documentation/network/node-ipam.rst
    shown: /^io\.cilium\/node$/,
    enters: 'through the Node whose address the client picks (Node IPAM of Cilium)',
    remedy:
      '`externalTrafficPolicy: Local` has Node IPAM give it the addresses of Nodes with one of its Pods alone, where traffic then stays; under `Cluster` it has those of all Nodes, or of what `io.cilium.nodeipam/match-node-labels` selects.',
    announced: 'all',
    leavesOut: '',
    silentIn: /^/,
  },
  // cilium/cilium Documentation/network/lb-ipam.rst names both classes.
  { shown: /^io\.cilium\/l2-announcer$/, ...CILIUM_L2 },
  { shown: /^io\.cilium\/bgp-control-plane$/, ...CILIUM_BGP },
  { ...eitherWay('Cilium', 'layer 2'), modes: BY_POLICY, pool: OF_CILIUM },
];

/** By an annotation of this name. */
export const namesBalancer = (annotation: string): boolean =>
  [...FAMILIES, PUBLISHED].some(({ shown }) => shown?.test(annotation));

/** It announces what others give, and ranges from all Nodes: projectcalico/calico confd/pkg/backends/calico/routes.go, metallb/metallb#1298. */
const CALICO = 'BGPConfiguration';
const REFLECTED = `${overBgp('').reach} Without a Pod of its own a route reflector passes on nothing of serviceExternalIPs before projectcalico/calico#13413 (2026).`;
const OVER_CALICO: Kind = {
  ...overBgp('BGP of Calico'),
  remedy: `${overBgp('', 'the label `node.kubernetes.io/exclude-from-external-load-balancers`').remedy} Calico announces the whole range from each Node, and under \`Local\` the address as well.`,
  leavesOut: '',
};

/** The pool that MetalLB took the address from. */
const POOL = /^metallb\.(?:universe\.tf|io)\/(?:ip-allocated-from-pool|address-pool)$/;

/** By its labels, to which Cilium adds two. */
const isMeant = ({ metadata }: Service, { services = [{}] }: RouterObject): boolean => {
  const { labels, name = '', namespace = '' } = metadata ?? {};
  const own = { ...labels, 'io.kubernetes.service.name': name, 'io.kubernetes.service.namespace': namespace };
  return services.some((selector) => matchesSelector(selector, own));
};

/** What announces addresses of the Service: of every pool, where it or the Service names none. */
export const announcersOf = ({ service, snapshot }: Facts): readonly RouterObject[] => {
  const [, pool = ''] = Object.entries(service.metadata?.annotations ?? {}).find(([key]) => POOL.test(key)) ?? [];
  const { type, externalIPs = [] } = service.spec ?? {};
  const all = itemsOf(snapshot.routers);
  const meant = all.filter((own) => isMeant(service, own));
  // Without one that selects the Service a CiliumBGPClusterConfig announces nothing.
  const isOffer = ({ kind }: RouterObject): boolean => kind === 'CiliumBGPAdvertisement';
  const isOffered = meant.some(isOffer) || !all.some(isOffer);
  return meant.filter(({ kind, settings }) => {
    const { [POOLS]: pools = '', [RANGES]: ranges = '', [EXTERNAL]: externals = '' } = settings;
    const isIn = (text: string, own: readonly string[]): boolean => {
      const keys = text.split(',').flatMap((range) => keyOfRange(range) ?? []);
      return own.some((address) => keys.some((key) => keyOfAddress(address).startsWith(key)));
    };
    if (kind === CALICO) return isIn(ranges, addressesOf(service)) || isIn(externals, externalIPs as string[]);
    const isKnown = type === 'LoadBalancer' && FAMILIES.some(({ modes = {} }) => Object.hasOwn(modes, kind));
    const isChosen = isOffered || kind !== 'CiliumBGPClusterConfig';
    return isKnown && isChosen && (pool === '' || pools === '' || pools.split(',').includes(pool));
  });
};

/** Of what makes it: the service controller of Kubernetes, the AWS Load Balancer Controller, MetalLB. */
const NOT_MADE = /LoadBalancerFailed$|^Failed(?:Build|Deploy)Model$|^AllocationFailed$/;
const APART =
  'Give it the annotation `load-balancer.hetzner.cloud/node-selector` (`topology.kubernetes.io/region=<location>`), which selects Nodes of its own network zone alone: beside those of another it is not made.';
const TO_MEAN = 'Have one of these select it: over BGP Cilium announces no Service without a `selector`.';

/** Why nothing enters: pools only give addresses (metallb/metallb#1561, cilium/cilium#39023), or it has none, as what makes it says, or takes Nodes of one network alone. */
const unmade = (facts: Facts, { pool = ['', ''], networks = [] }: Kind, isQuiet: boolean): Kind['unannounced'] => {
  const announced = `Create ${pool[1]}. Nothing to do where routers have a route of their own to it.`;
  const given = `nothing among these objects announces its address, which ${pool[0]}s only give`;
  const others = itemsOf(facts.snapshot.routers).flatMap((own) => (isMeant(facts.service, own) ? [] : own.name));
  const unmeant = `what announces addresses (${listed(others)}) does not select the Service`;
  if (isQuiet) return others.length > 0 ? { why: unmeant, remedy: TO_MEAN } : { why: given, remedy: announced };
  const why = 'no load balancer was made for it';
  const { spec, metadata } = facts.service;
  if (spec?.type !== 'LoadBalancer' || listIn(facts.service, 'status.loadBalancer.ingress')[0]) return undefined;
  const said = lastEvent(facts, NOT_MADE);
  const regions = facts.nodes.flatMap((node) => node.metadata?.labels?.['topology.kubernetes.io/region'] ?? []);
  const there = networks.filter((network) => regions.some((region) => network.test(region)));
  const isOpen = !Object.keys(metadata?.annotations ?? {}).some((key) => NODES_OF_BALANCER.test(key));
  if (there.length > 1 && isOpen) return { why: `${why}, as Nodes are of several network zones`, said, remedy: APART };
  return said === '' ? undefined : { why, said, remedy: 'Do what the event says.' };
};

/** By its class or annotations, by what announces its address, else by what runs in the cluster. */
export const kindOf = (facts: Facts, announcers: readonly RouterObject[]): Kind => {
  const { service, nodes, snapshot, index, version } = facts;
  if (announcers.length > 0 && announcers.every(({ kind }) => kind === CALICO))
    return service.spec?.externalIPs === undefined ? OVER_CALICO : { ...OVER_CALICO, reach: REFLECTED };
  const byClass = service.spec?.loadBalancerClass ?? '';
  const own = [...Object.entries(service.metadata?.annotations ?? {}).map((entry) => entry.join('=')), byClass];
  const { daemonSets, containers, labels } = index.bypasses;
  const variables = containers.flatMap(({ env }) => Object.entries(env));
  const isAsked = own.some((key) => key.includes('health-probe')) || service.spec?.externalTrafficPolicy === 'Local';
  const probes = isAsked ? '' : 'probed';
  const signs = new Set([
    ...own,
    ...announcers.map(({ kind }) => kind),
    ...variables.flatMap(([name, value]) => (value === 'true' ? [name] : [])),
    ...(isCrossZone(service) ? [atLeast(version, 20) ? 'cross-zone' : 'cross-zone-old'] : []),
    ...(service.spec?.ports ?? []).flatMap(({ appProtocol = '' }) => (/^https?$/.test(appProtocol) ? [probes] : [])),
    ...(atLeast(version, 33) ? affinityOf(service) : []),
  ]);
  const kinds = new Set(itemsOf(snapshot.routers).map(({ kind }) => kind));
  const isThere = ({ shown, namespace, daemonSet, pool, modes = {} }: Kind): boolean =>
    [...labels, ...nodes.flatMap((at) => [nameOf(at), at.spec?.providerID ?? ''])].some((key) => shown?.test(key)) ||
    kinds.has(pool?.[0] ?? '') ||
    daemonSets.some(({ name }) => daemonSet?.test(name)) ||
    index.bypasses.pods.has(namespace ?? '') ||
    Object.keys(modes).some((sign) => signs.has(sign));
  const named = FAMILIES.find(({ shown }) => own.some((key) => shown?.test(key)));
  // A class belongs to one controller, whatever else runs in the cluster.
  if (named === undefined && byClass !== '')
    return { ...OTHER_ENTRY, enters: `at the Node or the Pod that its load balancer (class ${byClass}) picks` };
  const family = named ?? FAMILIES.find(isThere) ?? OTHER_ENTRY;
  const isQuiet = announcers.length === 0 && kinds.has(family.pool?.[0] ?? '') && addressesOf(service).length > 0;
  const unannounced = unmade(facts, family, isQuiet);
  if (unannounced) return { enters: 'through no Node that is seen', remedy: '', unannounced };
  const modes = Object.entries(family.modes ?? {}).filter(([sign]) => signs.has(sign));
  const [mode] = modes.length === 1 ? modes : [];
  const isRange = announcers.some(({ settings }) => Number(settings['spec.aggregationLength']) < 32);
  const isWide = isRange && index.bypasses.services.filter(({ spec }) => spec?.type === 'LoadBalancer').length > 1;
  const { blind = isWide ? AGGREGATED : undefined, blindIn, silentIn, classic, ...kind } = mode?.[1] ?? family;
  const { daemonSet, leavesOut, picks } = family;
  const [routed] = nodes.slice(0, 1).map((node) => index.routers.of(node));
  const release = routed?.version ?? '';
  const holder = service.metadata?.annotations?.['kube-vip.io/vipHost'];
  if (holder && facts.hosts.size > 0 && !facts.hosts.has(holder)) signs.delete(ELECTION); // kube-vip/kube-vip#1474
  const isBlind = !signs.has(ELECTION) && (release === '' || blindIn?.test(release) !== false);
  const isLoose = ({ settings }: RouterObject) => settings['mode'] === 'ipvs' && settings['ipvs.strictARP'] !== 'true';
  const isOfKubeProxy = kind.announced === 'one' && routed?.router === 'kube-proxy';
  const isAnywhere = isOfKubeProxy && itemsOf(snapshot.routers).some(isLoose);
  const doubt = isAnywhere ? `${LOOSE} ${(isBlind && blind) || ANYWHERE}` : isBlind ? blind : undefined;
  const silent = silentIn?.test(release) === true ? silentIn : undefined;
  const remedy = [...own, ...addressesOf(service)].some((each) => NETWORK.test(each)) ? undefined : classic;
  return { ...kind, ...defined({ remedy, picks, daemonSet, leavesOut, blind: doubt, silentIn: silent }) };
};
