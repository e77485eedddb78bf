// Causes in where Pods run: zones with clients and without endpoints, and what should have spread them.
// Traffic that crosses zones because an operator evacuates one: said by the mark on the slices.
// What routing by zone does to traffic as predicted: how much stays, which hints send it elsewhere, who carries too much.
import { type Node, zoneOfNode } from '../../apis/core.ts';
import { byText, defined, nameOf } from '../../apis/values.ts';
import { LABEL_ZONE, isNowhere } from '../../apis/names.ts';
import { markOf } from '../../evacuation/decide.ts';
import { type Traffic, inZoneShare, isDrained, trafficOf, worstOverload } from '../../upstream/index.ts';
import { type Workload, itemsOf } from '../snapshot.ts';
import { cause, counted, listed, sharesText } from './given.ts';
import type { ReadyEndpoint } from '../models/lookup.ts';
import type { Facts, FamilyFacts, FamilyRoute } from './facts.ts';
import type { Cause } from './types.ts';

const named = ({ kind, name }: Workload): string => `${kind} ${name}`;

/** One that counts its own Pods before others. */
const zoneConstraint = ({ spread }: Workload) => {
  const own = spread.filter(({ topologyKey }) => topologyKey === LABEL_ZONE);
  return own.find(({ selectsOwn }) => selectsOwn) ?? own[0];
};

const SELECTS_NONE = 'whose labelSelector matches none of its own Pods, so it spreads nothing';

/** How the zones of the Pods of one workload come about. */
const spreadBy = (workload: Workload): string => {
  const constraint = zoneConstraint(workload);
  if (constraint !== undefined) {
    const { maxSkew, whenUnsatisfiable, selectsOwn } = constraint;
    if (!selectsOwn) return `${named(workload)}: topologySpreadConstraint on ${LABEL_ZONE} ${SELECTS_NONE}`;
    return `${named(workload)}: topologySpreadConstraint on ${LABEL_ZONE} (maxSkew ${maxSkew}, ${whenUnsatisfiable})`;
  }
  if (workload.zoneAntiAffinity) return `${named(workload)}: podAntiAffinity on ${LABEL_ZONE}`;
  return `${named(workload)}: nothing spreads its Pods over zones`;
};

/** By which constraint Pods are spread; empty where workloads are not known. */
export const spreadText = ({ workloads }: Facts): string => workloads.map(spreadBy).sort(byText).join('; ');

interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

const taintsOf = ({ spec }: Node): Taint[] =>
  ((spec?.taints ?? []) as readonly Partial<Taint>[])
    .map(({ key = '', value = '', effect = '' }) => ({ key, value, effect }))
    .filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');

const tolerates = ({ tolerations = [] }: Workload, { key, value, effect }: Taint): boolean =>
  tolerations.some(
    (own) =>
      (own.effect === '' || own.effect === effect) &&
      (own.operator === 'Exists' ? own.key === '' || own.key === key : own.key === key && own.value === value),
  );

/** Why no Pod of the workload may run on the Node; undefined where nothing bars it. */
const barrier = (node: Node, workload: Workload): string | undefined => {
  if (node.spec?.unschedulable === true) return 'cordoned';
  const { type = '', 'eks.amazonaws.com/compute-type': compute = '' } = node.metadata?.labels ?? {};
  const taint = taintsOf(node).find((own) => !tolerates(workload, own));
  if (taint === undefined) return undefined;
  if (type === 'virtual-kubelet') return 'a virtual kubelet, whose taint the Pods do not tolerate';
  if (compute === 'fargate') return 'Fargate, which runs Pods of its own profile only';
  return `taint ${taint.key}:${taint.effect}, which the Pods do not tolerate`;
};

/** Zones that are empty because every Node there keeps these Pods away. */
const barredText = ({ nodes }: Facts, workload: Workload, zones: readonly string[]): string => {
  const reasons = zones.flatMap((zone) => {
    const own = nodes.filter((node) => zoneOfNode(node) === zone);
    const barriers = own.map((node) => barrier(node, workload));
    const [first] = barriers;
    if (first === undefined || barriers.includes(undefined)) return [];
    return [`every Node of ${zone} keeps them away (${listed(own.map(nameOf))}: ${first})`];
  });
  return reasons.length === 0 ? '' : `${named(workload)}: ${reasons.join('; ')}.`;
};

/** Some zone with clients and without endpoints may not run the Pods, by its Nodes or by theirs. */
export const isBarred = (facts: Facts): boolean => {
  const { clientZones, endpoints, workloads } = facts;
  const empty = clientZones.filter((zone) => !endpoints.some((endpoint) => endpoint.zone === zone));
  return workloads.some(
    (workload) =>
      barredText(facts, workload, empty) !== '' ||
      empty.some((zone) => workload.allowedZones?.includes(zone) === false),
  );
};

const rollingText = (workload: Workload): string =>
  workload.updatedReplicas === undefined
    ? ''
    : ` A roll-out of ${named(workload)} is under way (${workload.updatedReplicas} of ${workload.replicas} updated): look again when it is done.`;

const whyEmpty = (facts: Facts, workload: Workload, zones: readonly string[]): string => {
  const { allowedZones, replicas } = workload;
  const kept = barredText(facts, workload, zones);
  if (kept !== '') return kept;
  const barred = zones.filter((zone) => allowedZones?.includes(zone) === false);
  if (barred.length > 0)
    return `${named(workload)} may run in ${listed(allowedZones ?? [])} only (nodeSelector or node affinity).`;
  const wanted = facts.clientZones.length;
  if (replicas < wanted && zoneConstraint(workload)?.selectsOwn !== false)
    return `${named(workload)} has ${counted(replicas, 'replica')} for ${wanted} zones.`;
  const constraint = zoneConstraint(workload);
  if (constraint === undefined && !workload.zoneAntiAffinity) {
    return `${named(workload)} has no topologySpreadConstraint on ${LABEL_ZONE}.`;
  }
  if (constraint?.selectsOwn === false) {
    return `${named(workload)} has a topologySpreadConstraint on ${LABEL_ZONE} ${SELECTS_NONE}.`;
  }
  if (constraint?.whenUnsatisfiable === 'ScheduleAnyway') {
    return `The topologySpreadConstraint of ${named(workload)} is a preference only (ScheduleAnyway).`;
  }
  return `${spreadBy(workload)} counts when Pods are placed; taking Pods away, or a Node, undoes it.`;
};

/** Pods that would serve the zone if they were ready. */
const idlePods = ({ pods, nodes }: Facts, zones: readonly string[]): string => {
  const zoneOf = new Map(nodes.map((node) => [nameOf(node), zoneOfNode(node)]));
  const idle = pods.filter(({ nodeName, ready }) => !ready && zones.includes(zoneOf.get(nodeName) ?? ''));
  const pending = pods.filter(({ nodeName }) => nodeName === '');
  const parts = [
    ...(idle.length === 0 ? [] : [`Pod ${listed(idle.map(({ name }) => name))} there is not ready.`]),
    ...(pending.length === 0 ? [] : [`Pod ${listed(pending.map(({ name }) => name))} waits for a Node.`]),
  ];
  return parts.length === 0 ? '' : ` ${parts.join(' ')}`;
};

const endpointsText = (endpoints: readonly ReadyEndpoint[]): string => {
  const counts = new Map<string, number>();
  for (const { zone } of endpoints) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  return [...counts]
    .sort(([a], [b]) => byText(a, b))
    .map(([zone, count]) => `${zone === '' ? 'no zone' : zone} ${count}`)
    .join(', ');
};

const familySpread = (facts: Facts, family: FamilyFacts): Cause[] => {
  const { clientZones, name, workloads, snapshot } = facts;
  const { endpoints, label } = family;
  if (endpoints.length === 0 || clientZones.length < 2) return [];
  const served = new Set(
    facts.idealRoutes
      .filter(({ family: own, reason }) => own === family.family && reason !== 'ZoneNotHinted')
      // Also where the router is not known, as on a virtual kubelet: a zone without endpoint is not served by its own.
      .filter(({ reason, zone }) => reason !== 'RouterUnknown' || endpoints.some((endpoint) => endpoint.zone === zone))
      .map(({ zone }) => zone),
  );
  const empty = clientZones.filter((zone) => !served.has(zone));
  const [only] = endpoints;
  if (endpoints.length === 1 && only !== undefined) {
    const evidence = `Service ${name} has one ready${label} endpoint (${only.address} in ${only.zone === '' ? 'no zone' : only.zone}); clients are in ${listed(clientZones)}.`;
    return [cause(empty.length > 0 ? 'effective' : 'prerequisite', 'SingleEndpoint', evidence)];
  }
  if (empty.length === 0) return [];
  // Where the data plane does not drain them, they serve their zone, and it is not empty.
  const drained = endpoints.filter(({ zone, slice }) => empty.includes(zone) && isDrained(slice));
  if (drained.length > 0) {
    const slices = listed(drained.map(({ slice }) => nameOf(slice)));
    const evidence = `Cilium drains slice ${slices} (service.cilium.io/weight: "0"): no new connection of clients in ${listed(empty)} stays there.`;
    return [
      cause('effective', 'ZoneNotHinted', evidence, 'Take the annotation off the slice once it may serve again.'),
    ];
  }
  const unseen =
    snapshot.workloads.kind === 'unknown' ? ` What spreads them could not be seen (${snapshot.workloads.why}).` : '';
  const why =
    workloads.length === 0
      ? unseen
      : ` ${workloads.map((workload) => `${whyEmpty(facts, workload, empty)}${rollingText(workload)}`).join(' ')}`;
  const zones = new Set(endpoints.map(({ zone }) => zone));
  const [zone = ''] = zones;
  const together =
    zones.size === 1 && zone !== '' ? `All ${endpoints.length} ready${label} endpoints are in ${zone}. ` : '';
  const evidence = `${together}No ready${label} endpoint of Service ${name} serves ${listed(empty)}; endpoints by zone: ${endpointsText(endpoints)}.${why}${idlePods(facts, empty)}`;
  const misses = workloads.some((workload) => zoneConstraint(workload)?.selectsOwn === false);
  const remedy = misses ? 'Set `labelSelector` of the constraint to labels of the Pod template.' : undefined;
  return [cause('effective', 'PodsNotSpread', evidence, remedy)];
};

/** Client zones for which there would be no endpoint even if every hint were as it should be. */
export const spreadCauses = (facts: Facts): Cause[] => facts.families.flatMap((family) => familySpread(facts, family));

/** More than one, and clients elsewhere too. */
export const inOneZone = ({ endpoints, clientZones }: Facts): boolean =>
  endpoints.length > 1 && clientZones.length > 1 && new Set(endpoints.map(({ zone }) => zone)).size === 1;

interface Entry {
  readonly enters: string;
  readonly remedy: string;
}

/** By a label that the provider's Nodes have, or the namespace of its Pods. */
const ENTRIES: readonly (Entry & { readonly label?: RegExp; readonly namespace?: string })[] = [
  {
    label: /^eks\.amazonaws\.com\/|^k8s\.io\/cloud-provider-aws/,
    enters:
      'through targets in any zone, or in the zone of its address where cross-zone load balancing is off (the default of an NLB)',
    remedy: 'On AWS: cross-zone load balancing off and target type IP, with a Pod in every zone of the load balancer.',
  },
  {
    label: /^cloud\.google\.com\/gke-/,
    enters: 'through any Node that the load balancer of Google picks',
    remedy:
      'On GKE zones count for an internal load balancer with subsetting only: `spec.trafficDistribution: PreferClose` (kubernetes/ingress-gce#2815).',
  },
  {
    label: /^kubernetes\.azure\.com\//,
    enters: 'through any Node that the load balancer of Azure picks',
    remedy: 'Nothing of the Service makes the load balancer keep to zones.',
  },
  {
    namespace: 'metallb-system',
    enters:
      'through the one Node that announces its address (MetalLB in layer 2 mode), or through Nodes that routers pick (BGP)',
    remedy:
      'In layer 2 mode all traffic enters one zone, and `externalTrafficPolicy: Local` would leave the Pods of one Node: use BGP.',
  },
];

const OTHER_ENTRY: Entry = {
  enters: 'through the Node that its load balancer or client picks',
  remedy: 'See in the documentation of the load balancer whether it keeps to zones.',
};

/** How traffic from outside comes in; undefined where none does. */
export const entryOf = ({ service, nodes, snapshot }: Facts): Entry | undefined => {
  const { type, externalIPs } = service.spec ?? {};
  if (type === 'NodePort') return { ...OTHER_ENTRY, enters: 'through the Node whose port the client picks' };
  if (type !== 'LoadBalancer') return Array.isArray(externalIPs) && externalIPs.length > 0 ? OTHER_ENTRY : undefined;
  const labels = new Set(nodes.flatMap(({ metadata }) => Object.keys(metadata?.labels ?? {})));
  const found = ENTRIES.find(
    ({ label, namespace }) =>
      (label !== undefined && [...labels].some((key) => label.test(key))) ||
      (namespace !== undefined && itemsOf(snapshot.pods).some((pod) => pod.namespace === namespace)),
  );
  return found ?? OTHER_ENTRY;
};

/** Connections fail, whatever is asked for. */
export const failingCauses = (facts: Facts): Cause[] => {
  const { service, name, nodes, endpoints, notServing, noZones } = facts;
  const causes: Cause[] = [];
  if (notServing.length > 0) {
    const what = notServing.map(
      ({ addresses, zone = '' }) => `${addresses[0] ?? ''}${zone === '' ? '' : ` of ${zone}`}`,
    );
    const evidence = `${listed(what)} is published as ready by Service ${name}, and its Pod is not: connections that are sent there fail.`;
    causes.push(cause('used', 'PublishedNotReady', evidence));
  }
  const { type, externalTrafficPolicy } = service.spec ?? {};
  const empty = [...new Set(nodes.map(zoneOfNode))].filter((zone) => !endpoints.some((own) => own.zone === zone));
  if (type === 'LoadBalancer' && externalTrafficPolicy === 'Local' && endpoints.length > 0 && empty.length > 0) {
    const evidence = `Service ${name} has externalTrafficPolicy Local and no ready endpoint in ${listed(empty)}: no Node there passes the health check of the load balancer.`;
    causes.push(cause('effective', 'ZoneFailsHealthCheck', evidence));
  }
  if (noZones.length > 0) {
    const evidence = `${counted(nodes.filter((node) => noZones.includes(zoneOfNode(node))).length, 'Node')} in zone ${listed(noZones.map((zone) => `"${zone}"`))}: they are of pools without zones and may be anywhere in the region.`;
    causes.push(cause('effective', 'ZoneIsNone', evidence));
  }
  return causes;
};

/** What a Service needs beside hints, named where it is missing. */
export const prerequisiteCauses = (facts: Facts): Cause[] => {
  const { service, name, snapshot, workloads, autoscalers } = facts;
  const { type, externalTrafficPolicy } = service.spec ?? {};
  const causes: Cause[] = [];
  const scaled = workloads.filter(({ replicas }) => replicas > 0);
  if (snapshot.autoscalers.kind === 'known' && scaled.length > 0 && autoscalers.length === 0) {
    const off = itemsOf(snapshot.autoscalers).filter(
      (item) => item.off && scaled.some((owner) => owner.name === item.targetName),
    );
    const only = off.length === 0 ? '' : ` (${listed(off.map((item) => item.name))} only recommends)`;
    const evidence = `No HorizontalPodAutoscaler and no VerticalPodAutoscaler targets ${listed(scaled.map(named))}${only}.`;
    causes.push(cause('prerequisite', 'NoGrowth', evidence));
  }
  const entry = entryOf(facts);
  if (entry !== undefined && externalTrafficPolicy !== 'Local') {
    const by = type === 'LoadBalancer' || type === 'NodePort' ? `type ${type}` : 'externalIPs';
    const evidence = `Service ${name} has ${by}: traffic from outside is routed by the zone of the Node through which it enters: ${entry.enters}.`;
    causes.push(cause('prerequisite', 'LoadBalancerTraffic', evidence, entry.remedy));
  }
  return causes;
};

/** Zones that the slices of the Service are marked to leave, in name order. */
export const evacuatedZones = ({ slices }: Pick<Facts, 'slices'>): string[] =>
  [...new Set(slices.flatMap((slice) => [...(markOf(slice)?.evacuated.keys() ?? [])]))].sort();

/** `until 2026-11-22T18:00:00Z (night-drill: a drill)` of each object that names one of the zones. */
const untilText = ({ snapshot }: Facts, zones: readonly string[]): string => {
  const known = itemsOf(snapshot.evacuations).filter(({ zone }) => zones.includes(zone));
  const parts = known.map(({ name, zone, until, reason }) => {
    const end = until === undefined ? '' : ` until ${new Date(until).toISOString().replace('.000', '')}`;
    return `${zones.length > 1 ? zone : ''}${end} (${name}${reason === '' ? '' : `: ${reason}`})`.trimStart();
  });
  return parts.length === 0 ? '' : ` ${parts.join(', ')}`;
};

/** One cause, before all others: other findings come second to an evacuation. */
export const evacuationCauses = (facts: Facts): Cause[] => {
  const zones = evacuatedZones(facts);
  if (zones.length === 0) return [];
  const inZones = facts.endpoints.filter(({ zone }) => zones.includes(zone));
  const leaving = inZones.filter(({ forZones }) => forZones.length > 0 && forZones.every(isNowhere));
  const what =
    inZones.length === 0
      ? 'no endpoint is ready there'
      : `${leaving.length} of ${counted(inZones.length, 'ready endpoint')} there get no new connections`;
  const until = untilText(facts, zones);
  const ask = until === '' ? ' Until when and why: kubectl topology evacuations.' : '';
  const evidence = `${listed(zones)} is evacuated${until}: ${what}.${ask}`;
  return [cause('effective', 'Evacuated', evidence)];
};

const HUNDRED = 100;
/** Twice its even share: upstream's own limit of 20 % is exceeded by most Services without complaints. */
const UNEVEN = 1;

const percentOf = (fraction: number): string => `${Math.round(fraction * HUNDRED)} %`;

/** Connections of one family and port, of clients in the client zones and on Nodes without zone; undefined where nothing answers. */
const trafficOn = ({ clientZones, index }: Facts, routes: readonly FamilyRoute[]): Traffic | undefined => {
  if (routes.every(({ used }) => used.length === 0)) return undefined;
  const clients = routes.filter(
    ({ zone, reason }) => reason !== 'RouterUnknown' && (zone === '' || clientZones.includes(zone)),
  );
  const routeOf = new Map(clients.map((route) => [route.node, route]));
  const of = ({ metadata }: Node): FamilyRoute | undefined => routeOf.get(metadata?.name ?? '');
  return trafficOf({
    nodes: clients.flatMap(({ nodes }) => nodes.slice(0, 1)),
    countOf: (node) => of(node)?.nodes.length ?? 0,
    endpointsFor: (node) => of(node)?.used ?? [],
    ...defined({ weights: index.weights }),
  });
};

const byFamilyAndPort = ({ routes }: Facts): (readonly FamilyRoute[])[] => [
  ...Map.groupBy(routes, ({ family, port }) => `${family} ${port}`).values(),
];

/** Connections of each family and port that something answers. */
export const trafficsOf = (facts: Facts): { readonly family: string; readonly traffic: Traffic }[] =>
  (facts.noZones.length > 0 ? [] : byFamilyAndPort(facts)).flatMap((routes) => {
    const traffic = trafficOn(facts, routes);
    return traffic === undefined ? [] : [{ family: routes[0]?.family ?? '', traffic }];
  });

/** Mean over families and ports; those that nothing answers do not count. Null where there is nothing to predict. */
export const meanInZoneShare = (facts: Facts): number | null => {
  const arriving = trafficsOf(facts).filter(({ traffic }) => traffic.matrix.size > 0 && traffic.lost < 1);
  const placed = facts.routes.some(({ zone, used }) => zone !== '' && used.some((own) => own.zone !== ''));
  if (arriving.length === 0 || !placed) return null;
  return arriving.reduce((sum, { traffic }) => sum + inZoneShare(traffic), 0) / arriving.length;
};

/** The CPU heuristic lends endpoints of one zone to another: such hints keep no traffic in its zone. */
const lentCauses = (facts: Facts): Cause[] => {
  const { wish, strategy, endpoints } = facts;
  if (wish.mode !== 'proportional' || strategy !== undefined) return [];
  const lent = endpoints.filter(({ zone, forZones }) => forZones.length > 0 && !forZones.includes(zone));
  if (lent.length === 0) return [];
  const names = lent.map(({ address, zone, forZones }) => `${address} of ${zone} for ${forZones.join(', ')}`);
  const evidence = `${lent.length} of ${counted(endpoints.length, 'ready endpoint')} hinted for another zone than their own: ${listed(names)}. CPU shares are ${sharesText(facts)}.`;
  return [cause('effective', 'HintedForOtherZone', evidence)];
};

const unevenCause = (facts: Facts, routes: readonly FamilyRoute[]): Cause[] => {
  const count = facts.families.find(({ family }) => family === routes[0]?.family)?.endpoints.length ?? 0;
  const traffic = trafficOn(facts, routes);
  if (traffic === undefined || count === 0 || routes.every(({ mode }) => mode === '')) return [];
  // Sums of shares are not exact, and "twice" should be what it says.
  if (worstOverload(traffic, count) < UNEVEN - 1e-9) return [];
  const [key, load] = [...traffic.endpoints].reduce((most, next) => (next[1] > most[1] ? next : most));
  const zone = routes.flatMap(({ used }) => used).find((endpoint) => endpoint.key === key)?.zone ?? '';
  const times = (load * count).toFixed(1);
  const evidence = `Endpoint ${key} in ${zone} gets ${percentOf(load)} of all connections, ${times} times an even share over ${count} endpoints, if clients are ${facts.index.weights === undefined ? 'equally many on every Node' : 'where the CPU of the Nodes is'}.`;
  return [cause('prerequisite', 'UnevenLoad', evidence)];
};

/** Hints that are followed and still cost something. */
export const balanceCauses = (facts: Facts): Cause[] => [
  ...lentCauses(facts),
  ...byFamilyAndPort(facts).flatMap((routes) => unevenCause(facts, routes)),
];
