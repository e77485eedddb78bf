// Whether the data planes of a cluster follow the hints of a Service, once all of them are there; who was not recognised is not vouched for.
import type { Node, Service } from '../../apis/core.ts';
import { nameOf } from '../../apis/object.ts';
import { isNodeReady, zoneOfNode } from '../../apis/readings.ts';
import { routeFor } from '../../upstream/index.ts';
import type { ProxyEndpoint } from '../../upstream/index.ts';
import { readsPreferCloseOnly } from '../../upstream/proxy/cilium.ts';
import { PLANES, isAgent } from '../routers/planes.ts';
import { createRouters, versionOf } from '../routers/routers.ts';
import type { RouterAnswer, RouterObject } from '../routers/types.ts';

/** Ready Nodes whose proxies all choose alike, and how many they are. */
export interface Clients {
  /** Zone and data plane, which is all that distinguishes them. */
  readonly key: string;
  readonly node: Node;
  readonly router: RouterAnswer;
  readonly nodes: number;
}

/** One entry for each zone and data plane among the Nodes that are ready. */
export const clientsOf = (nodes: readonly Node[], objects: readonly RouterObject[] = []): Clients[] => {
  const routers = createRouters({ objects, nodes });
  const keyOf = (node: Node): string => `${zoneOfNode(node)} ${routers.keyOf(node)}`;
  return [...Map.groupBy(nodes.filter(isNodeReady), keyOf)].flatMap(([key, group]) =>
    group[0] === undefined ? [] : [{ key, node: group[0], router: routers.of(group[0]), nodes: group.length }],
  );
};

/** The first release of a data plane that has a fallback for clients whose zone no hint names. */
const FALLBACK_SINCE: Partial<Record<RouterAnswer['router'], string>> = { cilium: '1.18.1', 'calico-ebpf': '3.31.5' };

/**
 * A sentence about a data plane that would leave clients of the Service without endpoints where no ready endpoint is hinted for their zone;
 * undefined: there is none. One that is not recognised is taken for one that does not.
 */
export const droppedBy = (service: Service, clients: readonly Clients[]): string | undefined => {
  const found = clients.find(({ node, router }) => {
    if (router.behaviour.unmatched !== 'none') return false;
    const { proxy, ...routing } = router.routing;
    const merge = () => [endpoint('other', `not ${zoneOfNode(node)}`)];
    return routeFor({ node, service, slices: [], ...routing, merge }, proxy).reason === 'NoBackendForZone';
  });
  if (found === undefined) return undefined;
  const { title, router } = found.router;
  const fixed = FALLBACK_SINCE[router];
  const upgrade = fixed === undefined ? '' : `; fixed in ${title} ${fixed}`;
  return `${answerTitle(found.router)} drops connections of clients for whose zone no ready endpoint is hinted${upgrade}`;
};

export type Following =
  | { readonly kind: 'followed' }
  | { readonly kind: 'ignored'; readonly reason: 'HintsNotFollowed'; readonly message: string }
  | { readonly kind: 'unknown'; readonly reason: 'RouterUnknown' | 'RouterAssumed'; readonly message: string };

const FOLLOWED: Following = { kind: 'followed' };

const endpoint = (key: string, zone: string): ProxyEndpoint => ({
  key,
  address: key,
  port: 0,
  zone,
  nodeName: '',
  ready: true,
  serving: true,
  terminating: false,
  zoneHints: new Set([zone]),
  nodeHints: new Set(),
});

/** With one endpoint in the zone and one elsewhere, each hinted for its own. */
const keepsZone = (service: Service, { node, router }: Clients): boolean => {
  const own = endpoint('own', zoneOfNode(node));
  const endpoints = [own, endpoint('other', `not ${own.zone}`)];
  const { proxy, ...routing } = router.routing;
  const route = routeFor({ node, service, slices: [], ...routing, merge: () => endpoints }, proxy);
  return route.reason === 'NotProxied' || (route.used.length === 1 && route.used[0]?.key === own.key);
};

/** Some object shows it: kube-proxy's behaviour has been the same for years, so its image or what embeds it is enough. */
const isRecognised = ({ router, certainty, evidence }: RouterAnswer): boolean =>
  certainty === 'seen' || (router === 'kube-proxy' && certainty === 'assumed' && evidence.length > 0);

/** `Calico eBPF 3.29.1`. */
export const answerTitle = ({ title, version }: RouterAnswer): string =>
  version === null ? title : `${title} ${version}`;

const placesOf = ({ node, nodes }: Clients): string =>
  nodes === 1 ? `Node ${nameOf(node)}` : `${nodes} Nodes like ${nameOf(node)}`;

const judge = (service: Service, clients: Clients): Following => {
  const { router } = clients;
  const where = placesOf(clients);
  if (router.certainty === 'unknown') {
    const message = `the data plane on ${where} is not known (${router.why})`;
    return { kind: 'unknown', reason: 'RouterUnknown', message };
  }
  // Clients on a Node without zone use all zones, whichever data plane routes there.
  if (zoneOfNode(clients.node) !== '' && !keepsZone(service, clients)) {
    const { hints, needs } = router.behaviour;
    const why = hints === 'none' ? 'ignores hints' : `does not look at its hints; it needs ${needs}`;
    return { kind: 'ignored', reason: 'HintsNotFollowed', message: `${answerTitle(router)} on ${where} ${why}` };
  }
  if (isRecognised(router)) return FOLLOWED;
  const message = `${answerTitle(router)} is assumed on ${where}: ${router.why}`;
  return { kind: 'unknown', reason: 'RouterAssumed', message };
};

const RANK = { HintsNotFollowed: 2, RouterUnknown: 1, RouterAssumed: 0 } as const;
const rankOf = (following: Following): number => (following.kind === 'followed' ? -1 : RANK[following.reason]);

/** The worst of all groups of Nodes. Messages do not name the Service. */
export const followingOf = (service: Service, clients: readonly Clients[]): Following =>
  clients
    .map((each) => judge(service, each))
    .reduce((worst, next) => (rankOf(next) > rankOf(worst) ? next : worst), FOLLOWED);

/** Some agent reads `PreferClose` but not its newer name `PreferSameZone`: Cilium 1.18 and 1.19. */
export const wantsOlderName = (objects: readonly RouterObject[]): boolean =>
  PLANES.filter(({ versions }) => versions.some(({ rule }) => rule === 'cilium')).some((plane) =>
    objects.some((object) => {
      const version = isAgent(plane.agent, object) ? versionOf(plane, [object])?.version : undefined;
      return version !== undefined && readsPreferCloseOnly(version);
    }),
  );
