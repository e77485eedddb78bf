// Which endpoints the clients of each node get, and by which rule: the report of `kubectl topology route`.
import type { Endpoint, EndpointSlice, Node, Service } from '../../apis/core.ts';
import { defined } from '../../apis/defined.ts';
import { nameOf } from '../../apis/object.ts';
import { zoneOfNode } from '../../apis/readings.ts';
import { NEWEST_KNOWN_VERSION } from '../../routing/version.ts';
import { mergeEndpoints, routesFor } from '../../upstream/index.ts';
import type { MergeEndpoints, ProxyEndpoint, Reason, Route, TopologyMode } from '../../upstream/index.ts';
import { routersReport } from '../routers/report.ts';
import type { RoutersReport } from '../routers/report.ts';
import type { Certainty, NodeRouting, RouterName, Routers } from '../routers/types.ts';
import { firstFamilyOf, kubeletVersion } from './lookup.ts';
import { byText } from '../../apis/order.ts';

export interface RouteReport {
  readonly node: string;
  /** Empty where the Node has none. */
  readonly zone: string;
  readonly router: RouterName;
  readonly certainty: Certainty;
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

export interface RoutesReport extends RoutersReport {
  readonly routes: readonly RouteReport[];
}

export interface RoutesInput {
  readonly service: Service;
  /** The Service's slices, of any family. */
  readonly slices: readonly EndpointSlice[];
  readonly nodes: readonly Node[];
  /** Who routes on a Node, and by which version; default: kube-proxy, by the kubelet's version. */
  readonly routing?: (node: Node) => NodeRouting;
  /** Name of one port; default: all. */
  readonly port?: string;
  /** addressType; default: the Service's first family. */
  readonly family?: string;
  /** As of RouteInput. */
  readonly merge?: MergeEndpoints;
}

const byKubelet = (node: Node): NodeRouting => ({
  proxy: { kind: 'kube-proxy' },
  version: kubeletVersion(node) ?? NEWEST_KNOWN_VERSION,
});

/** Routes of every node, in the order of nodes' names, then of the Service's ports. */
export const routesOf = (input: RoutesInput): Route[] => {
  const { service, slices, port, merge, routing = byKubelet } = input;
  const family = input.family ?? firstFamilyOf(service, slices);
  const nodes = [...input.nodes].sort((a, b) => byText(nameOf(a), nameOf(b)));
  return nodes.flatMap((node) => {
    const { proxy, ...own } = routing(node);
    const more = defined({ port, merge });
    return routesFor({ node, service, slices, family, ...own, ...more }, proxy);
  });
};

/** A route, and the Nodes whose proxies all have it; `node` is the first of them in name order. */
export interface GroupRoute extends Route {
  readonly nodes: readonly Node[];
}

/** Nodes that every proxy treats alike unless a Service names Nodes: of one zone, with the same router. */
export const groupNodes = (
  nodes: readonly Node[],
  alike: (node: Node) => string = (node) => JSON.stringify(kubeletVersion(node) ?? null),
): readonly (readonly Node[])[] => {
  const sorted = [...nodes].sort((a, b) => byText(nameOf(a), nameOf(b)));
  return [...Map.groupBy(sorted, (node) => `${zoneOfNode(node)} ${alike(node)}`).values()];
};

const endpointsOf = (slices: readonly EndpointSlice[]): Endpoint[] => slices.flatMap((slice) => slice.endpoints ?? []);

/** Of an address that is there twice, a proxy may prefer the one on its own Node. */
const hasDuplicates = (endpoints: readonly Endpoint[]): boolean =>
  new Set(endpoints.map(({ addresses: [address] }) => address)).size < endpoints.length;

/** Names of Nodes by which a proxy may decide; undefined where it looks at no name for this Service. */
const namedNodes = ({ spec }: Service, endpoints: readonly Endpoint[]): ReadonlySet<string> | undefined => {
  const matter =
    spec?.internalTrafficPolicy === 'Local' ||
    spec?.externalTrafficPolicy === 'Local' ||
    // Cilium from 1.20 prefers endpoints of its own Node by their Node's name.
    spec?.trafficDistribution === 'PreferSameNode' ||
    endpoints.some(({ hints }) => (hints?.forNodes ?? []).length > 0) ||
    hasDuplicates(endpoints);
  if (!matter) return undefined;
  const hinted = endpoints.flatMap(({ hints }) => (hints?.forNodes ?? []).map(({ name }) => name));
  return new Set([...hinted, ...endpoints.map(({ nodeName = '' }) => nodeName)]);
};

const splitByName = (group: readonly Node[], names: ReadonlySet<string>): (readonly Node[])[] => {
  const others = group.filter((node) => !names.has(nameOf(node)));
  const alone = group.filter((node) => names.has(nameOf(node))).map((node) => [node]);
  return others.length === 0 ? alone : [others, ...alone];
};

export interface GroupRoutesInput extends Omit<RoutesInput, 'nodes'> {
  /** As `groupNodes` makes them. */
  readonly groups: readonly (readonly Node[])[];
}

/** Where no address is there twice, all Nodes see the same endpoints of a port. */
const rememberedMerge = (): MergeEndpoints => {
  const known = new Map<string, readonly ProxyEndpoint[]>();
  return (slices, options) => {
    const key = `${options.family} ${options.port}`;
    const endpoints = known.get(key) ?? mergeEndpoints(slices, options);
    known.set(key, endpoints);
    return endpoints;
  };
};

/** As `routesOf`, worked out once for all Nodes that are treated alike. */
export const groupRoutesOf = (input: GroupRoutesInput): GroupRoute[] => {
  const endpoints = endpointsOf(input.slices);
  const names = namedNodes(input.service, endpoints);
  const merge = hasDuplicates(endpoints) ? mergeEndpoints : rememberedMerge();
  const groups = names === undefined ? input.groups : input.groups.flatMap((group) => splitByName(group, names));
  return groups.flatMap((nodes) => {
    const [first] = nodes;
    return first === undefined
      ? []
      : routesOf({ ...input, nodes: [first], merge }).map((route) => ({ ...route, nodes }));
  });
};

const keysOf = (list: readonly { key: string }[]): string[] => list.map(({ key }) => key);

export interface RoutesReportInput extends Omit<RoutesInput, 'routing'> {
  readonly routers: Routers;
}

export const routesReport = ({ routers, ...input }: RoutesReportInput): RoutesReport => {
  const answers = new Map(input.nodes.map((node) => [nameOf(node), routers.of(node)]));
  return {
    ...routersReport(input.nodes, routers),
    routes: routesOf({ ...input, routing: (node) => routers.of(node).routing }).map(
      ({ node, zone, port, mode, cluster, local, reachable, reason, message }) => ({
        node,
        zone,
        router: answers.get(node)?.router ?? 'unknown',
        certainty: answers.get(node)?.certainty ?? 'unknown',
        port,
        mode,
        cluster: cluster === null ? null : keysOf(cluster),
        local: local === null ? null : keysOf(local),
        reachable: keysOf(reachable),
        reason,
        message,
      }),
    ),
  };
};
