// The figures of one Service that routes by zone: endpoints with hints, and the share of connections predicted to stay in their zone. Pure.
import type { Endpoint, EndpointSlice, Service } from '../../apis/core.ts';
import { isEndpointReady } from '../../apis/readings.ts';
import { firstFamilyOf } from '../../diagnosis/models/lookup.ts';
import type { Clients } from '../../diagnosis/models/follow.ts';
import { inZoneShare, routeFor, trafficOf } from '../../upstream/index.ts';
import type { ProxyEndpoint, Route } from '../../upstream/index.ts';

export interface ServiceFigures {
  /** Ready endpoints with a hint, of all address families. */
  readonly hinted: number;
  /** Ready endpoints without one. */
  readonly unhinted: number;
  /**
   * Share of the connections to the Service that its proxies keep in the client's zone, 0..1, if every ready Node has as
   * many clients; undefined where there is nothing to predict. After pkg/upstream, by who routes on each Node.
   */
  readonly inZone: number | undefined;
}

const isHinted = ({ hints }: Endpoint): boolean => (hints?.forZones ?? []).length > 0;

/** Which address and port does not matter here, and caches do not keep them. */
const proxyEndpoint = ({ zone = '', nodeName = '', conditions, hints }: Endpoint, index: number): ProxyEndpoint => ({
  key: String(index),
  address: String(index),
  port: 0,
  zone,
  nodeName,
  ready: conditions?.ready ?? true,
  serving: conditions?.serving ?? true,
  terminating: conditions?.terminating ?? false,
  zoneHints: new Set((hints?.forZones ?? []).map(({ name }) => name)),
  nodeHints: new Set((hints?.forNodes ?? []).map(({ name }) => name)),
});

/** Route of the Service's first family on a Node. */
const routeOn = (
  service: Service,
  slices: readonly EndpointSlice[],
  { node, router }: Pick<Clients, 'node' | 'router'>,
): Route => {
  const family = firstFamilyOf(service, slices);
  const own = slices.filter(({ addressType = 'IPv4' }) => addressType === family);
  const endpoints = own.flatMap((slice) => slice.endpoints ?? []).map(proxyEndpoint);
  const { proxy, ...routing } = router.routing;
  return routeFor({ node, service, slices: own, family, ...routing, merge: () => endpoints }, proxy);
};

const predict = (
  service: Service,
  slices: readonly EndpointSlice[],
  clients: readonly Clients[],
): number | undefined => {
  const routed = new Map(clients.map((client) => [client.node, { client, route: routeOn(service, slices, client) }]));
  if ([...routed.values()].some(({ route }) => route.reason === 'RouterUnknown')) return undefined;
  const traffic = trafficOf({
    nodes: [...routed.keys()],
    countOf: (node) => routed.get(node)?.client.nodes ?? 0,
    endpointsFor: (node) => routed.get(node)?.route.used ?? [],
  });
  return traffic.matrix.size === 0 || traffic.lost > 0 ? undefined : inZoneShare(traffic);
};

export const serviceFiguresOf = (
  service: Service | undefined,
  slices: readonly EndpointSlice[],
  clients: readonly Clients[],
): ServiceFigures => {
  const ready = slices.flatMap(({ endpoints }) => endpoints ?? []).filter(isEndpointReady);
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
  return unchanged ? before : { figures: serviceFiguresOf(service, slices, clients), service, slices, clients };
};
