// Nodes, Services, EndpointSlices (v1 and v1beta1) and what sends to Services from outside, reduced to what the models look at.
import { zoneIn } from '../../apis/core.ts';
import type { Endpoint, EndpointHints, EndpointSlice, Node, Service } from '../../apis/core.ts';
import { type Fields, createPool, defined, isFields } from '../../apis/values.ts';
import type { Condition, StringMap } from '../../apis/meta.ts';
import { LABEL_HOSTNAME, LABEL_ZONE } from '../../apis/names.ts';
import { parseQuantity } from '../../apis/quantity.ts';
import { clientOfKind, steersClient } from '../bypasses/kinds.ts';
import { settingsIn } from '../bypasses/programs.ts';
import { writersIn } from '../owner.ts';
import { selectorOf } from './routers.ts';
import { FieldError, asFields, asFlag, asStrings, asText, asWhole, having, listReader, shape } from './fields.ts';
import { type Metadata, fieldAt, fieldsIn, listIn, pickTexts, reader, stringsIn, textIn, textsIn } from './fields.ts';
import { objectsIn, placesOf } from './fields.ts';
import { makerOf, releaseOf } from './workloads.ts';

const readQuantity = reader(
  'a quantity such as 4, 3920m or 1.5',
  (value): value is string | number =>
    ['string', 'number'].includes(typeof value) && parseQuantity(String(value)) !== undefined,
);

const readNode = shape({
  spec: shape({ unschedulable: asFlag, taints: listReader(asFields) }),
  status: shape({
    conditions: listReader(shape({ type: asText, status: asText })),
    addresses: listReader(having({ address: asText }, 'address', 'an address')),
    // The decoder of the API takes numbers for quantities as well.
    allocatable: shape({ cpu: (value) => String(readQuantity(value)) }),
    nodeInfo: shape({ kubeletVersion: asText }),
  }),
});

const madeAt = (object: Fields) =>
  defined({ creationTimestamp: textIn(object, 'metadata.creationTimestamp') || undefined });

/** Before 1.17 the only label of zones is an older one (kubernetes/kubernetes#81431). */
const WITH_OLD_ZONE = /^v1\.(?:\d|1[0-6])\./;

export const nodeOf = (object: Fields, metadata: Metadata): Node => {
  const { spec: { unschedulable = false, taints = [] } = {}, status = {} } = readNode(object);
  const { conditions: all, ...facts } = status;
  const conditions = all?.filter(({ type }) => type === 'Ready') as Condition[] | undefined;
  const [providerID] = /^\w+:/.exec(textIn(object, 'spec.providerID')) ?? [];
  const isOff = unschedulable || taints.length > 0;
  const { 'failure-domain.beta.kubernetes.io/zone': old } = metadata.labels ?? {};
  const zone = WITH_OLD_ZONE.test(status.nodeInfo?.kubeletVersion ?? '') && old;
  const labels = zone ? { [LABEL_ZONE]: zone, ...metadata.labels } : metadata.labels;
  return {
    metadata: { ...metadata, ...madeAt(object), ...defined({ labels }) },
    // Only where Pods are kept away, or of a cloud.
    ...((isOff || providerID) && { spec: defined({ providerID, ...(isOff && { unschedulable, taints }) }) }),
    status: { ...facts, ...defined({ conditions }) },
  };
};

const MAX_PORT = 65_535;

const asPort = reader(
  `a port from 0 to ${MAX_PORT}`,
  (value): value is number => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_PORT,
);

const asTarget = reader('a port or its name', (value): value is number | string => /number|string/.test(typeof value));

const readPort = having(
  { port: asPort, targetPort: asTarget, name: asText, protocol: asText, nodePort: asPort, appProtocol: asText },
  'port',
  'a port number',
);

const readService = shape({
  spec: shape({
    type: asText,
    clusterIP: asText,
    clusterIPs: listReader(asText),
    selector: asStrings,
    ports: listReader(readPort),
    ipFamilies: listReader(asText),
    externalIPs: listReader(asText),
    internalTrafficPolicy: asText,
    externalTrafficPolicy: asText,
    loadBalancerClass: asText,
    sessionAffinity: asText,
    trafficDistribution: asText,
    publishNotReadyAddresses: asFlag,
    topologyKeys: listReader(asText),
  }),
  status: shape({ loadBalancer: shape({ ingress: listReader(asFields) }) }),
});

export const serviceOf = (object: Fields, metadata: Metadata): Service => ({
  metadata: { ...metadata, ...writersIn(object), ...madeAt(object) },
  spec: {},
  ...readService(object),
});

const ADDRESSES = 'a list of at least one address';
const ADDRESS_TYPES: ReadonlySet<string> = new Set(['IPv4', 'IPv6', 'FQDN']);

/** One object for all that are alike, which repeat by zone. */
const createShared = <T>(read: (value: unknown) => T, keyOf: (item: T) => string) => {
  const pooled = createPool(keyOf);
  return (value: unknown): T => pooled(read(value));
};

/** Reads slices; hold on to one reader for all of them, since it remembers the names it has seen. */
export const createSliceReader = (): ((object: Fields, metadata: Metadata) => EndpointSlice) => {
  const once = createShared(asText, (text) => text);
  const names = listReader((item) => ({ name: fieldAt(asFields(item), 'name', once) ?? '' }));
  const sharedHints = createShared<EndpointHints>(shape({ forZones: names, forNodes: names }), JSON.stringify);

  const readEndpoint = having(
    {
      addresses: listReader(asText),
      conditions: shape({ ready: asFlag, serving: asFlag, terminating: asFlag }),
      zone: once,
      nodeName: once,
      // v1beta1 says zone and node in `topology`; v1 has fields and no `topology`.
      topology: asStrings,
      targetRef: shape({ kind: once, name: asText, uid: asText }),
      hints: sharedHints,
    },
    'addresses',
    ADDRESSES,
  );

  const endpointOf = (item: unknown): Endpoint => {
    const { topology = {}, zone: named, nodeName: node, conditions, ...endpoint } = readEndpoint(item);
    if (endpoint.addresses.length === 0) throw new FieldError(['addresses'], ADDRESSES, endpoint.addresses);
    const zone = zoneIn(named ?? topology[LABEL_ZONE]) || undefined;
    // The controller, which reads only what says so as ready, always writes it: without it a slice is written by hand.
    const own = { ...endpoint, conditions: { ready: true, ...conditions } };
    return { ...own, ...defined({ zone, nodeName: node ?? topology[LABEL_HOSTNAME] }) };
  };

  const readSlice = shape({
    addressType: once,
    endpoints: listReader(endpointOf),
    ports: listReader(shape({ name: once, protocol: once, port: asWhole })),
  });

  return (object, metadata) => {
    const { addressType = '', endpoints = [], ports = [] } = readSlice(object);
    if (!ADDRESS_TYPES.has(addressType))
      throw new FieldError(['addressType'], 'IPv4, IPv6 or FQDN', object['addressType']);
    return { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, addressType, endpoints, ports };
  };
};

/** Of Istio and Emissary: `service`, or with its namespace and more, in a URL too. */
const hostOf = (object: Fields, key = 'host') => {
  const [, name = '', namespace = ''] = /^(?:\w+:\/\/)?([^.:]*)\.?([^.:]*)/.exec(textIn(object, key)) ?? [];
  // `*.local` and more of it are all Services.
  return { name, namespace: name === '*' && /^(?:svc|cluster|local)?$/.test(namespace) ? '*' : namespace };
};

const keepsZone = (inner: Fields): boolean =>
  fieldsIn(inner, 'zoneAware')['preferLocal'] !== undefined ||
  listIn(inner, 'localZone.affinityTags').length > 0 ||
  textIn(inner, 'prioritizeByLocality.mode') === 'failover';

/** Services for which Kuma's policy keeps to zones; a star and a star where it does so for the whole mesh. */
const zonalTargets = (spec: Fields): Fields[] => {
  const zonal = listIn(spec, 'to').filter((to) => objectsIn(to).some(keepsZone));
  const targets = zonal.map((to) => fieldsIn(to, 'targetRef'));
  if (targets.some(({ kind }) => kind === undefined || kind === 'Mesh')) return [{ name: '*', namespace: '*' }];
  return targets.map((target) => {
    const shown = textIn(target, 'name') || stringsIn(target, 'labels')['kuma.io/display-name'] || '(labels)';
    // `web_shop_svc_80`, before there are objects of kind MeshService.
    const [, name = shown, namespace = target['namespace']] = /^(.+)_(.+)_svc_\d+$/.exec(shown) ?? [];
    return { name, namespace };
  });
};

/**
 * What a DestinationRule makes of zones, or another policy: Istio looks at them only with outlier detection, unless something else asks
 * for it; a port and a subset have their own (istio/istio pilot/pkg/networking/core/loadbalancer).
 */
const localityOf = (object: Fields, all: readonly Fields[]): string | undefined => {
  const hashed = all.some((own) => own['type'] === 'ConsistentHash' || 'weightedZones' in fieldsIn(own, 'zoneAware'));
  if (object['kind'] !== 'DestinationRule') return hashed ? 'hashed' : all.some(keepsZone) ? 'kept' : undefined;
  const policy = fieldsIn(object, 'spec.trafficPolicy');
  const setting = fieldsIn(policy, 'loadBalancer')['localityLbSetting'];
  if (textIn(policy, 'loadBalancer.simple') === 'PASSTHROUGH') return 'passthrough';
  if ('zoneAwareLbSetting' in fieldsIn(policy, 'loadBalancer')) return 'aware';
  const lacks = (own: Fields): boolean => own['outlierDetection'] === undefined;
  if (isFields(setting) && setting['enabled'] === false) return 'off';
  if (listIn(setting, 'distribute').length > 0) return 'distribute';
  const ports = listIn(policy, 'portLevelSettings');
  const parts = [...ports, ...listIn(object, 'spec.subsets').map((own) => fieldsIn(own, 'trafficPolicy'))];
  if (lacks(policy) ? !parts.every(lacks) : ports.some(lacks)) return 'partly';
  if (lacks(policy)) return 'consistentHash' in fieldsIn(policy, 'loadBalancer') ? 'ring' : setting ? 'bare' : 'unset';
  const ranks = textsIn(setting, 'failoverPriority');
  if (ranks.length > 0 && !ranks.some((label) => /zone|hostname/.test(label))) return 'ranked';
  return setting === undefined ? 'mesh' : listIn(setting, 'failover').length > 0 ? 'failover' : 'outlier';
};

/** Where, at any depth, objects name the Services that they send to, by the field that is the name: Gloo's `kube`, BIG-IP's `pool`. */
const REFERENCES = {
  name: 'service serviceRef backendRefs backendRef mirroring mirrors targetRefs targetReference services backendServices to alternateBackends kube.ref',
  service: 'upstreams pool pools target',
  serviceName: 'backend backends serviceMatcher kube',
} as const;
/** By its address: of Backends, EnvoyFilters, Prometheus, and KEDA's HTTPScaledObjects. */
const HOSTS = { fqdn: 'hostname', socket_address: 'address', remoteWrite: 'url', scaleTargetRef: 'service' } as const;

/** Of a VirtualService: where routes send that are for sidecars alone, or the others. */
const destinationsIn = (all: readonly Fields[], areMeshed: boolean) => {
  const gatewaysOf = (route: Fields) => listIn(route, 'match').map((own) => textsIn(own, 'gateways').join());
  const isMeshed = (route: Fields) =>
    gatewaysOf(route)[0] !== undefined && /^(?:mesh,?)+$/.test(gatewaysOf(route).join());
  const meshed = new Set(objectsIn(all.filter(isMeshed)));
  const own = all.filter((inner) => meshed.has(inner) === areMeshed);
  return own.flatMap((inner) => ['destination', 'mirror'].map((key) => hostOf(fieldsIn(inner, key))));
};

/** What objects of these kinds name otherwise. */
const MORE: Readonly<Record<string, (spec: Fields, name: string, all: readonly Fields[]) => readonly Fields[]>> = {
  ServiceExport: (_, name) => [{ name }],
  ServiceEntry: (spec) => textsIn(spec, 'hosts').flatMap((host) => (/\.svc(\.|$)/.test(host) ? hostOf({ host }) : [])),
  DestinationRule: (spec) => [hostOf(spec)],
  Mapping: (spec) => [hostOf(spec, 'service')],
  // Without a gateway it is for sidecars.
  VirtualService: (spec, _, all) =>
    textsIn(spec, 'gateways').some((gateway) => gateway !== 'mesh') ? destinationsIn(all, false) : [],
  MeshLoadBalancingStrategy: zonalTargets,
  ServiceResolver: (_, name) => [{ name }],
  ProxyDefaults: () => [{ name: '*', namespace: '*' }],
};

const PICKS = ['spec.selector', 'spec.selector.matchLabels', 'spec.workloadSelector.labels'];

/** Who acts on it sees connections, and no requests, unless it has routes for HTTP. */
const PASSED = /^(?:T(?:CP|LS)Route|TCPMapping|IngressRouteTCP|VirtualService)$/;

/** An object that sends traffic to Services, or says who does for others: Ingress, route, Gateway, class, registration. */
export type EntryObject = Readonly<ReturnType<typeof clientEntry>>;

export const clientEntry = (object: Fields, { namespace = '', name, annotations = {}, labels = {} }: Metadata) => {
  const all = objectsIn([object['spec'], object['webhooks']]);
  const under = (...keys: readonly string[]): Fields[] => {
    const found = all.flatMap((inner) => keys.flatMap((key) => [fieldsIn(inner, key), ...listIn(inner, key)]));
    return found.filter((own) => Object.keys(own).length > 0);
  };
  const { apiVersion, kind, targetType } = pickTexts(object, 'apiVersion', 'kind', 'spec.targetType');
  const actionsOfAlb = Object.entries(annotations).flatMap(([key, text]) => (key.includes('/actions.') ? text : []));
  const references = [
    ...Object.entries(REFERENCES).flatMap(([field, keys]) =>
      under(...keys.split(' '))
        .filter((own) => own['resolveGranularity'] !== 'service' && ['', 'Service'].includes(textIn(own, 'kind')))
        .map((own) => ({ name: own[field], namespace: own['namespace'] ?? own['serviceNamespace'] })),
    ),
    ...[...actionsOfAlb.join().matchAll(/"serviceName":\s*"([^"]+)"/gi)].map(([, own]) => ({ name: own })),
    ...Object.entries(HOSTS).flatMap(([key, field]) => under(key).map((own) => hostOf(own, field))),
    ...(MORE[kind.replace(/^TCP/, '')]?.(fieldsIn(object, 'spec'), name, all) ?? []),
  ];
  const [services, upstreams] = [under('services', 'backendServices'), under('upstreams')];
  const native = services.length > 0 && services.every((item) => item['nativeLB'] === true) ? 'true' : undefined;
  const direct = upstreams.length > 0 && upstreams.every((item) => item['use-cluster-ip'] === true);
  // Where its parents are Services it is for the proxies of a mesh, which are found by themselves (GEP-1294).
  const parentRefs = listIn(object, 'spec.parentRefs');
  const meshed = parentRefs.length > 0 && parentRefs.every((own) => own['kind'] === 'Service');
  // What objects of the AWS Load Balancer Controller set, as annotations of an Ingress set the same.
  const at = 'alb.ingress.kubernetes.io/target-';
  const attributes = under('targetGroupAttributes').map((own) => `${textIn(own, 'key')}=${textIn(own, 'value')}`);
  const type = targetType || textIn(object, 'spec.defaultConfiguration.targetType');
  const targets = { [`${at}type`]: type, [`${at}group-attributes`]: attributes.join() };
  const marks = Object.entries({ ...targets, ...(kind === 'Namespace' && labels), ...annotations });
  const labelled = Object.keys(labels).filter((key) => /\/stack(?:-name)?$/.test(key));
  const isOfNodes = kind === 'TargetGroupBinding' && targetType !== 'ip';
  const { nodeSelector, workloadSelector, routingType, useClusterIP, serviceUpstream } = fieldsIn(object, 'spec');
  const { localEndpointSelector = workloadSelector } = fieldsIn(object, 'spec.redirectBackend');
  const local = all.map((inner) => fieldsIn(inner, 'zoneAware')['preferLocal']).find(isFields);
  const picked: StringMap = Object.assign({}, ...PICKS.map((path) => stringsIn(object, path)));
  const isPicking = /^(?:InferencePool|ServiceEntry)$/.test(kind) && Object.keys(picked).length > 0;
  // Without gateways it is for sidecars, which take its hosts themselves.
  const isMeshed = /^VirtualService,(?:$|.*\bmesh\b)/.test([kind, textsIn(object, 'spec.gateways')].join());
  const hosts = all.flatMap((own) => [
    ...['host', 'virtualhost.fqdn'].map((path) => textIn(own, path)),
    ...['hosts', 'hostnames'].flatMap((path) => textsIn(own, path)),
    // Of Traefik: Host(`a`, `b`) && …
    ...(textIn(own, 'match').match(/(?<=Host(?:SNI)?\([^)]{0,200}`)[\w.-]+(?=`)/g) ?? []),
  ]);
  const rack = fieldsIn(object, 'spec.kafka')['rack'] === undefined ? '' : 'broker.rack';
  const egress = listIn(object, 'spec.egress').flatMap((own) => textsIn(own, 'hosts'));
  return {
    kind,
    namespace,
    name,
    /** Services that it sends to, `namespace/name`. */
    services: direct || meshed ? [] : placesOf(references, namespace),
    /** An IngressClass or GatewayClass; empty: none, or the default. */
    className: textIn(object, 'spec.ingressClassName') || textIn(object, 'spec.gatewayClassName'),
    controller: textIn(object, 'spec.controller') || textIn(object, 'spec.controllerName'),
    /** Gateways of a route, and parameters of a Gateway or class, `namespace/name`; upstreams of Gloo have no other name for what a route sends to. */
    parents: placesOf(under('parentRefs', 'targetRefs', 'upstream', 'parametersRef', 'parameters'), namespace),
    ports: listIn(object, 'spec.redirectBackend.toPorts').map((own) => textIn(own, 'name').slice(0, 63)),
    tags: under('localZone.affinityTags').map((own) => textIn(own, 'key')),
    annotations: Object.fromEntries(marks.filter(([key, text]) => text !== '' && steersClient(key))),
    settings: defined({
      locality: localityOf(object, all),
      /** Of Envoy's zone-aware balancing: the fewest endpoints, and whether it keeps to its zone in any case. */
      least: local && String(Number(local['minEndpointsThreshold'] ?? 6)),
      forced: local?.['force'] === undefined ? undefined : 'true',
      exportTo: textsIn(object, 'spec.exportTo').join() || (!isPicking && workloadSelector ? '.' : undefined),
      set: settingsIn([rack, ...Object.keys(stringsIn(object, 'spec.kafka.config'))]).join() || undefined,
      /** Of a Sidecar of all Pods of its namespace: the hosts that these know. */
      knows: workloadSelector === undefined ? egress.join() || undefined : undefined,
      sidecars: kind === 'VirtualService' ? placesOf(destinationsIn(all, true), namespace).join() : undefined,
      hosts: isMeshed ? undefined : hosts.join(' ').trim() || undefined,
      owner: makerOf(object) ?? releaseOf(annotations),
      direct: [routingType === 'Service', useClusterIP, serviceUpstream].includes(true) ? 'true' : undefined,
      nativeLB: services.some((item) => item['nativeLB'] === false) ? 'false' : native,
      nodePorts: services.some((own) => own['nodePortLB'] === true) || isOfNodes ? 'true' : undefined,
      passes: PASSED.test(kind) && listIn(object, 'spec.http').length === 0 ? 'true' : undefined,
      /** Whose own traffic a CiliumEnvoyConfig takes: `backendServices` are only what its Envoy sends to. */
      redirects: under('backendServices').length > 0 ? placesOf(under('services'), namespace).join() : undefined,
      /** By the AWS Load Balancer Controller, of whose load balancer it is. */
      madeFor: ['Ingress', 'Service'].find((own) => labelled.some((key) => key.startsWith(`${own.toLowerCase()}.`))),
      address: textIn(object, 'spec.redirectFrontend.addressMatcher.ip') || undefined,
      outside: textIn(object, 'spec.iamRoleArnToAssume') || textIn(object, 'spec.vpcID') || undefined,
      resolver: textIn(object, 'spec.resolver') || textIn(object, 'spec.config.resolver') || undefined,
    }),
    ...defined({
      /** Who acts on it, where its kind says so. */
      client: clientOfKind(apiVersion, kind),
      /** Its load balancer sends to these alone. */
      nodes: isFields(nodeSelector) ? [selectorOf(nodeSelector)] : undefined,
      pods: isPicking ? { matchLabels: picked } : undefined,
      subsets:
        kind === 'DestinationRule' ? listIn(object, 'spec.subsets').map((own) => stringsIn(own, 'labels')) : undefined,
      podLabels: kind === 'WorkloadEntry' ? { ...stringsIn(object, 'spec.labels'), ...labels } : undefined,
      /** Of a local redirect of Cilium: what takes it; of a DestinationRule: whose clients it is for (istio/istio#41235). */
      takers: isFields(localEndpointSelector) ? selectorOf(localEndpointSelector) : undefined,
    }),
  };
};
