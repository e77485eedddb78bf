// What pkg/upstream predicts for a Service from the objects that the API server holds at this moment.
import type { EndpointSlice, Node, Service } from '../../pkg/apis/core.ts';
import { parseVersion } from '../../pkg/routing/version.ts';
import { routesFor, trafficOf } from '../../pkg/upstream/index.ts';
import type { FeatureGates, ProxyEndpoint } from '../../pkg/upstream/index.ts';
import type { Api } from './bed/api.ts';
import type { Shares } from './traffic-agreement.ts';

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
