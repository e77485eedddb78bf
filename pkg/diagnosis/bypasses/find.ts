// Which clients of a Service do not pass the rules of its proxies, by the objects that show it.
import type { Service } from '../../apis/core.ts';
import { hasSelector } from '../models/lookup.ts';
import { computeTypeOf } from '../routers/nodes.ts';
import type { EntryObject } from '../snapshot.ts';
import type { BypassIndex } from './bypass-index.ts';
import { CLIENTS, type ClientName, NGINX } from './clients.ts';
import { CONTROLLERS, ofInstances, ofNodePorts, withLabels } from './kinds.ts';
import { byText, defined, keyOf, nameOf, objectTitle, refOf } from '../../apis/values.ts';
import { type Found, aliasesOf, byAddresses, isInterceptor, isTwin, podsOf, podsRunBy } from './members.ts';
import { ANY, BY_ITSELF, CLUSTER_LOCAL, HOSTED, OUTSIDE, PROVIDERS, SHARED, asSet, asking } from './settings.ts';
import { byMarks, ifKept, isUpstream, readsHints } from './settings.ts';
import { OF_SUBSET, byWaypoint, ofRedirect, ofShoot, ofWaypoint, runsIn, splitText, zonesOfPods } from './gateways.ts';
import { SENDS_NOTHING, byDaemonSet, byMeshes } from './meshes.ts';
import type { Client } from './types.ts';
import { type Runner, isExported, selects, watchersOf } from './watchers.ts';

// kubernetes/kubernetes#77018
const UNCALLED =
  'the API server calls no headless Service ("cannot route to service with ClusterIP None") unless it has --enable-aggregator-routing=true, with which it takes a random endpoint';

const classOf = ({ className, annotations }: EntryObject): string =>
  className === '' ? (annotations['kubernetes.io/ingress.class'] ?? '') : className;

/** It, its Gateways, and their class where that is among the objects. */
const waysIn = (entry: EntryObject, { entries }: BypassIndex) => {
  const isParent = (each: EntryObject) =>
    each.kind === 'Gateway' && entry.parents.includes(`${each.namespace}/${each.name}`);
  const gateways = [entry, ...entries.filter(isParent)];
  const [kind, names] = [entry.kind === 'Ingress' ? 'IngressClass' : 'GatewayClass', gateways.map(classOf)];
  return [...gateways, ...entries.filter((each) => each.kind === kind && names.includes(each.name))];
};

/** Type of the targets of an ALB, and what sets them, first in front: kubernetes-sigs/aws-load-balancer-controller#4029, #910, docs/guide/gateway/targetgroupconfig.md; without node ports Pods alone can be; default of EKS Auto Mode: awsdocs/amazon-eks-user-guide latest/ug/automode/auto-configure-alb.adoc */
const targetsOf = (service: Service, entry: EntryObject, index: BypassIndex) => {
  const ways = waysIn(entry, index);
  const { kinds } = index;
  const named = new Set([keyOf(service), ...ways.flatMap(({ parents }) => parents)]);
  const own = [...(kinds.get('TargetGroupConfiguration') ?? []), ...(kinds.get('IngressClassParams') ?? [])].filter(
    ({ namespace, name, services: [key = `${namespace}/${name}`] }) => named.has(key),
  );
  const set = [...own, service.metadata, ...ways].map((each) => each?.annotations ?? {});
  const [type] = set.flatMap((each) => each['alb.ingress.kubernetes.io/target-type'] ?? []);
  const isEks = ways.some(({ controller }) => controller.startsWith('eks.'));
  return { set, type: type ?? (isEks || (service.spec?.type ?? 'ClusterIP') === 'ClusterIP' ? 'ip' : 'instance') };
};

const controllerOf = (entry: EntryObject, index: BypassIndex) =>
  waysIn(entry, index).find(({ controller }) => controller !== '')?.controller;

/** By a policy for the Service, or by parameters of the Gateway or class. */
const isDirect = (entry: EntryObject, key: string, index: BypassIndex): boolean => {
  const own = waysIn(entry, index);
  const ways = new Set([key, ...own.flatMap((each) => [`${each.namespace}/${each.name}`, ...each.parents])]);
  return index.direct.some(({ namespace, name, services, parents }) =>
    [`${namespace}/${name}`, ...services, ...parents].some((target) => ways.has(target)),
  );
};

/** Of F5, and no release of ingress-nginx has such a name. */
const F5 = /\/nginx(?:-plus)?-ingress[:@]/;

const byController = (entry: EntryObject, index: BypassIndex): ClientName | undefined => {
  const isIngress = entry.kind === 'Ingress';
  // Where nothing else is named, it is that of GKE.
  const className = classOf(entry) || (index.isGke ? 'gce' : '');
  const known = controllerOf(entry, index);
  const row = CONTROLLERS.find(([controller, , usual]) =>
    known === undefined ? isIngress && className !== '' && usual?.test(className) : controller.test(known),
  );
  const unnamed = isIngress && classOf(entry) === '';
  const takes = CONTROLLERS.find(([, , , image]) => unnamed && index.images.some((each) => image?.test(each)));
  const client = (takes ?? row ?? [known, isIngress ? 'ingress' : 'gateway'])[1];
  // Both have a class nginx.
  const isOfF5 = known === undefined && client === 'ingress-nginx' && index.images.some((each) => F5.test(each));
  return isOfF5 ? 'f5-nginx-ingress' : client;
};

const clientOf = (entry: EntryObject, index: BypassIndex): ClientName | undefined => {
  if (entry.kind === 'ServiceEntry' && entry.services.length > 0) return 'istio-entry/adds';
  if (SENDS_NOTHING.test(entry.kind) || entry.settings['nativeLB'] === 'true') return undefined;
  // Discovery makes one of every Service; what a route names is used.
  if (entry.kind === 'Upstream' && !index.upstreams.has(`${entry.namespace}/${entry.name}`)) return undefined;
  const own = entry.client ?? byController(entry, index);
  const zonal = own === 'skipper' && /topology-zone|\/routes\/./.test(index.steering) ? 'skipper/zones' : own;
  const client = zonal === 'ingress-nginx' && index.steering.includes('topology-aware') ? 'ingress-nginx/hints' : zonal;
  // By default it goes to the name of the Service.
  const isByName = client === 'emissary' && /^$|service/.test(entry.settings['resolver'] ?? index.resolver);
  return isByName ? undefined : client;
};

/** kumahq/kuma-website#1440, #1737 */
const BY_ZONE_INGRESS =
  '; what comes from other clusters passes a ZoneIngress, which balances connections, of which HTTP/2 has few (`max_requests_per_connection` for clients there, by a MeshProxyPatch, has them connect anew)';

/** Instance targets of AWS are reached through node ports, and so are those of Google without network endpoint groups. */
const takesNodePorts = (client: ClientName, entry: EntryObject, service: Service, index: BypassIndex): boolean =>
  entry.settings['nodePorts'] === 'true' ||
  (client.startsWith('aws-alb') && targetsOf(service, entry, index).type !== 'ip') ||
  (client === 'avi' && service.spec?.type === 'NodePort') ||
  (client === 'f5-bigip' && /--pool-member-type[=\s]nodeport/.test(index.steering)) ||
  (client === 'gke-neg' &&
    entry.kind === 'Ingress' &&
    !/"ingress":\s*true/.test(service.metadata?.annotations?.['cloud.google.com/neg'] ?? ''));

export const nodePortEntries = (service: Service, index: BypassIndex) =>
  (index.byService.get(keyOf(service)) ?? []).flatMap(({ entry }) => {
    const client = clientOf(entry, index);
    if (client === undefined || !takesNodePorts(client, entry, service, index)) return [];
    const { setting = 'with `cloud.google.com/neg: {"ingress": true}` Google\'s sends to Pods, by its own balancing' } =
      CLIENTS[client];
    const zonal = `Zones count only by what the load balancer is set to: ${ifKept(client, entry.annotations).decides ?? setting}.`;
    const remedy = client.startsWith('aws-') ? ofInstances(zonal) : zonal;
    const enters = `through any Node that the load balancer of ${objectTitle(entry)} picks`;
    const nodes = entry.nodes ?? withLabels(entry.annotations['alb.ingress.kubernetes.io/target-node-labels'] ?? '');
    return [{ enters, remedy, sets: '' as const, nodes, ...ofNodePorts(client, index.steering) }];
  });

const passesProxy = (client: ClientName, entry: EntryObject, service: Service, index: BypassIndex): boolean => {
  const isOwn = entry.annotations[NGINX] === 'false' || client !== 'ingress-nginx';
  if ((index.nginxUpstream && !isOwn) || takesNodePorts(client, entry, service, index)) return true;
  if (isDirect(entry, keyOf(service), index)) return true;
  const native = `${PROVIDERS[client] ?? '-'}.nativelb`;
  if (entry.settings['nativeLB'] === undefined && index.steering.toLowerCase().includes(native)) return true;
  const { usesClusterIp = '', ofService = false } = CLIENTS[client];
  const ofEntry = ofService ? {} : entry.annotations; // traefik/traefik#9885
  return [ofEntry, service.metadata?.annotations].some((own) => own?.[usesClusterIp] === 'true');
};

/** By an annotation its Pods take no endpoint that no hint gives to their zone; by the field they fall back: kubernetes/ingress-nginx#11342, #12974. */
const shutOf = (service: Service, { served }: typeof ANY, index: BypassIndex): Partial<Client> | undefined => {
  const isShut = (zone: string): boolean => zone !== '' && served.size > 0 && !served.has(zone);
  const isIt = ({ images }: Runner): boolean => CLIENTS['ingress-nginx'].image?.test(images.join()) === true;
  const pods = index.watchers.receivers.flatMap(({ runner }) => (isIt(runner) ? podsRunBy(runner, index.pods) : []));
  const zones = zonesOfPods(index, pods).filter(isShut).join(', ');
  if (zones === '' || service.spec?.trafficDistribution === 'PreferClose') return undefined;
  const decides = `its Pods in ${zones} answer 503: for a Service that asks by annotation they take no endpoint of other zones in any release that reads hints (from 1.6.4), and no hint is for ${zones}`;
  const setting = `Pods of Service {service} in ${zones}; until then \`kubectl annotate ingress {name} -n {namespace} ${NGINX}=true\` sends to the cluster IP, which falls back, and so does ingress-nginx from 1.13.0 on for exactly PreferClose (Kubernetes 1.31 and newer) in place of the annotation`;
  return { decides, setting, fails: 'NoBackendForZone', how: `answers 503 in ${zones}`, byHints: false };
};

const byEntries = (service: Service, key: string, index: BypassIndex, endpoints: typeof ANY): Found[] =>
  (index.byService.get(key) ?? []).flatMap(({ entry }, _, ways) => {
    const isBackend = entry.settings['redirects']?.split(',').includes(key) === false;
    const way = isBackend ? 'cilium-gateway' : clientOf(entry, index);
    // The route says it already, of whose Gateway or Ingress Cilium made this.
    if (isBackend && ways.some((each) => clientOf(each.entry, index) === way)) return [];
    const client = way === 'ingress-nginx/hints' && !readsHints(service, index.images) ? 'ingress-nginx' : way;
    const from = client === 'istio-gateway' ? index.watchers.gatewaySpace : undefined;
    if (!client || passesProxy(client, entry, service, index) || (from && !isExported(entry, from))) return [];
    const [field, value] = entry.kind === 'Ingress' ? ['spec.ingressClassName', classOf(entry)] : ['service', key];
    const evidence = { object: objectTitle(entry), field, value: value === '' ? '(default)' : value };
    const isShared = client === 'ingress-nginx' && ways.some((each) => passesProxy(client, each.entry, service, index));
    const kept = isShared ? SHARED : ifKept(client, ...targetsOf(service, entry, index).set);
    const redirect = client === 'cilium-redirect' ? ofRedirect(entry, index) : undefined;
    const called = service.spec?.clusterIP === 'None' ? { decides: UNCALLED, setting: '' } : kept;
    const shut = client === 'ingress-nginx/hints' ? shutOf(service, endpoints, index) : undefined;
    const plain = client === 'kube-apiserver' ? (index.isHosted ? HOSTED : called) : (shut ?? redirect ?? kept);
    const own = entry.settings['outside'] === undefined ? plain : OUTSIDE;
    const all = client === 'cilium-redirect' && redirect === undefined && ways.length === 1;
    return [{ client, evidence, controller: controllerOf(entry, index), entry, own, from, all }];
  });

/** Routes to a headless Service of the same Pods, whose controllers would go to a cluster IP: grafana/mimir#10994 */
const byHeadless = (service: Service, namespace: string, index: BypassIndex): Found[] =>
  (index.members.headless.get(namespace) ?? []).flatMap((twin) => {
    const named = isTwin(service, twin) ? keyOf(twin) : '';
    return byEntries(twin, named, index, ANY).flatMap((found) => {
      const { usesClusterIp, setting }: Client = CLIENTS[found.client];
      if (usesClusterIp === undefined || found.entry === undefined) return [];
      const then = passesProxy(found.client, found.entry, service, index) ? '' : `; then ${setting}`;
      const decides = `it names Service ${named}, which has the same Pods and no cluster IP, and sends to Pods`;
      return [{ ...found, own: { decides, setting: `Service {service} in its place${then}` } }];
    });
  });

/** Routes to another Service of the same Pods and a longer name, where a DestinationRule names this one: fluxcd/flagger#1719. */
const byOthers = (service: Service, key: string, index: BypassIndex): Found[] => {
  const kinds = index.byService.get(key)?.map(({ entry }) => entry.kind) ?? [];
  if (!kinds.includes('DestinationRule') || !kinds.every((kind) => SENDS_NOTHING.test(kind))) return [];
  const decides = 'it sends to another Service of the same Pods, for which no DestinationRule of this one counts';
  const setting = 'a rule for that, see `kubectl topology explain {value}`';
  const own = { decides, setting, keeps: false, how: 'sends to another Service' };
  return (index.members.alike.get(podsOf(service)) ?? [])
    .flatMap((each) => (keyOf(each).startsWith(key) ? byEntries(each, keyOf(each), index, ANY) : []))
    .flatMap((each) => (each.client === 'istio-gateway' ? { ...each, own } : []));
};

const byAutoMode = ({ nodes }: BypassIndex): Found[] => {
  const auto = nodes.filter((node) => computeTypeOf(node) === 'auto');
  const evidence = { object: `Node ${auto[0] && nameOf(auto[0])}`, field: 'metadata.labels', value: 'auto' };
  return auto.length > 0 ? [{ client: 'eks-auto-dns', evidence, all: auto.length === nodes.length }] : [];
};

/** What is to be set sends these to the cluster IP, as an annotation does others. */
const LED = /^(?:apisix|nginx-gateway|emissary|(?:f5-nginx-ingress|traefik)\/route)$/;
const KEDA = 'keda-interceptor';
/** Objects of these name Services that have other clients. */
const NO_ROUTE = /^(?:kube-apiserver|cilium-redirect|istio-entry|envoy-gateway\/telemetry)/;

/** Clients of the Service that go around its proxies, each kind once for each object, in name order. */
export const bypassesOf = (service: Service, index: BypassIndex, endpoints = ANY) => {
  const { namespace, name } = refOf(service);
  const { type = 'ClusterIP', clusterIP = '' } = service.spec ?? {};
  if (type === 'ExternalName') return [];
  const key = `${namespace}/${name}`;
  // By another name where the cache has a Service of its own to ask (RKE2).
  const isOther = service.metadata?.labels?.['k8s-app'] === 'kube-dns' && !isUpstream(service);
  const isDns = isOther || key === 'kube-system/kube-dns';
  // GKE has redirects of its own.
  const isCilium = index.images.some((image) => /^(?!gke).*\bcilium[:@]/.test(image));
  const around = [...byEntries(service, key, index, endpoints), ...byOthers(service, key, index)];
  const sent = index.byService.get(key)?.filter(({ entry }) => !SENDS_NOTHING.test(entry.kind)).length || around.length;
  // It has the cluster IP as well, where kube-proxy leaves that to it.
  const [, listens = clusterIP] = /-localip[\s=](\d\S+)/.exec(index.steering) ?? [];
  const usual = listens.includes(clusterIP) ? 'node-local-dns' : 'node-local-dns/apart';
  const cache = isCilium && !around.some(({ all }) => all) ? 'node-local-dns/cilium' : usual;
  const callers = index.members.callers.get(key)?.map(({ runner }) => runner) ?? [];
  const isRoute = ({ entry }: { entry: EntryObject }) => entry.client !== 'aws-ip-targets';
  const isUsed = index.byService.get(key)?.some(isRoute) || callers.some((runner) => !selects(service, runner));
  const found: Found[] = [
    ...around,
    ...byMarks(service, index.steering, index.images, endpoints.count),
    ...(isDns ? [...byDaemonSet('node-local-dns', cache, index.daemonSets), ...byAutoMode(index)] : []),
    ...(name === 'calico-typha' ? byDaemonSet('calico-node', 'calico-typha', index.daemonSets) : []),
    // What a client takes from DNS is the address of a Pod, to which sidecars keep.
    ...(clusterIP === 'None'
      ? []
      : [byMeshes(service, around, sent, index), byHeadless(service, namespace, index)].flat()),
    ...byWaypoint(service, index),
    ...ofShoot(service, index),
    ...byAddresses(service, index.members),
  ];
  // ztunnel sends to the waypoint where there is one.
  const isSaid = ({ client, entry }: Found): boolean =>
    (client.startsWith('istio-ambient') && found.some((by) => by.client === 'istio-waypoint')) ||
    found.some((by) => by.client.startsWith('aws-') && (by.entry?.kind ?? 'Service') === entry?.settings['madeFor']);
  const ways = found.filter((each) => !isSaid(each));
  const others = callers.filter((own) => !selects(service, own) && !isInterceptor(own));
  const isInside = /^(?:ClusterIP|NodePort)$/.test(type) && others.length === 0;
  const first = ways.find(({ possible }) => !possible)?.client ?? KEDA;
  const isSame = ({ entry, client, possible }: Found) =>
    possible || ((entry || client === KEDA) && client === first && !NO_ROUTE.test(client));
  /** No other client is seen than routes of one kind. */
  const isOfRoutes = isInside && sent === found.filter(({ entry }) => entry).length && ways.every(isSame);
  const known = ways.map((way) => {
    const isWaypoint = way.client === 'istio-waypoint';
    const more = isWaypoint ? ofWaypoint(way.evidence.value, service, index) : {};
    const { client, evidence, controller = '', possible = false, own = {}, ...seen } = { ...way, ...more };
    // All connections to its cluster IP (cilium/cilium#48738); the Service of a Gateway has no selector.
    const isWhole = client === 'node-local-dns' || (client === 'cilium-envoy' && hasSelector(service));
    const isTaken = isWhole || (isWaypoint && found.some((each) => /ambient/.test(each.client) && each.all));
    const route = isOfRoutes && !possible;
    const all = seen.all === true || isTaken || route || (!isUsed && client.startsWith('aws-ip-'));
    const plain = asking(CLIENTS[client], index.hasField);
    // What Istio's proxies do is said by istiod.
    const tag = /:[^:]+$/.exec(seen.image ?? '')?.[0] ?? '-';
    const pilots = [...index.pilots.filter((pilot) => pilot.endsWith(tag)), ...index.pilots];
    const image = [...pilots, seen.image ?? '', ...index.images].find((each) => plain.image?.test(each));
    const isThin = endpoints.isThin || (isOfRoutes && Boolean(runsIn({ clients: index.proxies, all: true }, index)));
    const set = asSet(plain, service, { ...index, ...defined({ ...seen, image }), ...endpoints, isThin });
    const row: Client = { ...plain, ...set, ...own };
    const onNode = row.onNode === true && !row.unsure && all;
    const owner = plain.usesClusterIp && !plain.ofService && seen.entry?.settings['owner'];
    const there = owner ? `; ${owner} owns ${evidence.object}: set it there` : '';
    const then = isWaypoint && own.setting && set.setting ? `; ${set.setting}` : there;
    /** It sees connections, and no requests. */
    const passes = /ambient|clustermesh/.test(client) || Boolean(seen.entry?.settings['passes']);
    const { decides = BY_ITSELF, setting = onNode && isDns ? index.ofCache : '', source, unsure = false } = row;
    const { byHints = false, keeps = onNode && setting === '' } = row;
    const split = keeps && plain.byRule === 'DestinationRule' ? splitText(service, index) : '';
    const isJoined = keeps && plain.byRule === 'DestinationRule' && index.joined !== '';
    const { asks } = [own, set].find((each) => each.setting !== undefined) ?? plain;
    const inner = client === 'kuma' && index.kinds.has('ZoneIngress') ? BY_ZONE_INGRESS : split;
    const isNone = seen.entry && setting === '' && plain.setting === undefined && !unsure && !keeps;
    const placed = keeps ? runsIn(seen, index) : undefined;
    const [object = name] = evidence.object.split('/').slice(-1);
    const text = isJoined ? CLUSTER_LOCAL : split ? OF_SUBSET : `${setting}${then}`;
    const names = { service: name, value: evidence.value, name: object, namespace };
    return {
      client: client.replace(/\/.*$/, ''),
      evidence,
      decides: `${decides.replace('{controller}', controller === '' ? '' : ` (${controller})`)}${placed ? `, and runs in ${placed.join(', ')} alone` : ''}${inner}${plain.byRule === 'DestinationRule' ? index.joined : isNone ? '; no setting for zones is known here' : ''}`,
      unsure,
      byHints,
      keeps: keeps && !isJoined && split === '',
      ...defined({ adds: row.adds, fails: row.fails, how: row.how, none: isNone || row.none, placed, asks }),
      through: plain.usesClusterIp !== undefined || LED.test(client),
      setting: text.replace(/\{(service|value|name|namespace)\}/g, (_, blank: keyof typeof names) => names[blank]),
      /** Every client of the Service that is seen goes this way. */
      all,
      /** Nothing shows that clients of this Service are among them. */
      possible,
      source,
      firstContact: !possible && !seen.behind && (client === 'members' || evidence.field === 'spec.selector'),
      ...defined({ passes: passes || undefined, known: seen.known || undefined, behind: seen.behind || undefined }),
      ...(onNode && { onNode }),
    };
  });
  const isRouted = found.some(({ client }) => client === 'ingress' || client === 'gateway');
  // What shows how it takes them says more than that it may.
  const shown = new Set(known.flatMap(({ client, evidence }) => (client === 'resolver' ? evidence.object : [])));
  const suspected = watchersOf(service, index.watchers, callers, isRouted);
  type Suspected = (typeof suspected)[number];
  const all: (Omit<Suspected, 'watches'> & Partial<Suspected & (typeof known)[number] & { names: true }>)[] = [
    ...known,
    ...suspected.filter(({ evidence }) => !shown.has(evidence.object)),
    ...(isDns ? [] : aliasesOf(service, index.members)),
  ];
  return all.sort((a, b) => byText(a.client, b.client) || byText(a.evidence.object, b.evidence.object));
};

/** Nothing but a suspicion, of connections that meters would see: sidecars and tunnels use ports of their own, load balancers no Node. */
export const connectsToPods = (bypass: ReturnType<typeof bypassesOf>[number]): boolean =>
  'watches' in bypass || ['headless-service', 'members', 'registry', 'resolver'].includes(bypass.client);
