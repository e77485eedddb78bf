// SPDX-License-Identifier: Apache-2.0
// Which endpoints the clients of each node get, and by which rule: the report of `kubectl topology route`.
import type { EndpointSlice, Node, Service } from '../../apis/core.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { NEWEST_KNOWN_VERSION } from '../../routing/version.ts';
import { routesFor } from '../../upstream/index.ts';
import type { FeatureGates, Proxy, Reason, Route, TopologyMode } from '../../upstream/index.ts';
import { byText, familyOf, kubeletVersion } from './lookup.ts';

export interface RouteReport {
  readonly node: string;
  /** Empty where the Node has none. */
  readonly zone: string;
  /** Name of the Service's port; empty where it has none. */
  readonly port: string;
  readonly mode: TopologyMode;
  /** `IP:PORT`, in text order; null where the Service needs no such list on the Node. */
  readonly cluster: readonly string[] | null;
  readonly local: readonly string[] | null;
  readonly reachable: readonly string[];
  readonly reason: Reason;
  readonly message: string;
}

export interface RoutesReport {
  readonly routes: readonly RouteReport[];
}

export interface RoutesInput {
  readonly service: Service;
  /** The Service's slices, of any family. */
  readonly slices: readonly EndpointSlice[];
  readonly nodes: readonly Node[];
  readonly proxy?: Proxy;
  /** Name of one port; default: all. */
  readonly port?: string;
  /** addressType; default: the Service's first family. */
  readonly family?: string;
  /** Of every proxy; default: each Node's kubelet's, else `fallback`. */
  readonly version?: KubernetesVersion;
  /** Default: the newest known. */
  readonly fallback?: KubernetesVersion;
  readonly gates?: FeatureGates;
}

/** Routes of every node, in the order of nodes' names, then of the Service's ports. */
export const routesOf = (input: RoutesInput): Route[] => {
  const { service, slices, proxy, port, gates, fallback = NEWEST_KNOWN_VERSION } = input;
  const family = input.family ?? familyOf(service, slices);
  const nodes = [...input.nodes].sort((a, b) => byText(a.metadata?.name ?? '', b.metadata?.name ?? ''));
  return nodes.flatMap((node) =>
    routesFor(
      {
        node,
        service,
        slices,
        family,
        version: input.version ?? kubeletVersion(node) ?? fallback,
        ...(port === undefined ? {} : { port }),
        ...(gates === undefined ? {} : { gates }),
      },
      proxy,
    ),
  );
};

const keysOf = (list: readonly { key: string }[]): string[] => list.map(({ key }) => key);

export const routesReport = (input: RoutesInput): RoutesReport => ({
  routes: routesOf(input).map(({ node, zone, port, mode, cluster, local, reachable, reason, message }) => ({
    node,
    zone,
    port,
    mode,
    cluster: cluster === null ? null : keysOf(cluster),
    local: local === null ? null : keysOf(local),
    reachable: keysOf(reachable),
    reason,
    message,
  })),
});
