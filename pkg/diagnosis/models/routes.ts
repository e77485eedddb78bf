// Which endpoints the clients of each Node get, by which rule, and whether the data planes of a cluster follow the hints of a Service.
import { isNodeReady, zoneOfNode, type Endpoint, type Node, type Service } from '../../apis/core.ts';
import { NOT_READY } from '../../apis/names.ts';
import { byText, defined, keptIn, nameOf } from '../../apis/values.ts';
import { mergeEndpoints, routeFor, routesFor, trafficOf } from '../../upstream/index.ts';
import type { MergeEndpoints, Proxy, ProxyEndpoint, Route, RouteInput, Traffic } from '../../upstream/index.ts';
import { endpointsOf } from '../../upstream/features.ts';
import { proxyEndpoint } from '../../upstream/proxy/endpoints.ts';
import { isLocalDns, readsPreferCloseOnly } from '../../upstream/proxy/hint-rule.ts';
import { PLANES, isAgent } from '../routers/planes.ts';
import { firstRelease } from '../routers/behaviour.ts';
import { type Routers, createRouters, routersReport, versionOf } from '../routers/routers.ts';
import type { RouterAnswer } from '../routers/kube-proxy.ts';
import type { NodeRouting, RouterObject } from '../routers/types.ts';
import { firstFamilyOf } from './lookup.ts';

/** Default: all ports, and the Service's first family. */
interface RoutesInput extends Pick<RouteInput, 'service' | 'slices' | 'port' | 'family' | 'merge'> {
  readonly nodes: readonly Node[];
  readonly routing: (node: Node) => NodeRouting;
}

const inNameOrder = (nodes: readonly Node[]): Node[] => [...nodes].sort((a, b) => byText(nameOf(a), nameOf(b)));

/** Routes of every node, in the order of nodes' names, then of the Service's ports. */
export const routesOf = (input: RoutesInput): Route[] => {
  const { service, slices, port, merge, routing } = input;
  const family = input.family ?? firstFamilyOf(service, slices);
  return inNameOrder(input.nodes).flatMap((node) => {
    const { proxy, ...own } = routing(node);
    return routesFor({ node, service, slices, family, ...own, ...defined({ port, merge }) }, proxy);
  });
};

/** A route, and the Nodes whose proxies all have it; `node` is the first of them in name order. */
export interface GroupRoute extends Route {
  readonly nodes: readonly Node[];
}

/** Nodes that every proxy treats alike unless a Service names Nodes: of one zone, and `alike`. */
export const groupNodes = (nodes: readonly Node[], alike: (node: Node) => string): readonly (readonly Node[])[] => [
  ...Map.groupBy(inNameOrder(nodes), (node) => `${zoneOfNode(node)} ${alike(node)}`).values(),
];

/** Of an address that is there twice, a proxy may prefer the one on its own Node. */
const hasDuplicates = (endpoints: readonly Endpoint[]): boolean =>
  new Set(endpoints.map(({ addresses: [address] }) => address)).size < endpoints.length;

/** Names of Nodes by which a proxy may decide; undefined where it looks at no name for this Service. */
const namedNodes = (service: Service, endpoints: readonly Endpoint[]): ReadonlySet<string> | undefined => {
  const { spec } = service;
  const matter =
    isLocalDns(service) ||
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

/** Where no address is there twice, all Nodes see the same endpoints of a port. */
const rememberedMerge = (): MergeEndpoints => {
  const known = new Map<string, readonly ProxyEndpoint[]>();
  return (slices, options) => {
    const key = `${options.family} ${options.port} ${options.drained ?? false}`;
    return keptIn(known, key, () => mergeEndpoints(slices, options));
  };
};

/** As `routesOf`, worked out once for all Nodes that are treated alike; `groups`: as `groupNodes` makes them. */
export const groupRoutesOf = (groups: readonly (readonly Node[])[], input: Omit<RoutesInput, 'nodes'>) => {
  const endpoints = input.slices.flatMap(endpointsOf);
  const names = namedNodes(input.service, endpoints);
  const merge = hasDuplicates(endpoints) ? mergeEndpoints : rememberedMerge();
  const alike = names === undefined ? groups : groups.flatMap((group) => splitByName(group, names));
  const routesBy = (nodes: readonly Node[]) => routesOf({ ...input, nodes: nodes.slice(0, 1), merge });
  return alike.flatMap((nodes) => routesBy(nodes).map((route) => ({ ...route, nodes })));
};

/** Where connections from all Nodes of these routes go; `weights`: of clients by zone. */
export const trafficBy = (
  routes: readonly (Pick<GroupRoute, 'nodes'> & { readonly used: readonly Pick<ProxyEndpoint, 'key' | 'zone'>[] })[],
  weights: Readonly<Record<string, number>> | undefined,
): Traffic => {
  const routeOf = new Map(routes.map((route) => [route.nodes[0], route]));
  return trafficOf({
    nodes: routes.flatMap(({ nodes }) => nodes.slice(0, 1)),
    countOf: (node) => routeOf.get(node)?.nodes.length ?? 0,
    endpointsFor: (node) => routeOf.get(node)?.used ?? [],
    ...defined({ weights }),
  });
};

const keysOf = (list: readonly ProxyEndpoint[]): string[] => list.map(({ key }) => key);

export const routesReport = (routers: Routers, input: Omit<RoutesInput, 'routing' | 'merge'>) => ({
  ...routersReport(input.nodes, routers),
  routes: inNameOrder(input.nodes).flatMap((own) => {
    const { router, certainty, routing } = routers.of(own);
    return routesOf({ ...input, nodes: [own], routing: () => routing }).map(
      ({ node, zone, port, mode, cluster, local, reachable, reason, message }) => ({
        node,
        /** Empty where the Node has none. */
        zone,
        router,
        certainty,
        /** Name of the Service's port; empty where it has none. */
        port,
        mode,
        /** `IP:PORT`, in text order; null where the Service needs no such list on the Node. */
        cluster: cluster && keysOf(cluster),
        local: local && keysOf(local),
        reachable: keysOf(reachable),
        reason,
        message,
      }),
    );
  }),
});

export type RoutesReport = ReturnType<typeof routesReport>;

/** Ready Nodes whose proxies all choose alike, and how many they are: `key` is zone and data plane, which is all that distinguishes them. */
export const clientsOf = (nodes: readonly Node[], objects: readonly RouterObject[] = []) => {
  const routers = createRouters({ objects, nodes });
  const keyOf = (node: Node): string => `${zoneOfNode(node)} ${routers.keyOf(node)}`;
  return [...Map.groupBy(nodes.filter(isNodeReady), keyOf)].flatMap(([key, group]) =>
    group[0] === undefined ? [] : [{ key, node: group[0], router: routers.of(group[0]), nodes: group.length }],
  );
};

export type Clients = ReturnType<typeof clientsOf>[number];

const UNREADY = { ready: false, serving: false };

const endpoint = (key: string, zone: string, more: Partial<Endpoint> = {}): ProxyEndpoint =>
  proxyEndpoint({ addresses: [key], zone, hints: { forZones: [{ name: zone }] }, ...more }, key, 0);

/** How a data plane can leave a client without endpoints while one is ready: the endpoints, and the clients it is about. */
const LOSSES: readonly { readonly endpoints: (client: Node) => ProxyEndpoint[]; readonly clients: string }[] = [
  {
    endpoints: (client) => [endpoint('other', `not ${zoneOfNode(client)}`)],
    clients: 'for whose zone no ready endpoint is hinted',
  },
  {
    endpoints: (client) => [
      endpoint('here', `${NOT_READY}${zoneOfNode(client)}`, { nodeName: nameOf(client), conditions: UNREADY }),
      endpoint('other', zoneOfNode(client)),
    ],
    clients: 'on whose Node the only endpoint is not ready',
  },
];

/** What clients on the Node use of these endpoints, with its own data plane or another. */
const usedOf = (service: Service, { node, router }: Clients, endpoints: readonly ProxyEndpoint[], proxy?: Proxy) => {
  const { proxy: own, ...routing } = router.routing;
  return routeFor({ node, service, slices: [], ...routing, merge: () => endpoints }, proxy ?? own);
};

/** A sentence about a data plane that would leave clients of the Service without endpoints although one is ready; undefined: there is none. One that is not recognised is taken for one that does not. */
export const droppedBy = (service: Service, clients: readonly Clients[]): string | undefined => {
  for (const each of clients) {
    const { node, router } = each;
    // No proxy drops what none looks at, as of a headless Service.
    const isLost = (endpoints: readonly ProxyEndpoint[], proxy?: Proxy): boolean => {
      const { used, reason } = usedOf(service, each, endpoints, proxy);
      return used.length === 0 && reason !== 'NotProxied';
    };
    const loss = LOSSES.find(({ endpoints }) => isLost(endpoints(node)));
    if (loss === undefined) continue;
    const versions = PLANES.find(({ name }) => name === router.router)?.versions ?? [];
    const fixed = firstRelease(versions, (rule) => !isLost(loss.endpoints(node), { kind: 'ruled', name: '', rule }));
    const upgrade = fixed === null ? '' : `; fixed in ${router.title} ${fixed}`;
    return `${answerTitle(router)} drops connections of clients ${loss.clients}${upgrade}`;
  }
  return undefined;
};

const FOLLOWED = { kind: 'followed' } as const;

const keepsZone = (service: Service, clients: Clients): boolean => {
  const own = endpoint('own', zoneOfNode(clients.node));
  const { reason, used } = usedOf(service, clients, [own, endpoint('other', `not ${own.zone}`)]);
  return reason === 'NotProxied' || (used.length === 1 && used[0]?.key === own.key);
};

/** Some object shows it: kube-proxy's behaviour has been the same for years, so its image or what embeds it is enough. */
const isRecognised = ({ router, certainty, evidence }: RouterAnswer): boolean =>
  certainty === 'seen' || (router === 'kube-proxy' && certainty === 'assumed' && evidence.length > 0);

/** `Calico eBPF 3.29.1`. */
export const answerTitle = ({ title, version }: RouterAnswer): string => (version ? `${title} ${version}` : title);

const judge = (service: Service, clients: Clients) => {
  const { router, node, nodes } = clients;
  const where = nodes === 1 ? `Node ${nameOf(node)}` : `${nodes} Nodes like ${nameOf(node)}`;
  if (router.certainty === 'unknown') {
    const message = `the data plane on ${where} is not known (${router.why})`;
    return { kind: 'unknown', reason: 'RouterUnknown', message } as const;
  }
  // Clients on a Node without zone use all zones, whichever data plane routes there.
  if (zoneOfNode(clients.node) !== '' && !keepsZone(service, clients)) {
    const { hints, needs } = router.behaviour;
    const why = hints === 'none' ? 'ignores hints' : `does not look at its hints; it needs ${needs}`;
    const message = `${answerTitle(router)} on ${where} ${why}`;
    return { kind: 'ignored', reason: 'HintsNotFollowed', message } as const;
  }
  if (isRecognised(router)) return FOLLOWED;
  const message = `${answerTitle(router)} is assumed on ${where}: ${router.why}`;
  return { kind: 'unknown', reason: 'RouterAssumed', message } as const;
};

export type Following = Readonly<ReturnType<typeof judge>>;

const WORST_FIRST = ['HintsNotFollowed', 'RouterUnknown', 'RouterAssumed'] as const;

/** The worst of all groups of Nodes. Messages do not name the Service. */
export const followingOf = (service: Service, clients: readonly Clients[]): Following => {
  const found = clients.map((each) => judge(service, each)).filter((each) => each.kind !== 'followed');
  return WORST_FIRST.flatMap((reason) => found.find((each) => each.reason === reason) ?? [])[0] ?? FOLLOWED;
};

/** Some agent reads `PreferClose` but not its newer name `PreferSameZone`: Cilium 1.18 and 1.19. */
export const wantsOlderName = (objects: readonly RouterObject[]): boolean =>
  PLANES.filter(({ cilium }) => cilium === true).some((plane) =>
    objects.some((object) => isAgent(plane.agent, object) && readsPreferCloseOnly(versionOf(plane, [object])?.version)),
  );
