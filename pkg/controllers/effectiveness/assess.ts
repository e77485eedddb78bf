// Whether a Service that should route by zone does, and its figures: endpoints with hints, predicted share of connections in zone. Pure.
import { type Endpoint, type EndpointSlice, type Service, isEndpointReady, zoneOfNode } from '../../apis/core.ts';
import { type Clients, followingOf } from '../../diagnosis/models/routes.ts';
import { firstFamilyOf, noZonesOf } from '../../diagnosis/models/lookup.ts';
import { markedSlices } from '../../evacuation/decide.ts';
import { endpointsOf, hintedZones } from '../../upstream/features.ts';
import { type Route, inZoneShare, routeFor, trafficOf } from '../../upstream/index.ts';
import { proxyEndpoint } from '../../upstream/proxy/endpoints.ts';

/** Why routing by zone has no (full) effect; stable words for metrics, events and docs. */
type IneffectiveReason =
  | 'ServiceMissing'
  | 'Pending'
  | 'Headless'
  | 'NoReadyEndpoints'
  | 'EndpointWithoutZone'
  | 'PublishedNotReady'
  | 'HintsMissing'
  | 'ZoneNotServed'
  | 'HintsNotFollowed'
  | 'RouterUnknown';

export type Effectiveness =
  | { readonly kind: 'effective' }
  | { readonly kind: 'ineffective'; readonly reason: IneffectiveReason; readonly message: string }
  /** Hints are there, but nothing shows that the data plane follows them. */
  | { readonly kind: 'assumed'; readonly reason: 'RouterAssumed'; readonly message: string }
  /** Hints are complete, and send clients elsewhere on purpose. */
  | { readonly kind: 'evacuated'; readonly reason: 'Evacuated'; readonly message: string };

export interface AssessInput {
  /** `namespace/name`, for messages. */
  readonly name: string;
  readonly service: Service | undefined;
  /** The client Service of an Etcd lacks the annotation that old proxies want; only etcd-druid may write it. */
  readonly pending: boolean;
  readonly slices: readonly EndpointSlice[];
  /** Who routes on ready Nodes, each kind once in each zone. */
  readonly clients: readonly Clients[];
}

const ineffective = (reason: IneffectiveReason, message: string): Effectiveness => ({
  kind: 'ineffective',
  reason,
  message,
});

/** One address family: proxies decide for each by itself. */
const assessFamily = (
  family: string,
  endpoints: readonly Endpoint[],
  input: AssessInput,
): Effectiveness | undefined => {
  const { name, clients } = input;
  const ready = endpoints.filter(isEndpointReady);
  if (ready.length === 0) return ineffective('NoReadyEndpoints', `Service ${name} has no ready ${family} endpoint`);
  const unhinted = ready.filter((endpoint) => hintedZones(endpoint).length === 0);
  const zoneless = unhinted.filter(({ zone }) => zone === undefined || zone === '');
  if (zoneless.length > 0) {
    const message = `Service ${name}: ${zoneless.length} of ${ready.length} ready ${family} endpoints are on Nodes without a zone, so proxies ignore all hints; label the Nodes`;
    return ineffective('EndpointWithoutZone', message);
  }
  if (unhinted.length > 0) {
    const message = `Service ${name}: ${unhinted.length} of ${ready.length} ready ${family} endpoints have no hint, so proxies ignore the others; check what writes the hints (webhook or kube-controller-manager)`;
    return ineffective('HintsMissing', message);
  }
  const zones = new Set(clients.map(({ node }) => zoneOfNode(node)));
  const served = new Set(ready.flatMap(hintedZones));
  const serving = new Set(ready.filter(({ conditions }) => conditions?.serving !== false).flatMap(hintedZones));
  const failing = [...zones].filter((zone) => served.has(zone) && !serving.has(zone)).sort();
  if (failing.length > 0) {
    const message = `Service ${name}: every ${family} endpoint hinted for ${failing.join(', ')} is published as ready (publishNotReadyAddresses) and its Pod is not; connections of clients there fail`;
    return ineffective('PublishedNotReady', message);
  }
  const unserved = [...zones].filter((zone) => zone !== '' && !served.has(zone)).sort();
  if (unserved.length === 0) return undefined;
  const message = `Service ${name}: no ready ${family} endpoint is hinted for ${unserved.join(', ')}; clients there use all zones`;
  return ineffective('ZoneNotServed', message);
};

/** What the data planes make of hints that are complete. */
const assessRouters = (name: string, service: Service, clients: readonly Clients[]): Effectiveness => {
  const following = followingOf(service, clients);
  if (following.kind === 'followed') return { kind: 'effective' };
  const message = `Service ${name}: ${following.message}`;
  const { reason } = following;
  return reason === 'RouterAssumed' ? { kind: 'assumed', reason, message } : ineffective(reason, message);
};

/** What an operator asked for is no fault; what keeps the evacuation itself from working was found before. */
const assessEvacuation = (name: string, slices: readonly EndpointSlice[]): Effectiveness | undefined => {
  const zones = markedSlices(slices);
  if (zones.size === 0) return undefined;
  const message = `Service ${name}: ${[...zones.keys()].join(', ')} is evacuated, its clients use other zones; kubectl topology evacuations shows until when`;
  return { kind: 'evacuated', reason: 'Evacuated', message };
};

export const assessEffectiveness = (input: AssessInput): Effectiveness => {
  const { name, service, pending, slices } = input;
  if (service === undefined) return ineffective('ServiceMissing', `Service ${name} does not exist`);
  if (pending) {
    const message = `Pending: owner; Service ${name} lacks the annotation that kube-proxies older than 1.31 need, and only etcd-druid may write it: it does when the owner of the Etcd reconciles it`;
    return ineffective('Pending', message);
  }
  if (service.spec?.clusterIP === 'None')
    return ineffective('Headless', `Service ${name} is headless: clients choose among all addresses themselves`);
  const families = Map.groupBy(slices, ({ addressType = 'IPv4' }) => addressType);
  if (families.size === 0) return ineffective('NoReadyEndpoints', `Service ${name} has no EndpointSlice`);
  for (const [family, own] of families) {
    const found = assessFamily(family, own.flatMap(endpointsOf), input);
    if (found !== undefined) return found;
  }
  const routed = assessRouters(name, service, input.clients);
  return routed.kind === 'ineffective' ? routed : (assessEvacuation(name, slices) ?? routed);
};

/** Route of the Service's first family on a Node. */
const routeOn = (
  service: Service,
  slices: readonly EndpointSlice[],
  { node, router }: Pick<Clients, 'node' | 'router'>,
): Route => {
  const family = firstFamilyOf(service, slices);
  const own = slices.filter(({ addressType = 'IPv4' }) => addressType === family);
  // Which address and port does not matter here, and caches do not keep them.
  const endpoints = own.flatMap(endpointsOf).map((endpoint, index) => proxyEndpoint(endpoint, String(index), 0));
  const { proxy, ...routing } = router.routing;
  return routeFor({ node, service, slices: own, family, ...routing, merge: () => endpoints }, proxy);
};

/**
 * Share of the connections through the cluster IP of the Service that its proxies keep in the client's zone, 0..1, if every ready Node
 * has as many clients; undefined where there is nothing to predict. After pkg/upstream, by who routes on each Node.
 */
const predict = (
  service: Service,
  slices: readonly EndpointSlice[],
  clients: readonly Clients[],
): number | undefined => {
  const routed = new Map(clients.map((client) => [client.node, { client, route: routeOn(service, slices, client) }]));
  const routes = [...routed.values()].map(({ route }) => route);
  if (routes.some(({ reason }) => reason === 'RouterUnknown')) return undefined;
  const placed = routes.some(({ zone, used }) => zone !== '' && used.some((endpoint) => endpoint.zone !== ''));
  if (!placed || noZonesOf([...routed.keys()]).length > 0) return undefined;
  const traffic = trafficOf({
    nodes: [...routed.keys()],
    countOf: (node) => routed.get(node)?.client.nodes ?? 0,
    endpointsFor: (node) => routed.get(node)?.route.used ?? [],
  });
  return traffic.matrix.size === 0 || traffic.lost > 0 ? undefined : inZoneShare(traffic);
};

/** Ready endpoints with a hint and without, of all address families, and the share of connections that stay in their zone. */
export const serviceFiguresOf = (
  service: Service | undefined,
  slices: readonly EndpointSlice[],
  clients: readonly Clients[],
) => {
  const ready = slices.flatMap(endpointsOf).filter(isEndpointReady);
  const hinted = ready.filter((endpoint) => hintedZones(endpoint).length > 0).length;
  const inZone = service === undefined ? undefined : predict(service, slices, clients);
  return { hinted, unhinted: ready.length - hinted, inZone };
};

export type ServiceFigures = ReturnType<typeof serviceFiguresOf>;

/** Figures, and the objects that they were found from: caches hand out the same ones until something changed. */
export interface KnownFigures {
  readonly figures: ServiceFigures;
  readonly from: readonly unknown[];
}

/** Predicts only where something changed. */
export const followFigures = (
  before: KnownFigures | undefined,
  service: Service | undefined,
  slices: readonly EndpointSlice[],
  clients: readonly Clients[],
): KnownFigures => {
  const from = [service, clients, ...slices];
  if (before?.from.length === from.length && from.every((item, index) => item === before.from[index])) return before;
  return { figures: serviceFiguresOf(service, slices, clients), from };
};
