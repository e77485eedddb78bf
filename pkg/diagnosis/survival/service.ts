// One Service without a zone: which endpoints are left, what the busiest of them gets, and how many more it takes.
// Which clients of a Service go to endpoints of a zone although hints send them elsewhere, by routers, bypasses and the Service itself.
import { type EndpointSlice, zoneOfNode } from '../../apis/core.ts';
import { NOWHERE } from '../../apis/names.ts';
import { sumBy, sumOf } from '../../apis/values.ts';
import type { Leave } from '../../evacuation/decide.ts';
import { hintsNow, isRebuilt } from '../../hints/readiness.ts';
import { type MeasuredFlow, bytesOf } from '../../traffic/measured.ts';
import { REASONS, type Reason } from '../../upstream/index.ts';
import { counted } from '../explain/given.ts';
import type { Facts } from '../explain/facts.ts';
import { serviceKeyOfRef } from '../models/lookup.ts';
import { type GroupRoute, groupRoutesOf } from '../models/routes.ts';
import { capacityOf } from '../simulate/context.ts';
import { readyForProxies } from '../simulate/verdict.ts';
import { type FlowPolicySummary, itemsOf } from '../snapshot.ts';
import { ROUNDING, type ZoneLoad, peakOf, replicasToAdd } from './load.ts';
import { UNMOVED } from './types.ts';
import type { Answer, LoadReport, ServiceSurvival, SurvivalOptions, Unmoved, UnmovedReason } from './types.ts';

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
const unmovedOf = (facts: Facts, zones: ReadonlySet<string>, zoneless: number): Unmoved[] => [
  ...byRoutes(facts, zones),
  ...byBypasses(facts),
  ...byService(facts),
  ...(zoneless === 0
    ? []
    : [unmoved('EndpointsWithoutZone', `${counted(zoneless, 'ready endpoint')} without a zone.`)]),
];

const HUNDRED = 100;
const DEFAULT_UTILIZATION = 1;
const DEFAULT_OVERLOAD = 1;

/** Ready endpoints of one family and port: what one connection chooses among. */
interface Path {
  readonly label: string;
  readonly endpoints: readonly { readonly address: string; readonly zone: string }[];
}

/** A headless Service has no ports that proxies look at: all its addresses are in DNS. */
const pathsOf = ({ service, slices, families }: Facts): Path[] => {
  if (service.spec?.clusterIP === 'None') {
    return families.map(({ family, endpoints }) => ({ label: family, endpoints }));
  }
  const ports = new Set(slices.flatMap((slice) => (slice.ports ?? []).map(({ name = '' }) => name)));
  return families.flatMap(({ family }) =>
    [...ports].map((port) => ({
      label: port === '' ? family : `port ${port}`,
      endpoints: readyForProxies(slices, { family, port }),
    })),
  );
};

const countBy = <T>(items: readonly T[], zoneOf: (item: T) => string): ReadonlyMap<string, number> =>
  new Map([...Map.groupBy(items, zoneOf)].map(([zone, own]) => [zone, own.length]));

/** Fraction of the Nodes of each zone whose proxies keep clients in it now; of a planned strategy none: plans are made anew. */
const keepsOf = ({ routes, planned }: Facts): ReadonlyMap<string, number> => {
  if (planned !== undefined) return new Map();
  const zones = Map.groupBy(routes, ({ zone }) => zone);
  const size = (own: Facts['routes']): number => sumBy(own, ({ nodes }) => nodes.length);
  return new Map([...zones].map(([zone, own]) => [zone, size(own.filter(({ mode }) => mode !== '')) / size(own)]));
};

interface Scale {
  readonly basis: LoadReport['basis'];
  readonly clientsMeasured: boolean;
  readonly demand: ReadonlyMap<string, number>;
  /** Load of an endpoint of a zone, in the unit of the report. */
  readonly weigh: (load: number, zone: string) => number;
  readonly limit: number;
}

/** Measured flows by the Service that they are of. */
type FlowsOf = ReadonlyMap<string, readonly MeasuredFlow[]>;

/** By connections where the source knows them, else by bytes; without any where nothing of the Service was measured. */
const measuredClients = (flows: readonly MeasuredFlow[]): ReadonlyMap<string, number> => {
  const byConnections = flows.every(({ connections }) => connections !== null);
  const amounts = Map.groupBy(flows, ({ source }) => source);
  const amountOf = (flow: MeasuredFlow): number => (byConnections ? (flow.connections ?? 0) : bytesOf(flow));
  return new Map([...amounts].map(([zone, own]) => [zone, sumBy(own, amountOf)]));
};

/** By the CPU of the Nodes, or alike on every Node. */
const assumedClients = ({ index }: Facts): ReadonlyMap<string, number> => {
  const known =
    index.weights === undefined ? countBy(index.readyNodes, zoneOfNode) : new Map(Object.entries(index.weights));
  return sumOf(known.values()) > 0 ? known : new Map([['', 1]]);
};

/** A fair share of today's endpoints is 1. */
const fairShare = (
  facts: Facts,
  { endpoints }: Path,
  { maxOverload = DEFAULT_OVERLOAD }: SurvivalOptions,
  flows: FlowsOf,
): Scale => {
  const measuredHere = measuredClients(flows.get(facts.name) ?? []);
  const clientsMeasured = sumOf(measuredHere.values()) > 0;
  const demand = clientsMeasured ? measuredHere : assumedClients(facts);
  const fair = sumOf(demand.values()) / endpoints.length;
  return { basis: 'fairShare', clientsMeasured, demand, weigh: (load) => load / fair, limit: 1 + maxOverload };
};

const policyOf = ({ snapshot, name }: Facts): FlowPolicySummary | undefined =>
  itemsOf(snapshot.flowPolicies).find((policy) => serviceKeyOfRef(policy) === name);

/** By what a FlowPolicy observed; undefined where it does not know load, or what an endpoint can do is not known. */
const measured = (facts: Facts, { endpoints }: Path, { maxUtilization }: SurvivalOptions): Scale | undefined => {
  const policy = policyOf(facts);
  if (policy?.demand === undefined) return undefined;
  const addresses = new Set(endpoints.map(({ address }) => address));
  const pods = itemsOf(facts.snapshot.pods);
  const capacity = capacityOf({ addresses, slices: facts.slices, pods, given: undefined, policy });
  if (capacity === null) return undefined;
  const least = Math.min(...capacity.byAddress.values());
  const zones = new Map<string, number>();
  for (const { address, zone } of endpoints) {
    zones.set(zone, Math.min(zones.get(zone) ?? Infinity, capacity.byAddress.get(address) ?? least));
  }
  return {
    basis: 'measured',
    clientsMeasured: true,
    demand: new Map(Object.entries(policy.demand)),
    weigh: (load, zone) => load / (zones.get(zone) ?? least),
    limit: maxUtilization ?? DEFAULT_UTILIZATION,
  };
};

interface Judged {
  readonly path: Path;
  /** Endpoints in the zones, and those of them that leave. */
  readonly there: number;
  readonly leaving: number;
  readonly load: LoadReport;
  readonly replicas: Readonly<Record<string, number>>;
  readonly answer: Exclude<Answer, 'NotTouched'>;
}

interface Counts {
  readonly all: number;
  readonly there: number;
  readonly leaving: number;
}

const answerOf = ({ all, there, leaving }: Counts, { now, after, limit }: LoadReport): Judged['answer'] => {
  if (there === 0) return 'NoEndpointThere';
  if (leaving === 0) return 'LessThanOne';
  if (leaving === all) return 'NoEndpointElsewhere';
  return after !== null && after > limit + ROUNDING && after > now + ROUNDING ? 'Overloaded' : 'Survives';
};

/** Zones that Pods can move to: of Nodes that run workloads, else of any. */
const otherZones = ({ index, clientZones }: Facts, zones: ReadonlySet<string>): string[] =>
  (clientZones.length > 0 ? clientZones : [...index.zones]).filter((zone) => zone !== '' && !zones.has(zone));

/** Of so many endpoints of the zone; where several evacuations are about it, by the one that takes most. */
const leavingOf = (zone: string, count: number, leaves: readonly Leave[]): number =>
  leaves
    .filter((leave) => leave.zone === zone)
    .map(
      ({ percent, rounding }) =>
        (count * Math.min(percent, HUNDRED)) / HUNDRED + (rounding === 'Up' ? 1 - ROUNDING : 0),
    )
    .reduce((most, share) => Math.max(most, Math.floor(share)), 0);

const judge = (
  facts: Facts,
  path: Path,
  leaves: readonly Leave[],
  options: SurvivalOptions,
  flows: FlowsOf,
): Judged => {
  const scale = measured(facts, path, options) ?? fairShare(facts, path, options, flows);
  const { basis, clientsMeasured, demand, weigh, limit } = scale;
  const zones = new Set(leaves.map(({ zone }) => zone));
  const all = countBy(path.endpoints, ({ zone }) => zone);
  const left = new Map([...all].map(([zone, count]) => [zone, count - leavingOf(zone, count, leaves)]));
  const keeps = keepsOf(facts);
  const before: ZoneLoad = { endpoints: all, demand, keeps };
  const after: ZoneLoad = { ...before, endpoints: left };
  const peak = peakOf(after, weigh);
  const load: LoadReport = {
    basis,
    clientsMeasured,
    now: peakOf(before, weigh).load,
    after: Number.isFinite(peak.load) ? peak.load : null,
    limit,
    zone: peak.zone,
  };
  const there = path.endpoints.filter(({ zone }) => zones.has(zone)).length;
  const leaving = path.endpoints.length - sumOf(left.values());
  const answer = answerOf({ all: path.endpoints.length, there, leaving }, load);
  const short = answer === 'Overloaded' || answer === 'NoEndpointElsewhere';
  const replicas = short ? (replicasToAdd(after, otherZones(facts, zones), limit, weigh) ?? {}) : {};
  return { path, there, leaving, load, replicas, answer };
};

const RANK = {
  NoEndpointElsewhere: 0,
  Overloaded: 1,
  Survives: 2,
  LessThanOne: 3,
  NoEndpointThere: 4,
  NotTouched: 5,
} as const satisfies Record<Answer, number>;

export const rankOf = (answer: Answer): number => RANK[answer];

const excess = ({ load: { after, limit } }: Judged): number => (after ?? Infinity) / limit;

const worstOf = (judged: readonly Judged[]): Judged | undefined =>
  [...judged].sort((a, b) => rankOf(a.answer) - rankOf(b.answer) || excess(b) - excess(a))[0];

const amount = ({ basis }: LoadReport, value: number): string =>
  basis === 'measured'
    ? `${Math.round(value * HUNDRED)} % of its capacity`
    : `${value.toFixed(1)} times a fair share of today`;

const sentenceOf = ({ answer, load, there, leaving, path }: Judged, zones: readonly string[]): string => {
  const names = zones.join(', ');
  const all = counted(path.endpoints.length, 'ready endpoint');
  const part = there === leaving ? '' : `, ${leaving} of which leave`;
  if (answer === 'NoEndpointElsewhere') return `All of ${all} (${path.label}) are in ${names}.`;
  if (answer === 'NoEndpointThere') return `None of ${all} is in ${names}.`;
  if (answer === 'LessThanOne') return `${there} of ${all} in ${names}: the share rounds down to none.`;
  const where = load.zone === '' ? 'no zone' : load.zone;
  return `${there} of ${all} are in ${names}${part}; the busiest that stays, in ${where}, then gets ${amount(load, load.after ?? 0)}, the limit is ${amount(load, load.limit)}.`;
};

/** Never evacuated: API servers write its endpoints themselves, most without a zone. */
const isApiServer = ({ namespace, name }: Facts['ref']): boolean => namespace === 'default' && name === 'kubernetes';

const untouched = ({ ref, service }: Facts, message: string): ServiceSurvival => ({
  namespace: ref.namespace,
  name: ref.name,
  type: service.spec?.type ?? 'ClusterIP',
  answer: 'NotTouched',
  message,
  endpoints: { count: 0, of: 0 },
  zoneless: 0,
  load: null,
  replicas: {},
  unmoved: [],
});

export const survivalOf = (facts: Facts, options: SurvivalOptions, flows: FlowsOf): ServiceSurvival => {
  const { ref, service } = facts;
  if (isApiServer(ref))
    return untouched(facts, 'It is the Service of the API server itself, which writes its endpoints.');
  if (service.spec?.type === 'ExternalName') return untouched(facts, 'It is a DNS name and has no endpoints.');
  const leaves =
    options.leavesOf?.(service) ?? options.zones.map((zone) => ({ zone, percent: HUNDRED, rounding: 'Up' }) as const);
  const paths = pathsOf(facts).filter(({ endpoints }) => endpoints.length > 0);
  const worst = worstOf(paths.map((path) => judge(facts, path, leaves, options, flows)));
  if (worst === undefined) return untouched(facts, 'No endpoint is ready.');
  const { path, leaving, load, replicas, answer } = worst;
  const moves = leaving > 0 && leaving < path.endpoints.length;
  const zones = leaves.map(({ zone }) => zone);
  const zoneless = path.endpoints.filter(({ zone }) => zone === '').length;
  return {
    ...untouched(facts, sentenceOf(worst, zones)),
    answer,
    endpoints: { count: leaving, of: path.endpoints.length },
    zoneless,
    load,
    replicas,
    unmoved: moves ? unmovedOf(facts, new Set(zones), zoneless) : [],
  };
};
