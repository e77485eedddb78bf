// Works out once what causes of one Service are looked for in.
import { isEndpointReady } from '../../apis/core.ts';
import type { Endpoint, EndpointSlice, Node, Service, ServicePort } from '../../apis/core.ts';
import type { FlowPolicyCondition } from '../../apis/flow-policy.ts';
import { byText, countBy, defined, nameOf, refOf } from '../../apis/values.ts';
import { LABEL_GARDENER_ROLE, NOWHERE, isPlannedStrategy } from '../../apis/names.ts';
import { strategyOf } from '../../hints/table.ts';
import { effectiveStrategy } from '../../routing/strategy.ts';
import { atLeast } from '../../routing/version.ts';
import type { Measured } from '../../traffic/measured.ts';
import { mapEndpoints } from '../../upstream/controller/allocation.ts';
import { inZoneShare, isDrained, wishOf, worstOverload } from '../../upstream/index.ts';
import { drainsSlices } from '../../upstream/proxy/hint-rule.ts';
import { bypassesOf, connectsToPods } from '../bypasses/find.ts';
import { AS_TCP } from '../bypasses/kinds.ts';
import { callingOf } from '../bypasses/members.ts';
import { referrersOf } from '../bypasses/watchers.ts';
import { measuredPast } from '../measured.ts';
import { type FinalHints, finalHints } from '../models/hints.ts';
import { barrier, familiesOf, hasSelector, readyEndpoints, serviceKeyOfRef } from '../models/lookup.ts';
import type { ReadyEndpoint } from '../models/lookup.ts';
import { type GroupRoute, groupRoutesOf, trafficBy } from '../models/routes.ts';
import type { Stated } from '../routers/types.ts';
import { isPlacedByGardener } from '../owner.ts';
import { type ClusterSnapshot, type FlowLoopSummary, type Workload, itemsOf } from '../snapshot.ts';
import { listed } from './reasons.ts';
import { type SnapshotIndex, ownersOf } from './snapshot-index.ts';

export interface ExplainOptions extends Stated {
  /** Milliseconds since the epoch: certificates expire. */
  readonly now: number;
  /** Traffic was measured to cross zones although everything here looks right. Default false. */
  readonly crossing?: boolean;
  readonly measured?: Measured;
}

/** Zones to which Gardener keeps a control plane's Pods and what talks to them: its Shoot has no failure tolerance of zones. */
export const placedIn = (workloads: readonly Workload[]): readonly string[] | undefined =>
  workloads.find((own) => own.podLabels[LABEL_GARDENER_ROLE] === 'controlplane' && isPlacedByGardener(own.marks))
    ?.allowedZones;

/** Dedicated control planes have few clients, unless endpoints show that workloads run there. */
const clientZonesOf = ({ nodesIn, workerZones }: SnapshotIndex, endpoints: readonly ReadyEndpoint[]): string[] => {
  const shown = endpoints.map(({ zone }) => zone).filter((zone) => nodesIn.has(zone));
  const all = new Set([...(workerZones.size > 0 ? workerZones : nodesIn.keys()), ...shown]);
  return [...all].filter((zone) => zone !== '').sort(byText);
};

/** Labels that slices of the Service have in the end: the controller gives them those of the Service. */
export const labelsOf = (service: Service, slices: readonly EndpointSlice[]): Readonly<Record<string, string>> => {
  const own = slices.map(({ metadata }) => metadata?.labels ?? {}).find((labels) => strategyOf(labels) !== undefined);
  return { ...own, ...(hasSelector(service) ? service.metadata?.labels : {}) };
};

/** What drains the endpoints, as the beginning of a sentence. */
export const drainedText = (drained: FamilyFacts['drained']): string =>
  `Cilium drains slice ${listed(drained.map(({ slice }) => nameOf(slice)))} (service.cilium.io/weight: "0")`;

export const UNDRAIN = 'Take the annotation off the slice once it may serve again.';

export type FamilyFacts = ReturnType<typeof familyFacts>[number];

/** Whether every data plane leaves slices of weight 0 alone: then their endpoints serve no new connection, ready or not. */
const isDraining = ({ answers }: SnapshotIndex): boolean =>
  answers.length > 0 &&
  answers.every(({ routing: { proxy } }) => proxy.kind === 'cilium' && drainsSlices(proxy.ciliumVersion));

/** What clients of one address family find: a cluster IP, slices and rules of its own; its first one first, at least one. */
const familyFacts = (service: Service, slices: readonly EndpointSlice[], index: SnapshotIndex) => {
  const families = familiesOf(service, slices);
  const drained = isDraining(index) ? slices.filter(isDrained) : [];
  // Pods without any of its ports are in slices of their own, which no proxy uses.
  const used = slices.filter(({ ports }) => service.spec?.clusterIP === 'None' || (ports ?? []).length > 0);
  const serving = (used.length > 0 ? used : slices).filter((slice) => !drained.includes(slice));
  return families.map((family) => ({
    family,
    /** ` IPv6` where the Service has more than one, to go before a noun; else empty. */
    label: families.length > 1 ? ` ${family}` : '',
    endpoints: readyEndpoints(serving, family),
    /** Ready ones of slices of weight 0, which Cilium drains. */
    drained: readyEndpoints(drained, family),
  }));
};

const isHinted = ({ hints }: Endpoint): boolean => (hints?.forZones ?? []).length > 0;

const idealEndpoint = (endpoint: Endpoint): Endpoint => {
  const { zone = '', hints } = endpoint;
  if (isHinted(endpoint) || zone === '') return endpoint;
  return { ...endpoint, hints: { ...hints, forZones: [{ name: isEndpointReady(endpoint) ? zone : NOWHERE }] } };
};

/** Slices as they should be: what would be stored now where that is complete, else each ready endpoint for its own zone. So causes behind a missing hint show at once, and not only after it is fixed. */
const idealSlices = (slices: readonly EndpointSlice[], expected: readonly FinalHints[]): readonly EndpointSlice[] => {
  const isComplete = ({ endpoints }: EndpointSlice): boolean =>
    (endpoints ?? []).every((endpoint) => endpoint.conditions?.ready === false || isHinted(endpoint));
  const complete = expected.filter((family) => family.slices.every(isComplete)).flatMap((family) => family.slices);
  const done = new Map(complete.map((slice) => [nameOf(slice), slice]));
  return slices.map((slice) => done.get(nameOf(slice)) ?? mapEndpoints(slice, idealEndpoint));
};

type FamilyRoute = GroupRoute & { readonly family: string };

/** Ready endpoints of the slices that have the port: Pods without the port that `targetPort` names are in others. */
export const endpointsOfPort = (slices: readonly EndpointSlice[], of: Pick<FamilyRoute, 'family' | 'port'>) => {
  const own = slices.filter(({ ports }) => (ports ?? []).some(({ name = '' }) => name === of.port));
  return readyEndpoints(own, of.family);
};

/** Only published as ready. */
export const isVain = ({ ready, serving }: FamilyRoute['used'][number]): boolean => ready && !serving;

/** Nothing that is used answers. */
const isPublishedInVain = ({ used }: Pick<FamilyRoute, 'used'>): boolean => used.every(isVain);

/** The one endpoint of Services of Gateways and Ingresses of Cilium (operator/pkg/model/translation). */
export const PLACEHOLDER = '192.192.192.192';

/** There is a ready endpoint, and it gets none; or all that it gets is published as ready and is not. */
export const isFailing = ({ endpoints }: Pick<Facts, 'endpoints'>, route: Pick<FamilyRoute, 'used' | 'reason'>) =>
  endpoints.some(({ address }) => address !== PLACEHOLDER) &&
  !['NotProxied', 'RouterUnknown'].includes(route.reason) &&
  isPublishedInVain(route);

/** Connections of each family and port that something answers, of clients in the client zones and on Nodes without zone. */
const trafficsOf = (
  routes: readonly FamilyRoute[],
  slices: readonly EndpointSlice[],
  clientZones: readonly string[],
  weights: SnapshotIndex['weights'],
) =>
  [...Map.groupBy(routes, ({ family, port }) => `${family} ${port}`).values()].flatMap((own) => {
    const [first] = own;
    if (first === undefined || own.every(isPublishedInVain)) return [];
    const clients = own
      .filter(({ zone, reason }) => reason !== 'RouterUnknown' && (zone === '' || clientZones.includes(zone)))
      .map((route) => (isPublishedInVain(route) ? { ...route, used: [] } : route));
    const ready = endpointsOfPort(slices, first);
    const vain = new Set(own.flatMap(({ used }) => used.filter(isVain).map(({ key }) => key)));
    return [{ routes: own, traffic: trafficBy(clients, weights), ready, count: ready.length - vain.size }];
  });

/** What writes no `serving` is shown by Pods, where conditions of Pods are there. */
const withServing = (slices: readonly EndpointSlice[], service: Service, index: SnapshotIndex) => {
  const pods = service.spec?.publishNotReadyAddresses === true ? index.bypasses.podsOf(service) : [];
  const unready = new Set<unknown>(pods.flatMap(({ ready, name }) => (ready ? [] : name)));
  const endpointOf = (endpoint: Endpoint): Endpoint =>
    endpoint.conditions?.serving === undefined && unready.has(endpoint.targetRef?.name)
      ? { ...endpoint, conditions: { ...endpoint.conditions, serving: false } }
      : endpoint;
  return unready.size === pods.length ? slices : slices.map((own) => mapEndpoints(own, endpointOf));
};

/** Published as ready by `publishNotReadyAddresses` while their Pods are not (kubernetes/kubernetes#124914). */
const isPublishedOnly = ({ conditions: own }: Endpoint): boolean => own?.ready === true && own.serving === false;

export const conditionIn = ({ conditions }: FlowLoopSummary, type: FlowPolicyCondition['type']) =>
  conditions.find((condition) => condition.type === type);

/** What the FlowPolicy says. `inForce`: the slices carry its plan, and what crosses zones does so on purpose; `spreadOnPurpose`: the plan is to write no hints, by what is known of the load. */
const loopReport = (loop: FlowLoopSummary) => {
  // In safe mode there are no hints because nothing is known, not because the load asks for it.
  const isSafeMode = conditionIn(loop, 'Observed')?.reason === 'MetricsLost';
  const inForce = loop.mode === 'Enforce' && conditionIn(loop, 'Effective')?.status === 'True' && !isSafeMode;
  return { ...loop, inForce, spreadOnPurpose: inForce && loop.spread === true };
};

export type LoopReport = ReturnType<typeof loopReport>;

export const KUBE_ROUTER_LOCAL = 'kube-router.io/service.local';
const TAKES_MARK = /^kube-router 2\.(?:[1-3]\.|4\.0$)/;
const TAKES_ENTRY = /^kube-router (?:[01]|2\.0)\./;

export const factsOf = (snapshot: ClusterSnapshot, given: Service, stated: ExplainOptions, index: SnapshotIndex) => {
  // Meant for traffic from outside, and taken for `internalTrafficPolicy: Local` too (kube-router#1774).
  const has = given.metadata?.annotations?.[KUBE_ROUTER_LOCAL] === 'true';
  const isTaken = (sign: RegExp): boolean => index.answers.some((own) => sign.test(`${own.router} ${own.version}`));
  const isEntry = (has || given.spec?.externalTrafficPolicy === 'Local') && isTaken(TAKES_ENTRY); // kube-router#818
  const takenBy = has && isTaken(TAKES_MARK) ? ('mark' as const) : isEntry ? ('entry' as const) : undefined;
  const policies = takenBy && { internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local' };
  const service = policies ? { ...given, spec: { ...given.spec, ...policies } } : given;
  const ref = refOf(service);
  const { shares, readyNodes: nodes } = index;
  const slices = withServing(index.slices.get(serviceKeyOfRef(ref)) ?? [], service, index);
  const labels = labelsOf(service, slices);
  const version = stated.version ?? index.version;
  const strategy = strategyOf(labels);
  // No object shows the control plane's flags. Its gate is on where hints are there that no webhook wrote, and where kube-proxy's was switched on.
  const isGateSeen =
    !atLeast(version, 24) &&
    ((strategy === undefined && slices.some(({ endpoints = [] }) => endpoints?.some(isHinted))) ||
      index.answers.some(({ routing }) => routing.gates?.TopologyAwareHints === true));
  const options = isGateSeen ? { ...stated, gates: { TopologyAwareHints: true, ...stated.gates } } : stated;
  const gates = defined({ gates: options.gates });
  const families = familyFacts(service, slices, index);
  const endpoints = families.flatMap((family) => family.endpoints);
  const expected = finalHints(service, slices, { shares, version, ...gates });
  const routing = (node: Node) => index.routers.of(node).routing;
  const routesBy = (own: readonly EndpointSlice[]): FamilyRoute[] =>
    families.flatMap(({ family }) => {
      const found = groupRoutesOf(index.groups, { service, routing, slices: own, family });
      return found.map((route) => ({ ...route, family }));
    });
  const routes = routesBy(slices);
  const owners = ownersOf(index, service);
  const placed = placedIn(owners.workloads);
  // MicrosoftDocs/azure-aks-docs#149: Nodes that a taint keeps for Pods of others.
  const isTheirs = (node: Node): boolean =>
    owners.workloads.every((own) => barrier(node, own) !== undefined) &&
    (index.podsOn.get(nameOf(node)) ?? []).every(({ namespace }) => namespace === 'kube-system');
  const isKnown = owners.workloads.length > 0 && index.podsOn.size > 0;
  const theirs = new Set(index.noZones.filter((zone) => isKnown && index.nodesIn.get(zone)?.every(isTheirs)));
  const allZones = clientZonesOf(index, endpoints).filter((zone) => placed?.includes(zone) !== false);
  const clientZones = allZones.filter((zone) => !theirs.has(zone));
  const ideal = idealSlices(slices, expected);
  // Labels decide where they ask; the flow controller follows the annotation, with a label or (observing) without.
  const planned = [strategy ?? effectiveStrategy(service)].find(isPlannedStrategy);
  const policy = itemsOf(snapshot.flowPolicies).find((each) => serviceKeyOfRef(each) === serviceKeyOfRef(ref));
  const past = options.measured && measuredPast(options.measured, serviceKeyOfRef(ref), nodes.length);
  const count = Math.max(0, ...families.map((family) => family.endpoints.length));
  const isZoned = endpoints.length === 0 || endpoints.some(({ zone }) => zone !== '');
  const counts = countBy(endpoints, ({ zone }) => zone);
  const isThin = [...counts.values()].some((own) => own * clientZones.length < endpoints.length);
  const areHinted = endpoints.length > 0 && endpoints.every(({ forZones }) => forZones.length > 0);
  const served = new Set(endpoints.flatMap(({ forZones }) => (areHinted ? forZones : [])));
  const sockets = index.bypasses.sockets.find(([plane]) => index.answers.every(({ title }) => title === plane));
  // Istio's sidecar finds HTTP by its host all the same (cilium/cilium#28304), and TCP by the cluster IP (istio/istio#27619).
  const isTcp = (service.spec?.ports ?? []).every(({ appProtocol, name = '' }) => AS_TCP.test(appProtocol ?? name));
  const { blind = [], bypasses = [] } = Object.groupBy(
    bypassesOf(service, index.bypasses, { count, isZoned, isThin, served }),
    ({ client }) => (sockets && (client === 'linkerd' || (client === 'istio' && isTcp)) ? 'blind' : 'bypasses'),
  );
  return {
    snapshot,
    index,
    options,
    service,
    takenBy,
    ref,
    name: serviceKeyOfRef(ref),
    /** As stored, of any family. */
    slices,
    version,
    shares,
    wish: wishOf(service, version, options.gates),
    labels,
    strategy,
    /** Whose hints the flow controller plans, that labels or the annotation ask for. */
    planned,
    /** Of its FlowPolicy, where it asks for a plan; undefined: there is none, or it was not seen. */
    loop: planned === undefined || policy?.loop === undefined ? undefined : loopReport(policy.loop),
    /** What would be stored now, by family. */
    expected,
    families,
    routes,
    /** From slices as they should be: shows causes behind a missing hint. */
    idealRoutes: ideal.every((slice, at) => slice === slices[at]) ? routes : routesBy(ideal),
    nodes,
    clientZones,
    owner: service.metadata?.ownerReferences?.[0],
    counts,
    isHinted: areHinted,
    emptyZones: clientZones.filter((zone) => !counts.has(zone)),
    traffics: trafficsOf(routes, slices, clientZones, index.weights),
    noZones: index.noZones.filter((zone) => !theirs.has(zone)),
    notServing: slices.flatMap((slice) => (slice.endpoints ?? []).filter(isPublishedOnly)),
    endpoints,
    /** Names of Nodes that have one of them. */
    hosts: new Set(endpoints.map(({ nodeName }) => nodeName)),
    bypasses: past?.settled === true ? bypasses.filter((each) => !connectsToPods(each)) : bypasses,
    /** Objects that name it, whose kinds are not known here: they change no verdict and no cause. */
    referrers: referrersOf(service, index.bypasses.references.get(serviceKeyOfRef(ref))) as typeof bypasses,
    /** Sidecars that see the endpoint which the data plane picked, for want of a setting. */
    blind: blind.flatMap((own) => (own.possible || !sockets ? [] : [{ ...own, sockets }])),
    /** What meters saw go past it. */
    past,
    ...owners,
    ...callingOf(service, index.bypasses),
  };
};

export type Facts = ReturnType<typeof factsOf>;

/** What Pods send to it does not leave their Node: DNS of EKS Auto Mode and of OpenShift (openshift/cluster-dns-operator#322). */
export const isAnsweredOnNodes = ({ bypasses, routes, wish }: Pick<Facts, 'bypasses' | 'routes' | 'wish'>): boolean =>
  (wish.mode === 'none' && routes.length > 0 && routes.every(({ reason }) => reason === 'SameNodeHints')) ||
  bypasses.some(({ client, all }) => client === 'eks-auto-dns' && all);

/** How far the busiest endpoint of any family and port is above its fair share. */
export const worstOf = (all: readonly Pick<Facts['traffics'][number], 'traffic' | 'count'>[]): number =>
  Math.max(0, ...all.map(({ traffic, count }) => worstOverload(traffic, count)));

/** Why no share can be predicted although endpoints have zones; kubernetes/ingress-nginx#5893: before 1.22 the API server keeps these keys with the gate ServiceTopology alone. */
export const unpredictable = ({ bypasses, service, version }: Pick<Facts, 'bypasses' | 'service' | 'version'>) => {
  if (bypasses.some(({ fails }) => fails === 'NoLocalEndpoints')) return 'its local redirect fails for some clients';
  if (bypasses.some(({ adds }) => adds !== undefined))
    return 'endpoints of other clusters get a share, and are not among these objects';
  return service.spec?.topologyKeys && !atLeast(version, 22)
    ? 'its topologyKeys count where kube-proxy has the gate ServiceTopology, and are not modelled'
    : undefined;
};

/** Mean over families and ports; those that nothing answers do not count. Null where there is nothing to predict. */
export const meanInZoneShare = (facts: Facts, shareOf = inZoneShare): number | null => {
  const { traffics, noZones, routes } = facts;
  const arriving = traffics.filter(({ traffic }) => traffic.matrix.size > 0 && traffic.lost < 1);
  const placed = routes.some(({ zone, used }) => zone !== '' && used.some((own) => own.zone !== ''));
  if (arriving.length === 0 || noZones.length > 0 || !placed || unpredictable(facts)) return null;
  return arriving.reduce((sum, { traffic }) => sum + shareOf(traffic), 0) / arriving.length;
};

/** Where its Pods listen, by the name that a port has in slices too. */
export const portOfPods = ({ slices }: Pick<Facts, 'slices'>, { name = '', port }: ServicePort): number =>
  slices.flatMap(({ ports }) => ports ?? []).find((each) => (each.name ?? '') === name)?.port ?? port;
