// The proxy models behind one call: which endpoints does a connection from this node get, and which rule decided.
import { fullName } from '../features.ts';
import { explained } from '../reasons.ts';
import { type CiliumOptions, type HintRule, type RuledProxy, ciliumRoute, ruledRoute } from './hint-rule.ts';
import { kubeProxyRoute, portNames } from './kube-proxy.ts';
import type { Route, RouteInput } from './endpoints.ts';

/** Which proxy routes, with the options that decide about hints there. */
export type Proxy =
  | { readonly kind: 'kube-proxy' }
  | ({ readonly kind: 'cilium' } & CiliumOptions)
  /** `endpointSlices`: it reads EndpointSlices, hence hints; default true. */
  | { readonly kind: 'linkerd'; readonly endpointSlices?: boolean }
  | ({ readonly kind: 'ruled' } & RuledProxy)
  | { readonly kind: 'unknown'; readonly name: string };

/** Linkerd's destination controller filters before it selects the family: controller/api/destination/endpoint_translator_filters.go. */
export const LINKERD_RULE: HintRule = { optIn: 'hints', across: 'families', readyOnly: true };

const KUBE_PROXY: Proxy = { kind: 'kube-proxy' };

/** Of a kube-proxy that takes itself for another Node, where that makes a difference. */
const strayRoute = (input: RouteInput, { node, why: cause }: NonNullable<RouteInput['self']>): Route => {
  const [own, { used, cluster, local, reachable }] = [kubeProxyRoute(input), kubeProxyRoute({ ...input, node })];
  if (used.length === own.used.length && used.every(({ key }, at) => key === own.used[at]?.key)) return own;
  const facts = { node: own.node, cause, used: used.length, service: fullName(input.service) };
  return { ...own, used, cluster, local, reachable, mode: '', ...explained('ProxyOfAnotherNode', facts) };
};

/** One port's route: the port named, else the Service's first. */
export const routeFor = (input: RouteInput, proxy: Proxy = KUBE_PROXY): Route => {
  switch (proxy.kind) {
    case 'kube-proxy':
      return input.self === undefined ? kubeProxyRoute(input) : strayRoute(input, input.self);
    case 'cilium':
      return ciliumRoute(input, proxy);
    case 'linkerd':
      return ruledRoute(input, {
        name: 'Linkerd',
        rule: proxy.endpointSlices === false ? { readyOnly: true } : LINKERD_RULE,
        ignoring: 'LinkerdSlicesOff',
      });
    case 'ruled':
      return ruledRoute(input, proxy);
    case 'unknown':
      // Any endpoint may be used, and nothing is claimed of it.
      return ruledRoute(input, { name: proxy.name, rule: { policyBlind: true }, ignoring: 'RouterUnknown' });
  }
};

/** Routes of the port named, else of every port of the Service in its order. */
export const routesFor = (input: RouteInput, proxy: Proxy = KUBE_PROXY): Route[] => {
  const ports = input.port === undefined ? portNames(input.service) : [input.port];
  return (ports.length === 0 ? [''] : ports).map((port) => routeFor({ ...input, port }, proxy));
};
