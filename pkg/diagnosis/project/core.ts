// Nodes and Services reduced to what the models look at.
// EndpointSlices reduced to what the models look at, v1 and v1beta1; names that repeat are kept once.
// Ingresses, routes, Gateways, classes and registrations, reduced to the Services that they send to and who acts on them.
import { zoneIn } from '../../apis/core.ts';
import type { Endpoint, EndpointHints, EndpointSlice, Node, Service } from '../../apis/core.ts';
import { type Fields, defined, isFields } from '../../apis/values.ts';
import type { Condition, StringMap } from '../../apis/meta.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import type { EntryObject } from '../bypasses/clients.ts';
import {
  FieldError,
  asFields,
  asFlag,
  asStrings,
  asText,
  asWhole,
  fieldAt,
  having,
  listIn,
  listReader,
  metadataOf,
  shape,
  textIn,
} from './fields.ts';

const QUANTITY = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/;

/** The decoder of the API takes numbers for quantities as well. */
const asQuantity = (value: unknown): string => {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !QUANTITY.test(text)) {
    throw new FieldError([], 'a quantity such as 4, 3920m or 1.5', value);
  }
  return text;
};

const readNode = shape({
  spec: shape({ unschedulable: asFlag, taints: listReader(asFields) }),
  status: shape({
    conditions: listReader(shape({ type: asText, status: asText })),
    allocatable: shape({ cpu: asQuantity }),
    nodeInfo: shape({ kubeletVersion: asText }),
  }),
});

export const nodeOf = (object: Fields): Node => {
  const { spec: { unschedulable = false, taints = [] } = {}, status = {} } = readNode(object);
  const { conditions: all, ...facts } = status;
  const conditions = all?.filter(({ type }) => type === 'Ready') as Condition[] | undefined;
  return {
    metadata: metadataOf(object, false),
    // Only where Pods are kept away.
    ...(unschedulable || taints.length > 0 ? { spec: { unschedulable, taints } } : {}),
    status: { ...facts, ...defined({ conditions }) },
  };
};

const MAX_PORT = 65_535;

const asPort = (value: unknown): number => {
  const port = asWhole(value);
  if (port < 0 || port > MAX_PORT) throw new FieldError([], `a port from 0 to ${MAX_PORT}`, value);
  return port;
};

const readPort = having({ port: asPort, name: asText, protocol: asText, nodePort: asPort }, 'port', 'a port number');

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
    trafficDistribution: asText,
    publishNotReadyAddresses: asFlag,
  }),
  status: shape({ loadBalancer: shape({ ingress: listReader(asFields) }) }),
});

export const serviceOf = (object: Fields): Service => ({
  metadata: metadataOf(object, true),
  spec: {},
  ...readService(object),
});

const LABEL_HOSTNAME = 'kubernetes.io/hostname';
const ADDRESS_TYPES: ReadonlySet<string> = new Set(['IPv4', 'IPv6', 'FQDN']);

/** Reads slices; hold on to one reader for all of them, since it remembers the names it has seen. */
export const createSliceReader = (): ((object: Fields) => EndpointSlice) => {
  const texts = new Map<string, string>();
  const hints = new Map<string, EndpointHints>();
  const once = (value: unknown): string => {
    const text = asText(value);
    const seen = texts.get(text);
    if (seen === undefined) texts.set(text, text);
    return seen ?? text;
  };
  const names = listReader((item) => ({ name: fieldAt(asFields(item), 'name', once) ?? '' }));
  const readHints = shape({ forZones: names, forNodes: names });

  /** Hints repeat by zone: one object for all that are alike. */
  const sharedHints = (value: unknown): EndpointHints => {
    const read = readHints(value);
    const key = JSON.stringify(read);
    const seen = hints.get(key);
    if (seen === undefined) hints.set(key, read);
    return seen ?? read;
  };

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
    'a list of at least one address',
  );

  const endpointOf = (item: unknown): Endpoint => {
    const { addresses, topology = {}, zone: named, nodeName: node, ...endpoint } = readEndpoint(item);
    if (addresses.length === 0) throw new FieldError(['addresses'], 'a list of at least one address', addresses);
    const zone = zoneIn(named ?? topology[LABEL_ZONE]) || undefined;
    // Of addresses, proxies look at no other.
    return {
      addresses: addresses.slice(0, 1),
      ...endpoint,
      ...defined({ zone, nodeName: node ?? topology[LABEL_HOSTNAME] }),
    };
  };

  const readSlice = shape({
    addressType: once,
    endpoints: listReader(endpointOf),
    ports: listReader(shape({ name: once, protocol: once, port: asWhole })),
  });

  return (object) => {
    const { addressType = '', endpoints = [], ports = [] } = readSlice(object);
    if (!ADDRESS_TYPES.has(addressType)) {
      throw new FieldError(['addressType'], 'IPv4, IPv6 or FQDN', object['addressType']);
    }
    const metadata = metadataOf(object, true);
    return { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, addressType, endpoints, ports };
  };
};

const KEPT = [
  'kubernetes.io/ingress.class',
  'nginx.ingress.kubernetes.io/service-upstream',
  'nginx.org/use-cluster-ip',
  'haproxy-ingress.github.io/service-upstream',
  'alb.ingress.kubernetes.io/target-type',
];

const annotationsOf = (annotations: StringMap): StringMap =>
  Object.fromEntries(KEPT.flatMap((key) => (annotations[key] === undefined ? [] : [[key, annotations[key]]])));

const base = (object: Fields, namespaced: boolean): EntryObject => {
  const { namespace = '', name, annotations = {} } = metadataOf(object, namespaced);
  return {
    kind: typeof object['kind'] === 'string' ? object['kind'] : '',
    namespace,
    name,
    services: [],
    className: '',
    controller: '',
    parents: [],
    annotations: annotationsOf(annotations),
    settings: {},
  };
};

const MAX_DEPTH = 12;

/** Every object at any depth of the field that `take` makes something of; what is nested deeper is no route. */
const collect = <T>(value: unknown, take: (object: Fields) => readonly T[], depth = 0): T[] => {
  if (depth > MAX_DEPTH) return [];
  if (Array.isArray(value)) return value.flatMap((item) => collect(item, take, depth + 1));
  if (!isFields(value)) return [];
  return [...take(value), ...Object.values(value).flatMap((inner) => collect(inner, take, depth + 1))];
};

const unique = (names: readonly string[]): string[] => [...new Set(names)];

/** `backend.service.name` of networking.k8s.io/v1, in rules and as default. */
export const ingressOf = (object: Fields): EntryObject => {
  const own = base(object, true);
  const names = collect(object['spec'], (inner) => [textIn(inner, 'service.name')].filter((name) => name !== ''));
  return {
    ...own,
    className: textIn(object, 'spec.ingressClassName'),
    services: unique(names.map((name) => `${own.namespace}/${name}`)),
  };
};

export const classOf = (object: Fields): EntryObject => ({
  ...base(object, false),
  controller: textIn(object, 'spec.controller') || textIn(object, 'spec.controllerName'),
});

export const gatewayOf = (object: Fields): EntryObject => ({
  ...base(object, true),
  className: textIn(object, 'spec.gatewayClassName'),
});

const placeOf = (reference: Fields, namespace: string): string =>
  `${textIn(reference, 'namespace') || namespace}/${textIn(reference, 'name')}`;

/** HTTPRoute, GRPCRoute, TLSRoute, TCPRoute. */
export const projectRoute = (object: Fields): EntryObject => {
  const own = base(object, true);
  const spec = isFields(object['spec']) ? object['spec'] : {};
  const backends = collect(spec['rules'], (inner) => listIn(inner, 'backendRefs'));
  const services = backends.filter((backend) => ['', 'Service'].includes(textIn(backend, 'kind')));
  return {
    ...own,
    services: unique(services.map((backend) => placeOf(backend, own.namespace))),
    parents: unique(listIn(spec, 'parentRefs').map((parent) => placeOf(parent, own.namespace))),
  };
};

/** IngressRoute (`services`), HTTPProxy (`services`), VirtualServer (`upstreams` with `service`). */
export const ownRouteOf = (object: Fields): EntryObject => {
  const own = base(object, true);
  const services = collect(object['spec'], (inner) => listIn(inner, 'services')).filter((item) =>
    ['', 'Service'].includes(textIn(item, 'kind')),
  );
  const upstreams = collect(object['spec'], (inner) => listIn(inner, 'upstreams'));
  const names = [
    ...services.map((item) => placeOf(item, own.namespace)),
    ...upstreams.map((item) => `${own.namespace}/${textIn(item, 'service')}`),
  ];
  const native = services.length > 0 && services.every((item) => item['nativeLB'] === true);
  const direct = upstreams.length > 0 && upstreams.every((item) => item['use-cluster-ip'] === true);
  return { ...own, services: direct ? [] : unique(names), settings: native ? { nativeLB: 'true' } : {} };
};

export const targetGroupOf = (object: Fields): EntryObject => {
  const own = base(object, true);
  return {
    ...own,
    services: [`${own.namespace}/${textIn(object, 'spec.serviceRef.name')}`],
    settings: { targetType: textIn(object, 'spec.targetType') },
  };
};

/** Services behind the webhooks of a configuration, or behind an APIService. */
export const registrationOf = (object: Fields): EntryObject => {
  const behind = (inner: unknown): string[] => {
    const name = textIn(inner, 'service.name');
    return name === '' ? [] : [`${textIn(inner, 'service.namespace')}/${name}`];
  };
  const webhooks = listIn(object, 'webhooks').flatMap((webhook) => behind(webhook['clientConfig']));
  return { ...base(object, false), services: unique([...webhooks, ...behind(object['spec'])]) };
};
