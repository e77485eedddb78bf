// Whether measured connections agree with a prediction.
import type { EndpointSlice, Node, Service } from '../../pkg/apis/core.ts';
import { parseVersion } from '../../pkg/routing/version.ts';
import { type FeatureGates, type ProxyEndpoint, routesFor, trafficOf } from '../../pkg/upstream/index.ts';
import type { Api } from './bed/api.ts';

/** Connections by origin (a client zone or node), then by destination. */
export type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Shares of an origin's connections by destination, 0..1; what is not named is 0. */
export type Shares = Readonly<Record<string, Readonly<Record<string, number>>>>;

interface Disagreement {
  readonly from: string;
  readonly to: string;
  /** Predicted share of the origin's connections, 0..1. */
  readonly predicted: number;
  readonly measured: number;
  /** Connections of the origin. */
  readonly connections: number;
}

/** Chance that a right model is called wrong, in one comparison, at the most: once in a hundred thousand runs of a suite with ten of them. */
const FALSE_ALARM = 1e-6;

const term = (share: number, of: number): number => (share === 0 ? 0 : share * Math.log(share / of));

/** Relative entropy of two shares in nats; infinite where the model excludes what was measured. */
const relativeEntropy = (measured: number, predicted: number): number =>
  term(measured, predicted) + term(1 - measured, 1 - predicted);

const total = (row: Readonly<Record<string, number>>): number =>
  Object.values(row).reduce((sum, count) => sum + count, 0);

/** Doubles such as three times a third do not add up to 1 exactly, and next to 1 the difference would count as exclusion. */
const settled = (share: number): number => {
  if (Math.abs(share) < 1e-9) return 0;
  return Math.abs(1 - share) < 1e-9 ? 1 : share;
};

/**
 * Cells that the model cannot explain. For n independent connections whose mean chance to reach a destination is p, Hoeffding's inequality (1963,
 * Theorem 1) bounds the chance to see a share q on one side of p by exp(-n·D(q‖p)), whatever the mixture of chances behind p. Twice that for both
 * sides, times the cells compared, stays below `FALSE_ALARM`. Where p is 0 or 1 any deviation has infinite entropy: there the agreement is exact.
 */
export const disagreements = (predicted: Shares, measured: Counts): Disagreement[] => {
  const origins = [...new Set([...Object.keys(predicted), ...Object.keys(measured)])].sort();
  const cells = origins.flatMap((from) => {
    const [shares, counts] = [predicted[from] ?? {}, measured[from] ?? {}];
    const connections = total(counts);
    return [...new Set([...Object.keys(shares), ...Object.keys(counts)])].sort().map((to) => ({
      from,
      to,
      predicted: settled(shares[to] ?? 0),
      measured: connections === 0 ? 0 : (counts[to] ?? 0) / connections,
      connections,
    }));
  });
  const limit = Math.log((2 * cells.length) / FALSE_ALARM);
  return cells.filter((cell) => {
    const reachable = cell.connections === 0 ? cell.predicted === 0 : true;
    return !reachable || cell.connections * relativeEntropy(cell.measured, cell.predicted) > limit;
  });
};

/** One line a disagreement. */
export const describeDisagreements = (list: readonly Disagreement[]): string =>
  list
    .map(
      ({ from, to, predicted, measured, connections }) =>
        `${from} to ${to}: predicted ${predicted.toFixed(3)}, measured ${measured.toFixed(3)} of ${connections} connections`,
    )
    .join('\n');

/** Objects of the API that decide where the connections of one Service go. */
export interface StoredObjects {
  readonly nodes: readonly Node[];
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
}

export const readStoredObjects = async (api: Api, namespace: string, name: string): Promise<StoredObjects> => {
  const selector = encodeURIComponent(`kubernetes.io/service-name=${name}`);
  const [nodes, service, slices] = await Promise.all([
    api.list<Node>('/api/v1/nodes'),
    api.get<Service>(`/api/v1/namespaces/${namespace}/services/${name}`),
    api.list<EndpointSlice>(
      `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${selector}`,
    ),
  ]);
  return { nodes, service, slices };
};

/** Endpoints that connections from a node are spread over. The kubelet's version stands for its proxy's, as in a cluster. */
export const predictedEndpoints = (
  { service, slices }: StoredObjects,
  node: Node,
  gates: FeatureGates = {},
): readonly ProxyEndpoint[] => {
  const version = parseVersion(node.status?.nodeInfo?.kubeletVersion);
  return routesFor({ node, service, slices, version, gates })[0]?.used ?? [];
};

const zoneOf = ({ metadata }: Node): string => metadata?.labels?.['topology.kubernetes.io/zone'] || '-';
const nodeNameOf = ({ metadata }: Node): string => metadata?.name ?? '';

const rowOf = (objects: StoredObjects, nodes: readonly Node[]): Readonly<Record<string, number>> => {
  const row: Record<string, number> = {};
  for (const destinations of trafficOf({
    nodes,
    endpointsFor: (node) => predictedEndpoints(objects, node),
  }).matrix.values()) {
    for (const [zone, share] of destinations) row[zone || '-'] = (row[zone || '-'] ?? 0) + share;
  }
  return row;
};

const grouped = (nodes: readonly Node[], keyOf: (node: Node) => string): [string, Node[]][] => {
  const groups = new Map<string, Node[]>();
  for (const node of nodes) groups.set(keyOf(node), [...(groups.get(keyOf(node)) ?? []), node]);
  return [...groups];
};

/** Shares of the connections of each zone of clients by the zone of the Pod; every client node opens as many. */
export const predictedByZone = (objects: StoredObjects, clients: readonly string[]): Shares => {
  const nodes = objects.nodes.filter((node) => clients.includes(nodeNameOf(node)));
  return Object.fromEntries(grouped(nodes, zoneOf).map(([zone, members]) => [zone, rowOf(objects, members)]));
};

/** The same by node of the client and node of the Pod. */
export const predictedByNode = (objects: StoredObjects, clients: readonly string[]): Shares =>
  Object.fromEntries(
    objects.nodes
      .filter((node) => clients.includes(nodeNameOf(node)))
      .map((node) => {
        const used = predictedEndpoints(objects, node);
        const row: Record<string, number> = {};
        for (const { nodeName } of used) row[nodeName] = (row[nodeName] ?? 0) + 1 / used.length;
        return [nodeNameOf(node), row];
      }),
  );
