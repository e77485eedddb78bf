// SPDX-License-Identifier: Apache-2.0
// The proxy models behind one call: which endpoints does a connection from this node get, and which rule decided.
import { ciliumRoute } from './cilium.ts';
import type { CiliumOptions } from './cilium.ts';
import { ruledRoute, unknownRoute } from './hint-rule.ts';
import type { RuledProxy } from './hint-rule.ts';
import { kubeProxyRoute } from './kube-proxy.ts';
import { linkerdRoute } from './linkerd.ts';
import type { LinkerdOptions } from './linkerd.ts';
import { portNames } from './route.ts';
import type { Route, RouteInput } from './types.ts';

/** Which proxy routes, with the options that decide about hints there. */
export type Proxy =
  | { readonly kind: 'kube-proxy' }
  | ({ readonly kind: 'cilium' } & CiliumOptions)
  | ({ readonly kind: 'linkerd' } & LinkerdOptions)
  | ({ readonly kind: 'ruled' } & RuledProxy)
  | { readonly kind: 'unknown'; readonly name: string };

const KUBE_PROXY: Proxy = { kind: 'kube-proxy' };

/** One port's route: the port named, else the Service's first. */
export const routeFor = (input: RouteInput, proxy: Proxy = KUBE_PROXY): Route => {
  switch (proxy.kind) {
    case 'kube-proxy':
      return kubeProxyRoute(input);
    case 'cilium':
      return ciliumRoute(input, proxy);
    case 'linkerd':
      return linkerdRoute(input, proxy);
    case 'ruled':
      return ruledRoute(input, proxy);
    case 'unknown':
      return unknownRoute(input, proxy.name);
  }
};

/** Routes of the port named, else of every port of the Service in its order. */
export const routesFor = (input: RouteInput, proxy: Proxy = KUBE_PROXY): Route[] => {
  const ports = input.port === undefined ? portNames(input.service) : [input.port];
  return (ports.length === 0 ? [''] : ports).map((port) => routeFor({ ...input, port }, proxy));
};
