// What stored slices lead to: every client Node's route by the exact models, and from those the traffic matrix.
import type { EndpointSlice, Node, Service } from '../../apis/core.ts';
import type { Demand } from '../../flow/types.ts';
import { inZoneShare, mergeEndpoints, trafficOf, worstOverload } from '../../upstream/index.ts';
import type { FeatureGates, ProxyEndpoint, Traffic } from '../../upstream/index.ts';
import { groupRoutesOf } from '../models/routes.ts';
import type { GroupRoute } from '../models/routes.ts';
import { monthlyCost } from '../prices.ts';
import type { NodeRouting } from '../routers/types.ts';
import type { Tariff } from '../prices.ts';
import type { Matrix, Outcome } from './types.ts';
import { byText } from '../../apis/order.ts';

/** The same for every mode of one simulation. */
export interface Frame {
  /** Nodes with clients, as `groupNodes` makes them. */
  readonly groups: readonly (readonly Node[])[];
  readonly family: string;
  readonly port: string;
  readonly routing: (node: Node) => NodeRouting;
  /** Of kube-controller-manager. */
  readonly gates: FeatureGates | undefined;
  /** Demand of the clients by zone, in any unit. */
  readonly weights: Demand;
  /** The same in cores, where known. */
  readonly cores: number | null;
  /** Cores by address of each ready endpoint, where all are known. */
  readonly capacity: ReadonlyMap<string, number> | null;
  readonly bill: { readonly tariff: Tariff; readonly gigabytesPerDay: number } | null;
}

/** Where traffic goes, and by which rules. */
export interface Flow {
  readonly outcome: Outcome;
  /** Of client Nodes. */
  readonly routes: readonly GroupRoute[];
  /** Ready endpoints. */
  readonly ready: number;
}

/** Ready endpoints of the port, in the order of their keys. */
export const readyForProxies = (
  slices: readonly EndpointSlice[],
  { family, port }: Pick<Frame, 'family' | 'port'>,
): readonly ProxyEndpoint[] =>
  mergeEndpoints(slices, { port, family, duplicates: { prefer: 'running' } }).filter(({ ready }) => ready);

const recordOf = (matrix: Traffic['matrix']): Matrix =>
  Object.fromEntries([...matrix].map(([from, row]) => [from, Object.fromEntries(row)]));

/** The endpoint with the highest load, by its capacity where that is known; the first of equals. */
const busiest = (traffic: Traffic, addressOf: (key: string) => string, { cores, capacity }: Frame) => {
  const known = cores !== null && capacity !== null;
  let best = { key: '', load: 0 };
  for (const [key, share] of traffic.endpoints) {
    const load = known ? (share * cores) / (capacity.get(addressOf(key)) ?? Infinity) : share;
    if (load > best.load) best = { key, load };
  }
  return { key: best.key, maxUtilization: known ? best.load : null };
};

export const flowOf = (service: Service, slices: readonly EndpointSlice[], frame: Frame): Flow => {
  const { groups, family, port, routing, weights, bill } = frame;
  const routes = groupRoutesOf({ service, slices, groups, routing, port, family });
  const routeOf = new Map(routes.map((route) => [route.node, route]));
  const of = ({ metadata }: Node): GroupRoute | undefined => routeOf.get(metadata?.name ?? '');
  const traffic = trafficOf({
    // Of clients whose router is not known nothing is predicted.
    nodes: routes.flatMap(({ nodes, reason }) => (reason === 'RouterUnknown' ? [] : nodes.slice(0, 1))),
    weights,
    countOf: (node) => of(node)?.nodes.length ?? 0,
    endpointsFor: (node) => of(node)?.used ?? [],
  });
  const ready = readyForProxies(slices, frame);
  const endpoints = new Map(routes.flatMap((route) => route.used).map((endpoint) => [endpoint.key, endpoint]));
  const { key, maxUtilization } = busiest(traffic, (own) => endpoints.get(own)?.address ?? '', frame);
  const outcome: Outcome = {
    hinted: ready.filter(({ zoneHints, nodeHints }) => zoneHints.size + nodeHints.size > 0).length,
    matrix: recordOf(traffic.matrix),
    inZoneShare: inZoneShare(traffic),
    lostShare: traffic.lost,
    worstOverload: worstOverload(traffic, ready.length),
    busiestZone: endpoints.get(key)?.zone ?? '',
    maxUtilization,
    ...(bill === null ? {} : { costPerMonth: monthlyCost(bill.tariff, traffic.matrix, bill.gigabytesPerDay) }),
  };
  return { outcome, routes, ready: ready.length };
};

/** Ready endpoints by zone, in name order. */
export const countByZone = (endpoints: readonly ProxyEndpoint[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const { zone } of endpoints) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  return new Map([...counts].sort(([a], [b]) => byText(a, b)));
};
