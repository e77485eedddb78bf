// Who carries too much where all hints are followed, by zones and by clients that are seen.
import { LABEL_CONSIDER } from '../../apis/names.ts';
import { countBy, workloadTitle } from '../../apis/values.ts';
import { worstOverload } from '../../upstream/index.ts';
import { itemsOf } from '../snapshot.ts';
import { type Facts, placedIn } from './facts.ts';
import { sharesText } from './given.ts';
import { type Cause, cause, counted, listed, remedyOf } from './reasons.ts';
import { zoneConstraint } from './scheduler.ts';
import { SPREAD_IN_ONE, byZone, placing } from './spread.ts';
import { idlePods, waitingFor } from './waiting.ts';

/** Times an even share: that of three Pods in two zones. Most Services exceed upstream's limit of 1.2 without complaints, and sums are not exact. */
const MUCH = 1.5 - 1e-9;
/** Where only the CPU of the Nodes, by which clients are guessed, makes it uneven. */
const MUCH_BY_CPU = 2 - 1e-9;

/** Workloads that name the Service in their variables or arguments, and their Pods in zones of endpoints and of their own; undefined where no endpoint idles or gets much more than an even share, or others send to it as well. */
export const callersOf = (facts: Facts) => {
  const { index, endpoints, routes, bypasses, service, callers, callerPods } = facts;
  const isPast = bypasses.some(({ all, byHints, keeps }) => !all || !(byHints || keeps));
  if (isPast || (service.spec?.type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
  const counts = countBy(callerPods, ({ pod: { nodeName } }) => index.zoneOf.get(nodeName) ?? '');
  const isZonal = bypasses.some(({ keeps }) => keeps) || routes.some(({ mode }) => mode !== '');
  if (callerPods.length === 0 || counts.has('') || !isZonal) return undefined;
  const zones = [...countBy(endpoints, ({ zone }) => zone)];
  const isEven = zones.every(([zone, own]) => {
    const share = (counts.get(zone) ?? 0) / callerPods.length;
    return share > 0 && share * endpoints.length < MUCH * own;
  });
  return isEven ? undefined : { callers, zones: new Map([...zones.map(([zone]) => [zone, 0] as const), ...counts]) };
};

const REMEDY =
  'Spread these clients over the zones as the endpoints are (a topologySpreadConstraint, and at the fewest that an autoscaler leaves still one for each zone), or run a workload with an autoscaler for each zone: one for all sees the mean, and its Pods come to lie anywhere. Or take off what asks for routing by zone.';

const skewOf = ({ clientZones, counts: own }: Facts, counts: ReadonlyMap<string, number> = own): number =>
  Math.max(...counts.values()) - Math.min(...clientZones.map((zone) => counts.get(zone) ?? 0));

const callerCauses = (facts: Facts): Cause[] => {
  const found = callersOf(facts);
  if (found === undefined) return [];
  const [own, ...more] = facts.workloads;
  // Clients lie evenly, and the endpoints do not: aws/karpenter-provider-aws#8358.
  const isTheirs = own && more.length === 0 && skewOf(facts, found.zones) < 2 && skewOf(facts) > 1;
  const { why, remedy = remedyOf('PodsNotSpread') } = isTheirs ? placing(facts, own, []) : { why: '', remedy: REMEDY };
  const evidence = `Endpoints of a zone share what its own clients send, and those that are seen (Pods of ${listed(found.callers.map(({ runner }) => workloadTitle(runner)))}, by variables, arguments or configuration) are in ${byZone(found.zones)}; endpoints: ${byZone(facts.counts)}. ${why}`;
  return [cause('prerequisite', 'UnevenLoad', evidence.trimEnd(), remedy)];
};

/** The CPU heuristic lends endpoints of one zone to another: such hints keep no traffic in its zone. */
const lentCauses = (facts: Facts): Cause[] => {
  const { wish, strategy, endpoints } = facts;
  const lent = endpoints.filter(({ zone, forZones }) => forZones.length > 0 && !forZones.includes(zone));
  if (lent.length === 0 || wish.mode !== 'proportional' || strategy !== undefined) return [];
  const names = lent.map(({ address, zone, forZones }) => `${address} of ${zone} for ${forZones.join(', ')}`);
  const evidence = `${lent.length} of ${counted(endpoints.length, 'ready endpoint')} hinted for another zone than their own: ${listed(names)}. CPU shares are ${sharesText(facts)}.`;
  return [cause('effective', 'HintedForOtherZone', evidence)];
};

/** Where Pods lie less evenly than what places them would have it, or their number does not let them; undefined: what the code says. */
const unplacedRemedy = (facts: Facts, hot: string, load: number): string | undefined => {
  const { endpoints, workloads, clientZones, counts } = facts;
  const skew = skewOf(facts);
  const [own] = workloads.length === 1 ? workloads : [];
  if (skew === 1 && load * (counts.get(hot) ?? 0) * clientZones.length < MUCH)
    return `${endpoints.length} Pods cannot lie more evenly in ${clientZones.length} zones: run a multiple of ${clientZones.length}.`;
  return own && (own.drawn !== undefined || skew > (zoneConstraint(own)?.maxSkew ?? Infinity))
    ? placing(facts, own, []).remedy
    : undefined;
};

const OR_SHARES = ' Or give zones shares by `localityLbSetting.distribute` of its DestinationRule, without failover.';

const unevenCauses = (facts: Facts): Cause[] =>
  facts.traffics.flatMap(({ routes, traffic, count }) => {
    // What all clients that are seen go through looks at no hints.
    const isMoot = facts.bypasses.some(({ all, byHints }) => all && !byHints);
    if (count === 0 || isMoot || routes.every(({ mode }) => mode === '')) return [];
    if (1 + worstOverload(traffic, count) < MUCH) return [];
    const [key, load] = [...traffic.endpoints].reduce((most, next) => (next[1] > most[1] ? next : most));
    const zone = routes.flatMap(({ used }) => used).find((endpoint) => endpoint.key === key)?.zone ?? '';
    const { endpoints, clientZones } = facts;
    const own = endpoints.filter((endpoint) => endpoint.zone === zone).length;
    const isLittle = load * count < MUCH_BY_CPU || facts.service.metadata?.labels?.[LABEL_CONSIDER];
    if (isLittle && endpoints.length < MUCH * own * clientZones.length) return [];
    const clients = facts.index.weights === undefined ? 'equally many on every Node' : 'where the CPU of the Nodes is';
    const idle = idlePods(facts, [zone]);
    const evidence = `Endpoint ${key} in ${zone} gets ${Math.round(load * 100)} % of all connections, ${(load * count).toFixed(1)} times an even share over ${count} endpoints, if clients are ${clients}.${idle?.text ?? ''}${waitingFor(facts).text}`;
    const remedy = idle
      ? `${idle.remedy} As long as one is ready, nothing spills over to other zones: to relieve it at once, take off what asks for routing by zone.`
      : unplacedRemedy(facts, zone, load);
    return [cause('prerequisite', 'UnevenLoad', evidence, remedy)];
  });

/** The same where proxies of clients keep to their zone by themselves. */
export const keptCauses = (facts: Facts): Cause[] => {
  const { families, clientZones, bypasses } = facts;
  const [{ endpoints } = { endpoints: [] }] = families;
  const by = bypasses.find(({ keeps, possible }) => keeps && !possible);
  const zones = by?.placed ?? clientZones;
  const counts = [...countBy(endpoints, ({ zone }) => zone)].filter(([zone]) => zones.includes(zone));
  const [[zone, own] = ['', Infinity]] = counts.sort(([, a], [, b]) => a - b);
  const times = endpoints.length / zones.length / own;
  if (by === undefined) return [];
  if (times < MUCH || [...(callersOf(facts)?.zones.values() ?? [])].includes(0)) return callerCauses(facts);
  const evidence = `${by.client} (${by.evidence.object}) keeps to zones: endpoints in ${zone} (${own} of ${endpoints.length}) get ${times.toFixed(1)} times an even share each, ${by.placed ? `as it runs in ${listed(zones)} alone` : 'if all zones have as many clients'}.`;
  const even = unplacedRemedy(facts, zone, times / endpoints.length) ?? remedyOf('PodsNotSpread');
  const remedy = by.placed ? REMEDY : even;
  return [cause('prerequisite', 'UnevenLoad', evidence, `${remedy}${/^istio(?!-a)/.test(by.client) ? OR_SHARES : ''}`)];
};

/** Hints that are followed and still cost something. */
export const balanceCauses = (facts: Facts): Cause[] =>
  [lentCauses, callerCauses, unevenCauses].flatMap((causesOf) => causesOf(facts));

/** What a Service needs beside hints, named where it is missing. */
export const prerequisiteCauses = (facts: Facts, wanted: boolean): Cause[] => {
  const { snapshot, workloads, autoscalers } = facts;
  const scaled = workloads.filter(({ replicas }) => replicas > 0);
  const isFixed = wanted && snapshot.autoscalers.kind === 'known' && scaled.length > 0 && autoscalers.length === 0;
  const off = itemsOf(snapshot.autoscalers).filter((by) => by.off && scaled.some(({ name }) => name === by.targetName));
  const only = off.length === 0 ? '' : ` (${listed(off.map((item) => item.name))} only recommends)`;
  const fixed = `No HorizontalPodAutoscaler and no VerticalPodAutoscaler targets ${listed(scaled.map(workloadTitle))}${only}.`;
  return isFixed ? [cause('prerequisite', 'NoGrowth', fixed)] : [];
};

/** gardener/gardener docs/development/high-availability.md; gardener.cloud/blog/2026/04 on zone awareness */
const PLACED = [
  "Gardener's webhook for high availability keeps the Pods of this namespace",
  'Nothing to do for clients of the same namespace; those of others may cross, but for an Istio ingress gateway in the same zone (Gardener from late 2022 on runs one for each zone of a Seed, unless `spec.settings.loadBalancerServices.zonalIngress.enabled` in that is false: gardener/gardener#6997, #12956). With `spec.settings.zoneSelection` in the Seed newer releases put the control plane of a new Shoot in a zone of its workers. A control plane has Pods in other zones with `spec.controlPlane.highAvailability.failureTolerance.type: zone` in its Shoot only.',
] as const;

/** kubernetes-sigs/cluster-api-provider-gcp#569 */
const WORKERS = 'Nothing to do for traffic. Pods in other zones need Nodes there (Cluster API: `failureDomain` each).';

/** One zone has all that could be clients; an endpoint on no Node may be anywhere, as those of a control plane. */
export const singleCauses = ({ workloads, index, endpoints, clientZones }: Facts): Cause[] => {
  const isConstrained = workloads.some((workload) => zoneConstraint(workload) !== undefined);
  const [who, help = isConstrained ? SPREAD_IN_ONE : index.nodesIn.size > 1 ? WORKERS : undefined] =
    placedIn(workloads) === undefined ? ['All ready worker Nodes are'] : PLACED;
  const isPlaced = endpoints.every(({ zone, nodeName }) => zone !== '' || nodeName !== '');
  const evidence = `${who} in ${listed(clientZones)}.`;
  return clientZones.length === 1 && isPlaced ? [cause('prerequisite', 'SingleZone', evidence, help)] : [];
};
