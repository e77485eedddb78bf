// What enters under `externalTrafficPolicy: Local` and is not taken on its Node, as the policy has it: by data plane, release and setting.
import type { Node, Service } from '../../apis/core.ts';
import { nameOf } from '../../apis/values.ts';
import { listIn } from '../project/fields.ts';
import { itemsOf } from '../snapshot.ts';
import { type Kind, OF_ENVOY, OF_WEAVE, PASSES } from './balancer.ts';
import { type Facts, PLACEHOLDER } from './facts.ts';
import { remedyOf } from './reasons.ts';

const OR = ', or set `externalTrafficPolicy: Cluster`.';
/** What helps; by what routes and what is known of the Service and its load balancer, and why. */
const FAULTS: Readonly<Record<string, readonly [signs: RegExp, why: string]>> = {
  'Update kube-router to 2.1.0 or newer': [
    /^kube-router (?:[01]|2\.0)\..*;asks/, // cloudnativelabs/kube-router#455, #1612
    'before 2.1.0 kube-router answers no healthCheckNodePort: each Node fails the check of a load balancer',
  ],
  'Update Cilium to 1.7.5 or newer': [
    /^cilium 1\.7\.[0-4];.*;asks/, // cilium/cilium#11043, #11906
    'Cilium before 1.7.5 counts Pods of other Nodes where it answers healthCheckNodePort: Nodes without a Pod may pass the check of a load balancer, and drop what enters',
  ],
  'Update kube-proxy to 1.14 or newer, or use its iptables mode': [
    /^kube-proxy 1\.(?:\d|1[0-3])\..*;ipvs;LoadBalancer/, // kubernetes/kubernetes#71596, metallb/metallb#290
    'kube-proxy in IPVS mode sends what comes to its external address to Pods of all Nodes, and answers from other Nodes are lost',
  ],
  'Update kube-proxy to 1.28.6, 1.29.1, 1.30 or newer, or use another mode of it': [
    /^kube-proxy 1\.2(?:[67]\.|8\.[0-5];|9\.0;).*;ipvs;.*;externalIPs/, // kubernetes/kubernetes#121909, mended by #121919
    'kube-proxy in IPVS mode refuses what comes to its externalIPs, on Nodes with a Pod too (from 1.26 on)',
  ],
  'Update Kubernetes to 1.14.10, 1.15.7, 1.16.4, 1.17 or newer, or run a Pod on each Node': [
    /^kube-proxy 1\.(?:\d|1[0-3]|14\.\d|15\.[0-6]|16\.[0-3])[.;].*;azure-udp/, // Azure/AKS#1295, kubernetes/kubernetes#84802
    'the load balancer has no health probe for UDP: Nodes without a Pod get their share of what enters, and drop it',
  ],
  'Start kube-proxy with the name of the Node in `--hostname-override` (Rancher: leave hostnames to the cloud provider)':
    [
      /^kube-proxy .*;renamed/, // kubernetes/kubernetes#80579, rancher/rancher#22416
      'kube-proxy, of which no Pod is seen, takes its hostname (label kubernetes.io/hostname) for the name of its Node, which it is not, unless `--hostname-override` has that: then it finds no Pod there, and each Node drops what enters and fails the health check of a load balancer',
    ],
};

/** The other Service for whose address it waits: MetalLB gives one to several under the policy only where their selectors are the same (metallb/metallb#271, #1499). */
const sharedBy = ({ service, index }: Facts): Service | undefined => {
  const keyOf = ({ metadata }: Service) =>
    Object.entries(metadata?.annotations ?? {}).find(([key]) => /^metallb\.\S+\/allow-shared-ip$/.test(key))?.[1];
  const podsOf = ({ spec }: Service) => JSON.stringify(spec?.selector);
  const key = listIn({ ...service }, 'status.loadBalancer.ingress').length > 0 ? undefined : keyOf(service);
  return index.bypasses.services.find((own) => key && keyOf(own) === key && podsOf(own) !== podsOf(service));
};

/** Why it is not taken, and what helps; whether its load balancer asks for health. */
export const faultOf = (facts: Facts, takers: readonly Node[], asks: boolean, by: Partial<Kind>) => {
  const { service, endpoints, index, snapshot } = facts;
  if (takers.some(({ status }) => by.passesIn?.test(status?.nodeInfo?.kubeletVersion ?? ''))) return PASSES;
  const other = sharedBy(facts);
  if (other) {
    const why = `the Service has no address: MetalLB shares that of Service ${nameOf(other)} (allow-shared-ip) under Local only with Services that have the same selector`;
    return { why, remedy: `Take its annotation allow-shared-ip off, for an address of its own${OR}` };
  }
  const { ports = [], type = '', externalIPs } = service.spec ?? {};
  const selfOn = (node: Node) => index.routers.of(node).routing.self;
  const isHost = (node: Node) => endpoints.some(({ nodeName }) => nodeName === nameOf(node));
  const host = takers.find(isHost);
  const self = host && selfOn(host);
  // kubernetes/kubernetes#61486
  if (self && !takers.some((node) => isHost(selfOn(node)?.node ?? node))) {
    const why = `kube-proxy on Node ${nameOf(host)} takes itself for ${self.why} and finds no Pod on its Node: each Node drops what enters, and fails the health check of a load balancer`;
    return { why, remedy: remedyOf('ProxyOfAnotherNode') };
  }
  const weave = index.bypasses.containers.find(({ image }) => /\/weave-kube:v?(?:1|2\.[0-6])\./.test(image));
  if (weave && weave.env['NO_MASQ_LOCAL'] !== '1') return OF_WEAVE;
  const isEnvoy = endpoints[0]?.address === PLACEHOLDER;
  if (isEnvoy && by.silentIn !== undefined) return { ...OF_ENVOY, why: `${OF_ENVOY.why}: none announces it` };
  // cilium/cilium#33547 (open)
  if (isEnvoy && asks) return { ...OF_ENVOY, why: `${OF_ENVOY.why}: each fails the health check of a load balancer` };
  const named = host?.metadata?.labels?.['kubernetes.io/hostname'];
  const isSeen = !host || index.routers.of(host).evidence.length > 0;
  const signs = {
    ipvs: itemsOf(snapshot.routers).some(({ settings }) => settings['mode'] === 'ipvs'),
    [type]: true,
    asks,
    'azure-udp': by.shown?.test('kubernetes.azure.com/') && ports.every(({ protocol }) => protocol === 'UDP'),
    externalIPs: externalIPs !== undefined,
    renamed: !isSeen && named && named !== nameOf(host),
  };
  const known = Object.entries(signs).flatMap(([sign, is]) => (is ? sign : []));
  const texts = takers.map(index.routers.of).map((own) => `${own.router} ${own.version};${known.join(';')};`);
  const [helps, [, why] = []] = Object.entries(FAULTS).find(([, [own]]) => texts.some((text) => own.test(text))) ?? [];
  return helps && why ? { why, remedy: `${helps}${OR}` } : undefined;
};
