// SPDX-License-Identifier: Apache-2.0
// The figures of one Service that routes by zone: endpoints with hints, and the share of connections predicted to stay in their zone. Pure.
import type { Endpoint, EndpointSlice, Node, Service } from '../../apis/core.ts';
import { familyOf, isNodeReady, kubeletVersion, zoneOfNode } from '../../diagnosis/models/lookup.ts';
import { NEWEST_KNOWN_VERSION } from '../../routing/version.ts';
import { inZoneShare, routeFor, trafficOf } from '../../upstream/index.ts';
import type { ProxyEndpoint } from '../../upstream/index.ts';

export interface ServiceFigures {
  /** Ready endpoints with a hint, of all address families. */
  readonly hinted: number;
  /** Ready endpoints without one. */
  readonly unhinted: number;
  /**
   * Share of the connections to the Service that its proxies keep in the client's zone, 0..1, if every ready Node has as
   * many clients; undefined where there is nothing to predict. After pkg/upstream, by the kubelet's version.
   */
  readonly inZone: number | undefined;
}

/** Ready Nodes whose proxies all choose alike, and how many they are. */
export interface Clients {
  /** Zone and version, which is all that tells them from others. */
  readonly key: string;
  readonly node: Node;
  readonly nodes: number;
}

const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready !== false;
const isHinted = ({ hints }: Endpoint): boolean => (hints?.forZones ?? []).length > 0;

/** One entry for each zone and version of kubelet among the Nodes that are ready. */
export const clientsOf = (nodes: readonly Node[]): Clients[] => {
  const keyOf = (node: Node): string => `${zoneOfNode(node)} ${node.status?.nodeInfo?.kubeletVersion ?? ''}`;
  return [...Map.groupBy(nodes.filter(isNodeReady), keyOf)].flatMap(([key, group]) =>
    group[0] === undefined ? [] : [{ key, node: group[0], nodes: group.length }],
  );
};

/** Addresses and ports do not matter here, and caches do not keep them. */
const proxyEndpoint = ({ zone = '', nodeName = '', conditions, hints }: Endpoint, index: number): ProxyEndpoint => ({
  key: String(index),
  address: '',
  port: 0,
  zone,
  nodeName,
  ready: conditions?.ready ?? true,
  serving: conditions?.serving ?? true,
  terminating: conditions?.terminating ?? false,
  zoneHints: new Set((hints?.forZones ?? []).map(({ name }) => name)),
  nodeHints: new Set((hints?.forNodes ?? []).map(({ name }) => name)),
});

const predict = (
  service: Service,
  slices: readonly EndpointSlice[],
  clients: readonly Clients[],
): number | undefined => {
  const family = familyOf(service, slices);
  const own = slices.filter(({ addressType = 'IPv4' }) => addressType === family);
  const endpoints = own.flatMap((slice) => slice.endpoints ?? []).map(proxyEndpoint);
  const sizes = new Map(clients.map(({ node, nodes }) => [node, nodes]));
  const traffic = trafficOf({
    nodes: [...sizes.keys()],
    countOf: (node) => sizes.get(node) ?? 0,
    endpointsFor(node) {
      const version = kubeletVersion(node) ?? NEWEST_KNOWN_VERSION;
      return routeFor({ node, service, slices: own, family, version, merge: () => endpoints }).used;
    },
  });
  return traffic.matrix.size === 0 || traffic.lost > 0 ? undefined : inZoneShare(traffic);
};

export const figuresOf = (
  service: Service | undefined,
  slices: readonly EndpointSlice[],
  clients: readonly Clients[],
): ServiceFigures => {
  const ready = slices.flatMap(({ endpoints }) => endpoints ?? []).filter(isReady);
  const hinted = ready.filter(isHinted).length;
  const inZone = service === undefined ? undefined : predict(service, slices, clients);
  return { hinted, unhinted: ready.length - hinted, inZone };
};

/** Figures, and what they were found from. */
export interface KnownFigures {
  readonly figures: ServiceFigures;
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
  readonly clients: readonly Clients[];
}

const isSame = <T>(
  left: readonly T[],
  right: readonly T[],
  same: (left: T, right: T | undefined) => boolean,
): boolean => left === right || (left.length === right.length && left.every((item, index) => same(item, right[index])));

/** Predicts only where something changed: caches hand out the same objects until then. */
export const followFigures = (
  before: KnownFigures | undefined,
  service: Service | undefined,
  slices: readonly EndpointSlice[],
  clients: readonly Clients[],
): KnownFigures => {
  const unchanged =
    before !== undefined &&
    before.service === service &&
    isSame(before.slices, slices, (left, right) => left === right) &&
    isSame(before.clients, clients, (left, right) => left.key === right?.key && left.nodes === right.nodes);
  return unchanged ? before : { figures: figuresOf(service, slices, clients), service, slices, clients };
};
