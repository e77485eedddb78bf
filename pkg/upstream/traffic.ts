// What routes mean for traffic: which share of all connections goes from zone to zone, and how unevenly endpoints are loaded.
import { type Node, zoneOfNode } from '../apis/core.ts';
import { byText, keptIn, nameOf, sumBy, sumsBy } from '../apis/values.ts';
import { add } from './features.ts';
import type { ProxyEndpoint } from './proxy/endpoints.ts';

export interface TrafficInput {
  /** Nodes with clients. */
  readonly nodes: readonly Node[];
  /** Endpoints that a connection from this node is spread over: `Route.used`. */
  readonly endpointsFor: (node: Node) => readonly Pick<ProxyEndpoint, 'key' | 'zone'>[];
  /**
   * Share of clients by zone, in any unit, spread evenly over the zone's nodes. Zones without nodes do not count; a zone
   * that is not named has no clients. Default: every node has as many.
   */
  readonly weights?: Readonly<Record<string, number>>;
  /** How many Nodes a node stands for. Default: itself alone. */
  readonly countOf?: (node: Node) => number;
}

/** Shares of all connections, 0..1; together with `lost` they add up to 1, or to 0 without any client. */
export interface Traffic {
  /** By client zone, then endpoint zone, both in name order; the empty name is for no zone. */
  readonly matrix: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** By endpoint key. */
  readonly endpoints: ReadonlyMap<string, number>;
  /** Connections from nodes that have no endpoint to go to. */
  readonly lost: number;
}

/** Share of all connections that starts on each node. */
const nodeShares = ({ nodes, weights, countOf = () => 1 }: TrafficInput): { node: Node; share: number }[] => {
  const size = sumsBy(nodes, zoneOfNode, countOf);
  const weightOf = (node: Node): number =>
    countOf(node) * (weights === undefined ? 1 : (weights[zoneOfNode(node)] ?? 0) / (size.get(zoneOfNode(node)) ?? 1));
  const total = nodes.reduce((sum, node) => sum + weightOf(node), 0);
  return total <= 0 ? [] : nodes.map((node) => ({ node, share: weightOf(node) / total }));
};

/** Proxies choose among the endpoints of a connection uniformly. */
export const trafficOf = (input: TrafficInput): Traffic => {
  const { endpointsFor } = input;
  // In name order, so that sums of doubles do not depend on the order of the input.
  const sorted = [...input.nodes].sort((a, b) => byText(nameOf(a), nameOf(b)));
  const matrix = new Map<string, Map<string, number>>();
  const endpoints = new Map<string, number>();
  let lost = 0;
  for (const { node, share } of nodeShares({ ...input, nodes: sorted })) {
    const row = keptIn(matrix, zoneOfNode(node), () => new Map<string, number>());
    const used = endpointsFor(node);
    if (used.length === 0) lost += share;
    for (const { key, zone } of used) {
      add(row, zone, share / used.length);
      add(endpoints, key, share / used.length);
    }
  }
  const inOrder = <T>(map: Map<string, T>): Map<string, T> => new Map([...map].sort(([a], [b]) => byText(a, b)));
  const rows = [...inOrder(matrix)].map(([zone, row]) => [zone, inOrder(row)] as const);
  return { matrix: new Map(rows), endpoints: inOrder(endpoints), lost };
};

/** Share of the connections that arrive which stay in their zone, 0..1; 0 if none arrives. Nodes without zone never match. */
export const inZoneShare = ({ matrix }: Traffic): number => {
  const arrived = sumBy([...matrix.values()], (row) => sumBy([...row.values()], (share) => share));
  const inside = sumBy([...matrix], ([zone, row]) => (zone === '' ? 0 : (row.get(zone) ?? 0)));
  return arrived === 0 ? 0 : inside / arrived;
};

/**
 * How far the busiest endpoint is above its fair share: 0 = all alike, 1 = twice the average over `endpointCount`
 * endpoints (ready ones, used or not). 0 if nothing arrives.
 */
export const worstOverload = ({ endpoints }: Traffic, endpointCount: number): number => {
  const loads = [...endpoints.values()];
  const arrived = loads.reduce((sum, load) => sum + load, 0);
  if (arrived === 0 || endpointCount === 0) return 0;
  const busiest = loads.reduce((most, load) => Math.max(most, load), 0);
  // Rounding of doubles alone must not look like overload.
  return Math.max(0, (busiest * endpointCount) / arrived - 1);
};
