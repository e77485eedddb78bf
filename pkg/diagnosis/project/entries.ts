// Ingresses, routes, Gateways, classes and registrations, reduced to the Services that they send to and who acts on them.
import type { StringMap } from '../../apis/meta.ts';
import type { EntryObject } from '../bypasses/types.ts';
import { metadataOf } from './metadata.ts';
import type { Fields } from '../../apis/fields.ts';
import { isFields } from '../../apis/fields.ts';

const textIn = (object: unknown, ...path: readonly string[]): string => {
  let inner: unknown = object;
  for (const key of path) inner = isFields(inner) ? inner[key] : undefined;
  return typeof inner === 'string' ? inner : '';
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

const listIn = (object: Fields, key: string): readonly Fields[] => {
  const value: unknown = object[key];
  return Array.isArray(value) ? value.filter(isFields) : [];
};

const unique = (names: readonly string[]): string[] => [...new Set(names)];

/** `backend.service.name` of networking.k8s.io/v1, in rules and as default. */
export const ingressOf = (object: Fields): EntryObject => {
  const own = base(object, true);
  const names = collect(object['spec'], (inner) => [textIn(inner, 'service', 'name')].filter((name) => name !== ''));
  return {
    ...own,
    className: textIn(object, 'spec', 'ingressClassName'),
    services: unique(names.map((name) => `${own.namespace}/${name}`)),
  };
};

export const classOf = (object: Fields): EntryObject => ({
  ...base(object, false),
  controller: textIn(object, 'spec', 'controller') || textIn(object, 'spec', 'controllerName'),
});

export const gatewayOf = (object: Fields): EntryObject => ({
  ...base(object, true),
  className: textIn(object, 'spec', 'gatewayClassName'),
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
    services: [`${own.namespace}/${textIn(object, 'spec', 'serviceRef', 'name')}`],
    settings: { targetType: textIn(object, 'spec', 'targetType') },
  };
};

/** Services behind the webhooks of a configuration, or behind an APIService. */
export const registrationOf = (object: Fields): EntryObject => {
  const behind = (inner: unknown): string[] => {
    const name = textIn(inner, 'service', 'name');
    return name === '' ? [] : [`${textIn(inner, 'service', 'namespace')}/${name}`];
  };
  const webhooks = listIn(object, 'webhooks').flatMap((webhook) => behind(webhook['clientConfig']));
  return { ...base(object, false), services: unique([...webhooks, ...behind(object['spec'])]) };
};
