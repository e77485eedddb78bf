// Nodes and Services reduced to what the models look at.
// EndpointSlices reduced to what the models look at, v1 and v1beta1; names that repeat are kept once.
// Ingresses, routes, Gateways, classes and registrations, reduced to the Services that they send to and who acts on them.
import { zoneIn } from '../../apis/core.ts';
import type { Endpoint, EndpointHints, EndpointSlice, Node, Service, ServicePort } from '../../apis/core.ts';
import { type Fields, defined, isFields } from '../../apis/values.ts';
import type { Condition, StringMap } from '../../apis/meta.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import type { EntryObject } from '../bypasses/clients.ts';
import {
  FieldError,
  asFields,
  asText,
  booleanAt,
  listAt,
  listIn,
  metadataOf,
  objectAt,
  requiredTextAt,
  stringsAt,
  textAt,
  textIn,
  wholeAt,
} from './fields.ts';

const QUANTITY = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/;

/** The decoder of the API takes numbers for quantities as well. */
const quantityAt = (object: Fields, key: string): string | undefined => {
  const value = object[key];
  if (value === undefined || value === null) return undefined;
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !QUANTITY.test(text)) {
    throw new FieldError([key], 'a quantity such as 4, 3920m or 1.5', value);
  }
  return text;
};

const conditionOf = (item: unknown): Condition => {
  const fields = asFields(item);
  return { type: textAt(fields, 'type') ?? '', status: (textAt(fields, 'status') ?? '') as Condition['status'] };
};

/** Only where Pods are kept away. */
const scheduling = (object: Fields): Pick<Node, 'spec'> => {
  const spec = objectAt(object, 'spec', (inner) => ({
    unschedulable: booleanAt(inner, 'unschedulable'),
    taints: listAt(inner, 'taints', asFields),
  }));
  const { unschedulable = false, taints = [] } = spec ?? {};
  if (!unschedulable && taints.length === 0) return {};
  return { spec: { ...(unschedulable ? { unschedulable } : {}), ...(taints.length === 0 ? {} : { taints }) } };
};

export const nodeOf = (object: Fields): Node => ({
  metadata: metadataOf(object, false),
  ...scheduling(object),
  status:
    objectAt(object, 'status', (status) =>
      defined({
        conditions: listAt(status, 'conditions', conditionOf)?.filter(({ type }) => type === 'Ready'),
        allocatable: objectAt(status, 'allocatable', (inner) => {
          const cpu = quantityAt(inner, 'cpu');
          return defined({ cpu });
        }),
        nodeInfo: objectAt(status, 'nodeInfo', (info) => defined({ kubeletVersion: textAt(info, 'kubeletVersion') })),
      }),
    ) ?? {},
});

const MAX_PORT = 65_535;

const portAt = (object: Fields, key: string): number | undefined => {
  const value = wholeAt(object, key);
  if (value !== undefined && (value < 0 || value > MAX_PORT)) {
    throw new FieldError([key], `a port from 0 to ${MAX_PORT}`, value);
  }
  return value;
};

const servicePortOf = (item: unknown): ServicePort => {
  const fields = asFields(item);
  const port = portAt(fields, 'port');
  if (port === undefined) throw new FieldError(['port'], 'a port number', undefined);
  return {
    port,
    ...defined({
      name: textAt(fields, 'name'),
      protocol: textAt(fields, 'protocol'),
      nodePort: portAt(fields, 'nodePort'),
    }),
  };
};

const textsAt = (object: Fields, key: string): string[] | undefined => listAt(object, key, asText);

const specOf = (spec: Fields): NonNullable<Service['spec']> =>
  defined({
    type: textAt(spec, 'type'),
    clusterIP: textAt(spec, 'clusterIP'),
    clusterIPs: textsAt(spec, 'clusterIPs'),
    selector: stringsAt(spec, 'selector'),
    ports: listAt(spec, 'ports', servicePortOf),
    ipFamilies: textsAt(spec, 'ipFamilies'),
    externalIPs: textsAt(spec, 'externalIPs'),
    internalTrafficPolicy: textAt(spec, 'internalTrafficPolicy'),
    externalTrafficPolicy: textAt(spec, 'externalTrafficPolicy'),
    trafficDistribution: textAt(spec, 'trafficDistribution'),
    publishNotReadyAddresses: booleanAt(spec, 'publishNotReadyAddresses'),
  });

export const serviceOf = (object: Fields): Service => {
  const ingress = objectAt(object, 'status', (status) =>
    objectAt(status, 'loadBalancer', (balancer) => listAt(balancer, 'ingress', asFields)),
  );
  return {
    metadata: metadataOf(object, true),
    spec: objectAt(object, 'spec', specOf) ?? {},
    ...(ingress === undefined ? {} : { status: { loadBalancer: { ingress } } }),
  };
};

const LABEL_HOSTNAME = 'kubernetes.io/hostname';
const ADDRESS_TYPES: ReadonlySet<string> = new Set(['IPv4', 'IPv6', 'FQDN']);

type Names = { name: string }[];

/** Reads slices; hold on to one reader for all of them, since it remembers the names it has seen. */
export const createSliceReader = (): ((object: Fields) => EndpointSlice) => {
  const texts = new Map<string, string>();
  const hints = new Map<string, EndpointHints>();
  const once = (text: string | undefined): string | undefined => {
    if (text === undefined) return undefined;
    const seen = texts.get(text);
    if (seen === undefined) texts.set(text, text);
    return seen ?? text;
  };

  const namesAt = (fields: Fields, key: string): Names | undefined =>
    listAt(fields, key, (item) => ({ name: textAt(asFields(item), 'name') ?? '' }));

  /** Hints repeat by zone: one object for all that are alike. */
  const hintsOf = (fields: Fields): EndpointHints => {
    const read: EndpointHints = defined({
      forZones: namesAt(fields, 'forZones'),
      forNodes: namesAt(fields, 'forNodes'),
    });
    const key = JSON.stringify(read);
    const seen = hints.get(key);
    if (seen === undefined) hints.set(key, read);
    return seen ?? read;
  };

  const endpointOf = (item: unknown): Endpoint => {
    const fields = asFields(item);
    const addresses = listAt(fields, 'addresses', asText);
    if (addresses === undefined || addresses.length === 0) {
      throw new FieldError(['addresses'], 'a list of at least one address', fields['addresses']);
    }
    // v1beta1 says zone and node in `topology`; v1 has fields and no `topology`.
    const topology = stringsAt(fields, 'topology');
    return {
      // Proxies look at no other.
      addresses: addresses.slice(0, 1),
      ...defined({
        conditions: objectAt(fields, 'conditions', (inner) =>
          defined({
            ready: booleanAt(inner, 'ready'),
            serving: booleanAt(inner, 'serving'),
            terminating: booleanAt(inner, 'terminating'),
          }),
        ),
        zone: once(zoneIn(textAt(fields, 'zone') ?? topology?.[LABEL_ZONE]) || undefined),
        nodeName: once(textAt(fields, 'nodeName') ?? topology?.[LABEL_HOSTNAME]),
        targetRef: objectAt(fields, 'targetRef', (inner) =>
          defined({ kind: once(textAt(inner, 'kind')), name: textAt(inner, 'name'), uid: textAt(inner, 'uid') }),
        ),
        hints: objectAt(fields, 'hints', hintsOf),
      }),
    };
  };

  const portOf = (item: unknown) => {
    const fields = asFields(item);
    return defined({
      name: once(textAt(fields, 'name')),
      protocol: once(textAt(fields, 'protocol')),
      port: wholeAt(fields, 'port'),
    });
  };

  return (object) => {
    const addressType = requiredTextAt(object, 'addressType');
    if (!ADDRESS_TYPES.has(addressType)) throw new FieldError(['addressType'], 'IPv4, IPv6 or FQDN', addressType);
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: metadataOf(object, true),
      addressType: once(addressType) ?? addressType,
      endpoints: listAt(object, 'endpoints', endpointOf) ?? [],
      ports: listAt(object, 'ports', portOf) ?? [],
    };
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
