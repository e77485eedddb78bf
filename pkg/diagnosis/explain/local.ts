// What data planes make of the policies Local: what clients inside get, and what enters and is not taken on its Node, by release and setting.
import type { Node, Service } from '../../apis/core.ts';
import { nameOf } from '../../apis/values.ts';
import { type Taint, taintText } from '../models/lookup.ts';
import { selects } from '../bypasses/watchers.ts';
import { listIn } from '../project/fields.ts';
import { selectsNode } from '../routers/kube-proxy.ts';
import type { RouterName } from '../routers/types.ts';
import { itemsOf } from '../snapshot.ts';
import type { Kind } from './balancer.ts';
import { type Facts, KUBE_ROUTER_LOCAL, PLACEHOLDER } from './facts.ts';
import { type Cause, cause, listed, remedyOf } from './reasons.ts';
import { idlePods } from './waiting.ts';

const LOCAL_REASONS = /^(?:ProxyOfAnotherNode|InternalTrafficPolicyLocal|NoLocalEndpoints|NoEndpoints|NotProxied)$/;

/** What kube-router takes for the policy, and what helps. */
const BY_MARK = `the annotation ${KUBE_ROUTER_LOCAL} (kube-router 2.1.0 to 2.4.0 takes it for internalTrafficPolicy Local)`;
const UNMARK = 'Update kube-router to 2.4.1 or newer, where the annotation is for traffic from outside alone.';
const BY_ENTRY = `externalTrafficPolicy Local, or the annotation ${KUBE_ROUTER_LOCAL} (kube-router before 2.1.0 goes by it for the cluster IP too)`;
const UNTIE = 'Update kube-router to 2.1.0 or newer (the annotation: 2.4.1), or set `externalTrafficPolicy: Cluster`.';

/** From which releases on each reads the policy. */
const READ_SINCE: Partial<Record<RouterName, string>> = {
  'kube-proxy-windows': 'Kubernetes to 1.27',
  'calico-ebpf': 'Calico to 3.26.5',
  cilium: 'Cilium to 1.13',
  antrea: 'Antrea to 1.7',
  'kube-router': 'kube-router to 2.1',
  'ovn-kubernetes': 'OpenShift to 4.11',
};

/** The policy, and before it what the policy breaks. */
export const localCauses = (facts: Facts): Cause[] => {
  const { name, routes, takenBy } = facts;
  const taken = takenBy === 'mark' ? [BY_MARK, UNMARK] : [BY_ENTRY, UNTIE];
  const [what, update] = takenBy ? taken : ['spec.internalTrafficPolicy Local'];
  const policy = `Service ${name} has ${what}`;
  const failing = routes.filter(({ reason }) => reason === 'NoLocalEndpoints').flatMap(({ nodes }) => nodes);
  const taints = failing.flatMap(({ spec }) => ((spec?.taints ?? []) as readonly Taint[]).map(taintText));
  const tainted = taints.length === 0 ? '' : ` Taints there: ${listed(taints)}.`;
  const names = failing.map(nameOf);
  const idle = idlePods(facts, names);
  const set = facts.index.bypasses.daemonSets.find((own) => selects(facts.service, { ...own, podLabels: own.labels }));
  const isOut = set && !failing.some((node) => selectsNode(set, node));
  const out = isOut ? ` Labels of these Nodes keep DaemonSet ${set.name} off (its nodeSelector or node affinity).` : '';
  const fails = `${policy} and no ready endpoint on ${listed(names)}: connections from there fail.${idle?.text ?? ''}${tainted}${out}`;
  const remedy = idle?.everywhere === true ? `${idle.remedy} Or remove the policy.` : update;
  const blind = routes.filter(({ reason }) => !LOCAL_REASONS.test(reason));
  const who = blind.length === routes.length ? 'here' : `on ${listed(blind.flatMap(({ nodes }) => nodes.map(nameOf)))}`;
  const since = blind.flatMap(({ nodes: [node] }) => (node && READ_SINCE[facts.index.routers.of(node).router]) ?? []);
  const read = since.length === 0 ? undefined : `Update ${listed([...new Set(since)])} or newer, which reads it.`;
  const ignored = cause('used', 'PolicyIgnored', `${policy}, which no data plane ${who} is known to read.`, read);
  if (routes.length > 0 && blind.length === routes.length) return [ignored];
  return [
    ...(blind.length > 0 ? [ignored] : []),
    ...(failing.length === 0 ? [] : [cause('used', 'NoLocalEndpoints', fails, remedy)]),
    cause('used', 'InternalTrafficPolicyLocal', `${policy}: each Node uses its own endpoints and no hints.`, update),
  ];
};

const OR = ', or set `externalTrafficPolicy: Cluster`.';
/** What helps; by what routes and what is known of the Service and its load balancer, and why. */
const FAULTS: Readonly<Record<string, readonly [signs: RegExp, why: string]>> = {
  [`Update kube-router to 2.1.0 or newer${OR}`]: [
    /^kube-router (?:[01]|2\.0)\..*;asks/, // cloudnativelabs/kube-router#455, #1612
    'before 2.1.0 kube-router answers no healthCheckNodePort: each Node fails the check of a load balancer',
  ],
  [`Update kube-proxy to 1.28.6, 1.29.1, 1.30 or newer, or use another mode of it${OR}`]: [
    /^kube-proxy 1\.2(?:[67]\.|8\.[0-5];|9\.0;).*;ipvs;.*;externalIPs/, // kubernetes/kubernetes#121909, mended by #121919
    'kube-proxy in IPVS mode refuses what comes to its externalIPs, on Nodes with a Pod too (from 1.26 on)',
  ],
  'Update k3s to 1.26.2+k3s1 or newer (1.25.7, 1.24.11, 1.23.17), where ServiceLB gives it addresses of Nodes with its Pods alone.':
    [
      /;LoadBalancer(?:;.*)?;v1\.(?:1\d|2[0-2]|23\.(?:\d|1[0-6])|24\.(?:\d|10)|25\.[0-6]|26\.[01])(?:\.\d+)?\+k3s.*;client$/, // k3s-io/klipper-lb#20, k3s-io/k3s#6633
      'each Node takes what enters and passes it on to Pods of any Node, before k3s 1.26.2 whatever the policy: what is passed on comes from the address of an svclb Pod',
    ],
  [`Start kube-proxy with the name of the Node in \`--hostname-override\` (Rancher: leave hostnames to the cloud provider)${OR}`]:
    [
      /^kube-proxy .*;renamed/, // kubernetes/kubernetes#80579, rancher/rancher#22416
      'kube-proxy, of which no Pod is seen, takes its hostname (label kubernetes.io/hostname) for the name of its Node, which it is not, unless `--hostname-override` has that: then it finds no Pod there, and each Node drops what enters and fails the health check of a load balancer',
    ],
};

const OF_ENVOY =
  'Set `gatewayAPI.externalTrafficPolicy=Cluster` of the chart of Cilium (of Ingresses `ingressController.service.externalTrafficPolicy`), which writes this Service; over BGP newer releases announce it under `Local` as well.';

/** The other Service for whose address it waits: MetalLB gives one to several under the policy only where their selectors are the same (metallb/metallb#271, #1499). */
export const sharedFault = ({ service, index }: Facts) => {
  const keyOf = ({ metadata }: Service) =>
    Object.entries(metadata?.annotations ?? {}).find(([key]) => /^metallb\.\S+\/allow-shared-ip$/.test(key))?.[1];
  const podsOf = ({ spec }: Service) => JSON.stringify(spec?.selector);
  const key = listIn({ ...service }, 'status.loadBalancer.ingress').length > 0 ? undefined : keyOf(service);
  const other = index.bypasses.services.find((own) => key && keyOf(own) === key && podsOf(own) !== podsOf(service));
  if (!other) return undefined;
  const why = `the Service has no address: MetalLB shares that of Service ${nameOf(other)} (allow-shared-ip) under Local only with Services that have the same selector`;
  return { why, remedy: `Take its annotation allow-shared-ip off, for an address of its own${OR}` };
};

/** Why it is not taken, and what helps; whether its load balancer asks for health. */
export const faultOf = (facts: Facts, takers: readonly Node[], asks: boolean, by: Partial<Kind>) => {
  const { service, endpoints, index, snapshot } = facts;
  const { type = '', externalIPs } = service.spec ?? {};
  const selfOn = (node: Node) => index.routers.of(node).routing.self;
  const isHost = (node: Node) => facts.hosts.has(nameOf(node));
  const host = takers.find(isHost);
  const hosting = host && index.routers.of(host);
  const self = hosting?.routing.self;
  // kubernetes/kubernetes#61486
  if (host && self && !takers.some((node) => isHost(selfOn(node)?.node ?? node))) {
    const why = `kube-proxy on Node ${nameOf(host)} takes itself for ${self.why} and finds no Pod on its Node: each Node drops what enters, and fails the health check of a load balancer`;
    return { why, remedy: remedyOf('ProxyOfAnotherNode') };
  }
  const silent = by.silentIn ? 'none announces it' : asks && 'each fails the health check of a load balancer'; // cilium/cilium#33547 (open)
  if (endpoints[0]?.address === PLACEHOLDER && silent)
    return { why: `its endpoint stands for Cilium's Envoy on no Node: ${silent}`, remedy: OF_ENVOY };
  const named = host?.metadata?.labels?.['kubernetes.io/hostname'];
  const signs = {
    ipvs: itemsOf(snapshot.routers).some(({ settings }) => settings['mode'] === 'ipvs'),
    [type]: true,
    asks,
    externalIPs: externalIPs !== undefined,
    renamed: host && named && named !== nameOf(host) && hosting?.evidence.length === 0,
  };
  const known = Object.entries(signs).flatMap(([sign, is]) => (is ? sign : []));
  const texts = takers.map((node) => {
    const { router, version } = index.routers.of(node);
    return [`${router} ${version}`, ...known, node.status?.nodeInfo?.kubeletVersion, by.picks].join(';');
  });
  const [helps, [, why] = []] = Object.entries(FAULTS).find(([, [own]]) => texts.some((text) => own.test(text))) ?? [];
  return helps && why ? { why, remedy: helps } : undefined;
};

const CLUSTER = 'set `externalTrafficPolicy: Cluster`';
const CLUSTER_ONLY = `with kube-proxy beside Cilium set the annotation \`service.cilium.io/type: ClusterIP\` (then kube-proxy alone serves its external address, by \`Local\`), or ${CLUSTER}`;
const OWN = 'their own Pods';
const HOST = 'Pods in the network of the host';

/** By what routes: whose connections to the external address it drops under the policy Local, and what helps as well. */
const SHUTS_OUT: readonly [by: string, mode: string, on: RegExp, who: string, also: string][] = [
  ['kube-proxy', 'nftables', /^1\.(?:29|3[0-2]|33\.[0-5]$)/, OWN, 'update kube-proxy to 1.33.6, 1.34 or newer'], // kubernetes/kubernetes#131765: mended by #132456, and in 1.33 by #133969.
  // kubernetes/kubernetes#75262, #92857, #93456; #97081 (1.24) left out the network of the host.
  ['kube-proxy', 'ipvs', /^1\.(?:\d|1\d|2[0-3])\./, OWN, `update kube-proxy to 1.24 or newer, or ${CLUSTER}`],
  ['kube-proxy', 'ipvs', /^/, HOST, `${CLUSTER}, or use another mode of kube-proxy`],
  ['Antrea', 'networkPolicyOnly', /^1\.(?:1[34]\.|15\.[01]$)/, OWN, 'update Antrea to 1.15.2, 2.0 or newer'], // antrea-io/antrea#6244: since #4815 (1.13), mended by #6251.
  ['Cilium', '', /^1\.19\./, `${OWN} (seen in 1.19.2 and 1.19.3: cilium/cilium#45252, open)`, CLUSTER_ONLY],
];

const NO_HAIRPIN =
  'have target type ip, or `preserve_client_ip.enabled=false` in the annotation `service.beta.kubernetes.io/aws-load-balancer-target-group-attributes` (both of the AWS Load Balancer Controller; the cloud provider, which serves type `nlb` without its class, reads that annotation in releases from 2026 on, and no target type: before, make the Service anew with `service.beta.kubernetes.io/aws-load-balancer-type: external`)';

/** By annotations and class, where targets are known to be instances. aws/amazon-vpc-cni-k8s#840, #2505, kubernetes/cloud-provider-aws#53, #1160, #1314, kubernetes/ingress-nginx#7900, kubernetes-sigs/aws-load-balancer-controller#1953 */
const HAS_HAIRPIN =
  /^(?=.*aws-load-balancer-(?:internal=(?!false)|scheme=internal;))(?=.*(?:aws-load-balancer-type=(?:nlb|external)|class=service\.k8s\.aws\/nlb);)(?!.*(?:target-type=ip;|class=eks))(?=.*type=nlb;.*class=;|(?!.*preserve_client_ip\.enabled=false))/s;

/** kubernetes/cloud-provider-openstack#1287, hcloud-cloud-controller-manager#727, digitalocean-cloud-controller-manager#811, scaleway-cloud-controller-manager#179 */
const HOST_NAMES = {
  openstack: ', by `loadbalancer.openstack.org/enable-ingress-hostname: "true"`',
  'do-load': ', by `service.beta.kubernetes.io/do-loadbalancer-hostname`',
  hetzner: ', by `load-balancer.hetzner.cloud/hostname`',
  scw: ', by `service.beta.kubernetes.io/scw-loadbalancer-use-hostname: "true"`',
};

/** On which Nodes Pods do not reach the addresses by which the world does; `alone`: some of them, and not for their load balancer. */
export const shutOut = ({ service, name, hosts, nodes, index, snapshot }: Facts, alone = false): Cause[] => {
  const rather = 'Have Pods use the cluster IP (the name of the Service), or ';
  const say = (what: string, or: string) => [cause('prerequisite', 'LoadBalancerTraffic', what, `${rather}${or}.`)];
  const all = Object.entries({ ...service.metadata?.annotations, class: service.spec?.loadBalancerClass });
  const marks = all.map((entry) => `${entry.join('=')};`).join('');
  // They know addresses only: no host names, and none that a load balancer keeps for itself.
  const has = listIn(service, 'status.loadBalancer.ingress').some(({ ip, ipMode }) => ip && ipMode !== 'Proxy');
  if (!alone && has && /proxy-?protocol[^=]*=(?!false|none)/.test(marks)) {
    const evidence = `Pods that use the address of Service ${name}: proxies take them to its Pods at once, without the header of the PROXY protocol that these wait for, and they fail.`;
    const [, way = ''] = Object.entries(HOST_NAMES).find(([sign]) => marks.includes(sign)) ?? [];
    return say(evidence, `have its status show a host name${way}, or \`ipMode: Proxy\` (from 1.30, by its controller)`);
  }
  if (!alone && HAS_HAIRPIN.test(marks))
    return say(
      `Pods that use the address of Service ${name}: a connection that its NLB sends back to the Node of the client times out, as it keeps addresses of clients (target type instance).`,
      NO_HAIRPIN,
    );
  if (service.spec?.externalTrafficPolicy !== 'Local') return [];
  const modes = new Set(['', ...itemsOf(snapshot.routers).flatMap(({ settings }) => Object.values(settings))]);
  const out = Map.groupBy(nodes, (node) => {
    const { router, version } = index.routers.of(node);
    const own = SHUTS_OUT.filter(([by, mode]) => by.toLowerCase() === router && modes.has(mode));
    return hosts.has(nameOf(node)) ? undefined : own.find(([, , versions]) => versions.test(version ?? ''));
  });
  const [row, there = []] = [...out].find(([found]) => found !== undefined) ?? [];
  if (row === undefined || !has) return [];
  const [router, mode, , who, also] = row;
  const evidence = `Nodes without an endpoint of Service ${name} (${listed(there.map(nameOf))}): ${router}${mode && ` in ${mode} mode`} there drops what ${who} send to its external address.`;
  return say(evidence, also);
};
