// Which clients of a Service go to endpoints of a zone although hints send them elsewhere, by routers, bypasses and the Service itself.
import type { EndpointSlice } from '../../apis/core.ts';
import { NOWHERE } from '../../apis/names.ts';
import { hintsNow, isRebuilt } from '../../hints/readiness.ts';
import { REASONS } from '../../upstream/index.ts';
import type { Reason } from '../../upstream/index.ts';
import { counted } from '../explain/cause.ts';
import type { Facts } from '../explain/types.ts';
import { groupRoutesOf } from '../models/routes.ts';
import type { GroupRoute } from '../models/routes.ts';
import { UNMOVED } from './reasons.ts';
import type { UnmovedReason } from './reasons.ts';
import type { Unmoved } from './types.ts';

/** As an evacuation leaves them: endpoints of the zones, and what is not ready, for no client, all others for clients of every zone. */
export const evacuatedSlices = (
  slices: readonly EndpointSlice[],
  zones: ReadonlySet<string>,
  clientZones: readonly string[],
): readonly EndpointSlice[] => {
  const everyZone = clientZones.map((name) => ({ name }));
  return slices.map((slice) => {
    const rebuilt = isRebuilt(slice.metadata?.labels);
    return {
      ...slice,
      endpoints: (slice.endpoints ?? []).map(({ hints: _, ...endpoint }) => {
        const hints = zones.has(endpoint.zone ?? '')
          ? { forZones: [{ name: NOWHERE }] }
          : hintsNow(endpoint, { forZones: everyZone }, rebuilt);
        return hints === undefined ? endpoint : { ...endpoint, hints };
      }),
    };
  });
};

const unmoved = (reason: UnmovedReason, evidence: string, all = false): Unmoved => ({
  reason,
  evidence,
  remedy: UNMOVED[reason].remedy,
  all,
});

const nodesOf = (routes: readonly GroupRoute[]): number =>
  new Set(routes.flatMap(({ nodes }) => nodes).map(({ metadata }) => metadata?.name)).size;

/** Nodes whose proxy still uses endpoints of the zones, or has none left. */
const byRoutes = ({ service, slices, families, index, nodes }: Facts, zones: ReadonlySet<string>): Unmoved[] => {
  if (nodes.length === 0 || service.spec?.clusterIP === 'None') return [];
  const hinted = evacuatedSlices(
    slices,
    zones,
    [...index.zones].filter((zone) => zone !== ''),
  );
  const routing = (node: Parameters<typeof index.routers.of>[0]) => index.routers.of(node).routing;
  const routes = families.flatMap(({ family }) =>
    groupRoutesOf({ service, slices: hinted, groups: index.groups, routing, family }),
  );
  const strays = routes.filter(
    ({ used, reason }) =>
      reason === 'RouterUnknown' || reason === 'NoBackendForZone' || used.some(({ zone }) => zones.has(zone)),
  );
  return [...Map.groupBy(strays, ({ reason }) => reason)].map(([reason, own]) => ({
    reason,
    evidence: `${nodesOf(own)} of ${counted(nodes.length, 'Node')}: ${own[0]?.message ?? ''}`,
    remedy: REASONS[reason satisfies Reason].remedy,
    all: nodesOf(own) === nodes.length,
  }));
};

const byBypasses = ({ bypasses }: Facts): Unmoved[] =>
  bypasses.map(({ client, evidence, decides, setting, all }) => {
    if (client === 'headless') return unmoved('HeadlessClients', 'spec.clusterIP is None.', true);
    const found = unmoved('BypassesProxies', `${client} (${evidence.object}): ${decides}.`, all);
    return setting === '' ? found : { ...found, remedy: `${setting}.` };
  });

const ETCD = 2379;

/** With layer-7 load balancing the gateways send to the latter two. */
const GATEWAY_TARGETS = new Set(['kube-apiserver', 'kube-apiserver-mtls', 'kube-apiserver-connection-upgrade']);

/** API servers that Gardener exposes by its ingress gateways: of Shoots in a seed, and of the virtual garden. */
const isExposedByGardener = ({ namespace, name }: Facts['ref']): boolean =>
  (GATEWAY_TARGETS.has(name) && namespace.startsWith('shoot--')) ||
  (name === 'virtual-garden-kube-apiserver' && namespace === 'garden');

const byService = ({ service, ref }: Facts): Unmoved[] => {
  const { type = 'ClusterIP', externalTrafficPolicy, ports = [] } = service.spec ?? {};
  const external = type === 'LoadBalancer' || type === 'NodePort';
  const udp = ports.filter(({ protocol }) => protocol === 'UDP').map(({ port }) => String(port));
  const found: Unmoved[] = [];
  if (external && externalTrafficPolicy === 'Local') {
    found.push(unmoved('ExternalTrafficPolicyLocal', 'spec.externalTrafficPolicy is Local.'));
  } else if (type === 'LoadBalancer') {
    found.push(unmoved('LoadBalancerNodes', 'spec.type is LoadBalancer.'));
  }
  if (isExposedByGardener(ref)) {
    found.push(unmoved('GardenerIngressGateway', `It is ${ref.name} in a namespace of Gardener's.`));
  }
  if (ports.some(({ port }) => port === ETCD)) found.push(unmoved('LongConnections', `Port ${ETCD} is etcd's.`));
  if (udp.length > 0) found.push(unmoved('FixedTupleUdp', `Port ${udp.join(', ')} is UDP.`));
  return found;
};

/** Each reason once for each object that shows it. */
export const unmovedOf = (facts: Facts, zones: ReadonlySet<string>, zoneless: number): Unmoved[] => [
  ...byRoutes(facts, zones),
  ...byBypasses(facts),
  ...byService(facts),
  ...(zoneless === 0
    ? []
    : [unmoved('EndpointsWithoutZone', `${counted(zoneless, 'ready endpoint')} without a zone.`)]),
];
