// What a proxy is set to already, by objects and by its version.
import type { Service } from '../../apis/core.ts';
import { TOPOLOGY_ANNOTATIONS } from '../../apis/names.ts';
import { defined, keyOf, objectTitle, refOf } from '../../apis/values.ts';
import { matchesSelector } from '../../routing/types.ts';
import { compareVersions } from '../../routing/version.ts';
import type { StringMap } from '../../apis/meta.ts';
import { isSince, versionText } from '../../upstream/proxy/hint-rule.ts';
import { imageVersion, knownTo } from '../routers/kube-proxy.ts';
import type { EntryObject, PodSummary } from '../snapshot.ts';
import { CLIENTS, type ClientName } from './clients.ts';
import { SERVICE_MARKS, isCrossZone } from './kinds.ts';
import { type Found, wishTextOf } from './members.ts';
import { IN_ONE } from './programs.ts';
import type { Client } from './types.ts';
import { isExported, selects } from './watchers.ts';

/** Of Traefik: `nativeLBByDefault` is set for each. */
export const PROVIDERS: Partial<Record<ClientName, string>> = {
  'traefik/route': 'kubernetescrd',
  traefik: 'kubernetesingress',
  'traefik/gateway': 'kubernetesgateway',
};

/** With all that there is to set in a version that has the field, or has it not. */
export const asking = (row: Client, hasField: boolean): Client => {
  const { asks, ...rest } = row;
  if (asks === undefined) return row;
  return hasField ? { ...row, setting: [asks, row.setting ?? []].flat().join(', or ') } : rest;
};

export const BY_ITSELF = 'it chooses among the endpoints by itself, without zones';

/** istio/istio#40113 */
const PREFERS = { keeps: true, how: 'prefers its own zone, and crosses from one without endpoints' };
const EVERYWHERE = ': it has to run in every zone whose endpoints are to get something';
const KEPT = `Envoy prefers its own zone by {rule}${EVERYWHERE}`;
/** istio/istio#39477, kyma-project.io istio "uneven-load-balancing-with-destination-rules" */
const EVEN = 'where load is to be even instead `localityLbSetting.enabled: false` in {rule}, beside `outlierDetection`';
const OUTLIER = '`outlierDetection` in {rule}';
const SWITCH = '`localityLbSetting.enabled: true` beside `outlierDetection` in {rule}';

/** What Envoy does by the object that decides for the Service, by what that makes of zones, and what to set: istio/istio#28570, #28942, #31735, #33470, #37850, #39477, #48084. */
const BY_RULE: Readonly<
  Record<string, readonly [decides: string | undefined, setting: string, how?: Partial<Client>]>
> = {
  // istio/istio#14692, pilot/pkg/networking/core/cluster_traffic_policy.go: the cluster becomes ORIGINAL_DST
  passthrough: ['{rule} has PASSTHROUGH: Envoy goes on to the cluster IP', '', { byHints: true }],
  off: ['{rule} switches locality off', SWITCH],
  distribute: [
    'Envoy follows `distribute` of {rule}: clients in what a `from` names go to its `to` alone, and fail where that has no ready endpoint (it excludes failover); all others go to any zone',
    '`outlierDetection` without `distribute` in {rule} prefers the own zone, and fails over (in another order by `failoverPriority`)',
  ],
  kept: [KEPT, '', { keeps: true }],
  // gateway.envoyproxy.io "Zone Aware Routing", Supported Combinations
  hashed: ['Envoy goes by a hash, or weights of zones, of {rule}', '`preferLocal` there, without `ConsistentHash`'],
  // Envoy "min_cluster_size"; kgateway docs "Zone-aware routing", kgateway#13978, #14288
  few: ['{rule} has no effect on fewer endpoints than its `minEndpointsThreshold` (6 by default)', 'a lower one there'],
  soft: ['Envoy prefers its own zone by {rule}, and sends to others what is too much for it', '`force: {}` there'],
  blind: ['{rule} lacks the zone of gateway Pods', '`KGATEWAY_NODE_ZONE` or label topology.kubernetes.io/zone there'],
  // istio/istio#39792, #48302, #46295
  unserved: [
    'Envoy prefers its own zone by {rule}, before Istio 1.20 only from Pods that a Service selects, and none seen selects them',
    'an update to 1.20 or newer, or such a Service where there is none',
  ],
  aware: ['{rule} has `zoneAwareLbSetting` (Istio from 1.31)', '`ISTIO_META_ENABLE_SELF_DISCOVERY` in proxyMetadata'], // istio/istio#60765
  ranked: ['`failoverPriority` of {rule} does not name the zone', '`topology.kubernetes.io/zone` among it'],
  untagged: ['{rule} names tags that no Pod seen has', 'such labels of Pods, or Kuma 2.7, which copies zones of Nodes'],
  outlier: [KEPT, '', PREFERS],
  failover: [KEPT, '`failover` of {rule} is for regions only; for zones `failoverPriority`', PREFERS],
  mesh: [KEPT, EVEN, PREFERS],
  // It comes before the field of the Service, and does nothing.
  bare: ['{rule} has `localityLbSetting`, which gives no zones without `outlierDetection`', OUTLIER],
  partly: [
    `{rule} has \`outlierDetection\` for some subsets or ports only, for which Envoy prefers its own zone${EVERYWHERE}`,
    `\`loadBalancer.localityLbSetting.enabled: false\` beside it balances over all zones; ${OUTLIER} for all of them keeps to zones`,
    { how: 'keeps to zones for some subsets or ports alone' },
  ],
};

/** The same, of what the field of the Service comes before in versions that know it: istio/istio#21779, #42570, #15556, #47804, #52898. */
const AFTER_FIELD: typeof BY_RULE = {
  meshOff: ['ConfigMap istio switches locality off for the mesh, and {rule} not on', SWITCH],
  unset: [undefined, `${OUTLIER}, or there (LEAST_REQUEST over all, before 1.24) \`localityLbSetting.enabled: false\``],
  // istio/istio#52871
  ring: [
    'Envoy picks by the hash that {rule} names, over all zones, and few values of it leave Pods idle',
    `${OUTLIER} (a ring for each zone); for even load a larger \`minimumRingSize\`, \`maglev\` or no hash there`,
  ],
  meshDistribute: [
    'ConfigMap istio has `localityLbSetting.distribute`, which counts for all that has no rule of its own: shares to what it names, and nothing to anything else, so that endpoints without a zone fail',
    'a DestinationRule for host {service}.{namespace}.svc.cluster.local with `localityLbSetting.enabled: true` and `outlierDetection` (its own zone first), or with `enabled: false` (all alike), or other shares there',
  ],
  hidden: ['{rule} does not count: it leaves the client out', 'the client in its `exportTo` and `workloadSelector`'],
  misnamed: ['{rule} is for a host that is no Service', 'host {service}.{namespace}.svc.cluster.local in it'],
  elsewhere: ['{rule} is not in the namespace of client, Service or mesh: it does not count', 'move it to {namespace}'],
};

/** gardener/gardener#13081 */
export const OF_GARDENER =
  'for layer-7 load balancing over all API servers (IstioTLSTermination) an update of Gardener, which then leaves the field off for them, or topologyAwareRouting off in the Seed or Garden; a patch is reverted';
const LAYER_7 = `layer 7 is on, as its routes show, and each Envoy keeps to its own zone, so that the API server there gets all its requests: ${OF_GARDENER}`;
const UNBALANCED = { keeps: false, how: 'keeps to zones, against the layer-7 balance over all API servers' };

/** gardener/gardener docs/operations/kube_apiserver_loadbalancing.md; with layer 7 on Gardener makes a second Service, for mutual TLS. */
const OR_EVEN =
  'where they are in one zone, a gateway there: `spec.settings.loadBalancerServices.zonalIngress.enabled: true` in the Seed (a field from Gardener 1.131 on, true by default); in all zones nothing, and even load excludes zones: layer-7 load balancing (IstioTLSTermination) has it; a patch is reverted';

const OF_NEWER = 'an update of Gardener: from late 2022 on it writes `outlierDetection` in {rule} (gardener#6653)';

/** istio.io "Traffic Management with Multicluster" */
export const CLUSTER_LOCAL = 'for its cluster alone `clusterLocal: true` for its host in `serviceSettings` of the mesh';

/** How many endpoints there are; whether one has a zone, and whether a zone has less than its share; zones that hints name, where each has one. */
export const ANY = { count: Infinity, isZoned: true, isThin: false, served: new Set<string>() };

/** Objects that may decide first and what the mesh says; the route by which it is a client, its image and the namespace of a client. */
interface Seen extends Readonly<typeof ANY & Record<'steering', string>>, Partial<Found> {
  readonly rules: readonly EntryObject[];
  readonly mesh: Readonly<Record<'off' | 'root' | 'distribute', string>>;
  readonly services: readonly Service[];
  readonly proxies: readonly PodSummary[];
  readonly entries: readonly EntryObject[];
  readonly podsOf: (service: Service) => readonly PodSummary[];
}

/** The object that decides first: for the Service, the route or its Gateway; and what it makes of zones. */
const ruleOf = ({ byRule }: Client, service: Service, { rules, entry, mesh, from, clients = [], ...seen }: Seen) => {
  const { namespace, name } = refOf(service);
  const targets = entry === undefined ? [] : [`${entry.namespace}/${entry.name}`, ...entry.parents];
  const kinds = byRule?.split(' ') ?? [];
  const own = [`${namespace}/${name}`, `${namespace}/*`, '*/*', ...targets].flatMap((target) =>
    rules.filter(({ kind, services, parents }) => kinds.includes(kind) && [...services, ...parents].includes(target)),
  );
  // istio/istio#27552: a host without the namespace, or a short one beside the mesh
  const stray = new Set([`svc/${name}`, `${mesh.root}/${name}`]);
  const lost = rules.find((each) => own.length === 0 && each.services.some((key) => stray.has(key)));
  if (lost && kinds.includes(lost.kind) && !seen.services.some((each) => lost.services.includes(keyOf(each))))
    return { rule: lost, locality: 'misnamed' };
  const client = from ?? entry?.namespace ?? namespace;
  const places = byRule === 'DestinationRule' ? [client, namespace, mesh.root] : own.map((each) => each.namespace);
  const near = places.flatMap((at) => own.filter((each) => each.namespace === at));
  const isFor = ({ takers = {} }: EntryObject) => clients.every(({ labels }) => matchesSelector(takers, labels));
  const found = near.find((each) => isExported(each, client) && isFor(each));
  const away = near.length > 0 ? 'hidden' : 'elsewhere';
  const locality = found === undefined && own.length > 0 ? away : found?.settings['locality'];
  const isOff = locality === 'mesh' && mesh.off === 'false';
  const isMesh = byRule === 'DestinationRule' && /^(?:mesh|unset|elsewhere|hidden)?$/.test(locality ?? '');
  const byMesh = isMesh && mesh.off !== 'false' && mesh.distribute !== '' ? 'meshDistribute' : locality;
  return { rule: found ?? near[0] ?? own[0], locality: isOff ? 'meshOff' : byMesh };
};

/** Of Linkerd's edges those of 2024 and later count as newer. */
export const imageRelease = (image: string) => imageVersion(image.replace(/:(?:stable|edge(?=-2[4-9]))-/, ':'));

/** Why the object that decides keeps no zone although it is meant to. */
const vainOf = (service: Service, seen: Seen, locality: string, rule?: EntryObject) => {
  const { count, isThin, image = '', clients = [], services, proxies, podsOf, steering } = seen;
  const { least = '0', forced } = rule?.settings ?? {};
  if (locality === 'kept' && count < Number(least)) return 'few';
  if (locality === 'kept' && least !== '0' && forced === undefined && isThin) return 'soft';
  const version = imageRelease(image);
  const ofNodes = version && isSince(version, [2, 7, 0]) ? /^(?:topology\.)?kubernetes\.io\/(?:zone|hostname)$/ : /^$/;
  const isTag = (tag: string) => ofNodes.test(tag) || podsOf(service).some(({ labels }) => Object.hasOwn(labels, tag));
  if (rule?.tags[0] !== undefined && !rule.tags.some(isTag)) return 'untagged';
  const isBlind = proxies.length > 0 && proxies.every(({ labels }) => !labels['topology.kubernetes.io/zone']);
  if (rule?.kind === 'BackendConfigPolicy' && isBlind && !/kgateway_node_zone/i.test(steering)) return 'blind';
  if (!/^(?:outlier|failover|mesh)$/.test(locality) || !version || isSince(version, [1, 20, 0])) return locality;
  const isServed = clients.every((pod) => services.some((own) => selects(own, { ...pod, podLabels: pod.labels })));
  return isServed ? locality : 'unserved';
};

/** What is set already is no remedy, and neither is what the version or edition seen does not know. */
export const asSet = (row: Client, service: Service, seen: Seen): Partial<Client> => {
  const { setting = '', decides = BY_ITSELF, byRule, edition, since: { hints, field, names = field } = {} } = row;
  const { image = '', isZoned } = seen;
  const version = imageRelease(image);
  const { annotations = {}, labels = {} } = service.metadata ?? {};
  const isSpace = ({ kind, name }: EntryObject) => kind === 'Namespace' && name === refOf(service).namespace;
  const inherited = version && isSince(version, [1, 30, 0]) ? seen.entries.find(isSpace)?.annotations : undefined;
  const isRead = Object.entries({ ...inherited, ...annotations }).some((pair) => row.reads?.test(pair.join('=')));
  const wished = service.spec?.trafficDistribution ?? (isRead ? 'the annotation' : undefined);
  const { trafficDistribution: asked = 'PreferClose' } = service.spec ?? {};
  const since = asked === 'PreferClose' ? field : names;
  const { rule, locality: stated = '' } = ruleOf(row, service, seen);
  const isApiServer = [labels['app'], labels['role']].join() === 'kubernetes,apiserver';
  const isLayer7 = seen.entry?.kind === 'VirtualService' && !seen.entry.settings['passes'];
  const locality = vainOf(service, seen, stated, rule);
  if (row === CLIENTS.headless && seen.count === 1) return { setting: IN_ONE };
  if (!isZoned && locality !== 'meshDistribute' && (since !== undefined || byRule !== undefined))
    return { decides: 'no endpoint has a zone that it could prefer', setting: 'zones for its endpoints first' };
  if (edition !== undefined && !edition.test(image))
    return {
      decides: `${decides} (${image === '' ? 'no image shows which runs' : `seen: ${image}`})`,
      // hashicorp/consul#7401
      setting:
        'Enterprise (`prioritizeByLocality` of ServiceResolver or ProxyDefaults), or subsets of instances by zone (ServiceResolver) that a ServiceRouter sends to',
    };
  const isOlder = hints !== undefined && version !== undefined && compareVersions(version, hints) < 0;
  const isGone = hints !== undefined && seen.served.size === 0 && /\w/.test(wishTextOf(service)); // linkerd/linkerd2#10925
  if (isGone && version?.minor === 13 && !isSince(version, [2, 13, 4])) {
    const how = 'keeps to the zone after hints are gone';
    const update = 'an update to 2.13.4 or newer; until then a restart of linkerd-destination once hints are gone';
    return { decides: `${decides}; before 2.13.4 it ${how}; seen: ${image}`, setting: update, byHints: false, how };
  }
  const first = isOlder ? `an update to ${versionText(hints)} or newer: before it takes all endpoints` : '';
  if (isOlder) return { decides: `${decides}; seen: ${image}`, setting: first, byHints: false };
  const counts = since !== undefined && version !== undefined && compareVersions(version, since) >= 0;
  if (counts && wished !== undefined && BY_RULE[locality] === undefined) {
    const even = locality === 'unset' && isApiServer ? (isLayer7 ? LAYER_7 : OF_GARDENER) : '';
    const isByZone = wished === 'PreferSameNode' && byRule === 'BackendTrafficPolicy'; // envoyproxy/gateway#9537
    const how = isByZone ? 'keeps to the zone, not to the Node,' : 'counts';
    const says = `${decides}; ${wished} ${how} in the version seen${EVERYWHERE}`;
    return { decides: says, setting: even, keeps: true, ...(even === LAYER_7 && UNBALANCED) };
  }
  const by = BY_RULE[locality] ?? AFTER_FIELD[locality];
  if (by !== undefined) {
    const from = rule?.settings['owner']?.replace(/^Canary /, '`spec.service.trafficPolicy` of $&');
    const through = from === undefined ? '' : ` (through ${from}, which owns it)`;
    const [ruled, usual, how] = by;
    const unset = isApiServer && locality === 'unset' && !counts ? OF_NEWER : usual;
    const set = isApiServer && how?.keeps ? (isLayer7 ? LAYER_7 : OR_EVEN) : unset;
    const filled = (text?: string) => text?.replace('{rule}', rule === undefined ? '' : objectTitle(rule));
    const says = { ...how, ...(set === LAYER_7 && UNBALANCED) };
    return defined({ decides: filled(ruled), setting: set && `${filled(set)}${through}`, ...says });
  }
  if (version === undefined) return {};
  const left = knownTo(setting, version);
  if (since === undefined) return { setting: left === '' && setting !== '' ? `an update, then ${setting}` : left };
  if (counts) return { setting: left, ...defined({ asks: row.asks }) };
  const newer = `an update to ${versionText(since)} or newer${left && `, or ${left}`}`;
  const ways = wished === undefined ? left || (setting && `${setting}, after an update`) : newer;
  return { decides: `${decides} (${asked} counts from ${versionText(since)} on; seen: ${image})`, setting: ways };
};

const says = (decides: string): Partial<Client> => ({ decides, setting: '' });

/** Where an annotation makes zones count there is nothing left to set. */
export const ifKept = (client: ClientName, ...annotations: readonly (StringMap | undefined)[]): Partial<Client> => {
  const all = annotations.flatMap((own) => Object.entries(own ?? {}));
  if (client === 'skipper/zones' && all.some((own) => own.join('=') === 'zalando.org/traffic-zone-aware=false'))
    return OPTED_OUT;
  const { kept }: Client = CLIENTS[client === 'aws-alb/gateway' ? 'aws-alb' : client];
  const isKept = all.some(([key, value]) => kept?.test(`${key}=${value}`));
  return isKept ? { ...says('an annotation keeps it to zones, and a zone of it without Pods fails'), keeps: true } : {};
};

/** Whether ingress-nginx takes hints of a Service that asks as this one does: kubernetes/ingress-nginx#9165, #12974. */
export const readsHints = ({ metadata, spec }: Service, images: readonly string[]): boolean => {
  const image = images.find((each) => /ingress-nginx\/|nginx-ingress-controller:/.test(each)) ?? '';
  const { minor = 13 } = imageVersion(image) ?? {};
  const isMarked = TOPOLOGY_ANNOTATIONS.some((key) => metadata?.annotations?.[key] !== undefined);
  return isMarked ? minor >= 6 : spec?.trafficDistribution === 'PreferClose' && minor >= 13;
};

/** zalando/skipper#4049 */
const OPTED_OUT = {
  decides: 'its annotation zalando.org/traffic-zone-aware: "false" has it send to all zones',
  setting: 'without that annotation it keeps to its zone',
  how: 'sends to all zones by an annotation',
  keeps: false,
};

/** kubernetes/kubernetes#79739 (GKE): what runs elsewhere may reach no cluster IP. */
export const HOSTED = says(
  'no Node that is seen runs the API server (as on GKE, EKS and AKS): it goes to an endpoint by itself, or through a proxy that no object shows; its flags are set by who runs it, and the Service has no setting for it',
);

export const OUTSIDE: Partial<Client> = {
  decides:
    'the load balancer sends to Pods; those outside its VPC (vpcID), or of another account (iamRoleArnToAssume), are registered for all zones, whatever its cross-zone setting (aws-load-balancer-controller#4831, #2691)',
  setting: 'a target group of the account and VPC of the cluster; of others no release keeps to zones (#4877, open)',
};

/** kubernetes/ingress-nginx#4024 */
export const SHARED = {
  decides: `${BY_ITSELF}; Ingresses of one Service share an upstream: the first that was created decides for all`,
};

export const USE = 'istio.io/use-waypoint';
const OF_AWS = 'service.beta.kubernetes.io/aws-load-balancer-type';
export const namesWaypoint = ({ metadata }: Service): boolean => metadata?.labels?.[USE] !== undefined;

/** deliveryhero/helm-charts#738 */
export const isUpstream = ({ metadata }: Service): boolean =>
  /^(?:kube-dns|node-?local-?dns(?:-?cache)?)-upstream$/.test(metadata?.name ?? '');

/** The Service that a DNS cache of the Nodes asks for what it lacks: not seen, or asking for zones already. */
export const ofCache = (upstream?: Service): string => {
  if (!upstream) return 'what the Service is set to that it asks (`-upstreamsvc`, or `forward` in its Corefile)';
  const isAsking = /\w/.test(wishTextOf(upstream));
  return isAsking ? '' : `what \`kubectl topology explain ${keyOf(upstream)}\` says of the Service that it asks`;
};

/** cilium/cilium#31718 */
const BESIDE_PROXY = {
  decides: `${CLIENTS['cilium-clustermesh'].decides}; Pods in the network of the host, which kube-proxy serves unless socketLB is on, reach those of this cluster alone`,
  setting: `for Pods in the network of the host \`socketLB.enabled=true\` with \`socketLB.hostNamespaceOnly=true\` of its chart; for zones ${CLIENTS['cilium-clustermesh'].setting}`,
};

/** By annotations, labels and the selector of the Service. */
export const byMarks = (service: Service, steering: string, images: readonly string[], count: number): Found[] =>
  SERVICE_MARKS.flatMap(([key, pattern, marked]) => {
    const { annotations = {}, labels = {} } = service.metadata ?? {};
    const said = [...Object.entries(annotations).map((each) => each.join('=')), ...images, steering].join('\n');
    const places = Object.entries({ annotations, labels, selector: service.spec?.selector ?? {} });
    const [place, { [key]: value = '' }] = places.find(([, own]) => own[key] !== undefined) ?? ['', {}];
    const zonal = marked === 'aws-ip-targets' && !isCrossZone(service) ? 'aws-ip-targets/nlb' : marked;
    const beyond = service.spec?.clusterIP === 'None' ? 'headless' : count === 0 && 'none';
    const client = zonal === 'cilium-clustermesh' && beyond ? (`cilium-clustermesh/${beyond}` as const) : zonal;
    const { unless }: Client = CLIENTS[client];
    // Without a class the cloud provider serves type `nlb`, and reads no target type (kubernetes/cloud-provider-aws#419).
    const isUnread = marked === 'aws-ip-targets' && !service.spec?.loadBalancerClass && annotations[OF_AWS] === 'nlb';
    if (!pattern.test(value) || unless?.test(said) || isUnread) return [];
    const field = `${place === 'selector' ? 'spec' : 'metadata'}.${place}[${key}]`;
    const object = `Service ${keyOf(service)}`;
    const isBeside = client === 'cilium-clustermesh' && images.some((image) => /\bkube-proxy[:@]/.test(image));
    return [{ client, evidence: { object, field, value }, own: isBeside ? BESIDE_PROXY : ifKept(client, annotations) }];
  });
