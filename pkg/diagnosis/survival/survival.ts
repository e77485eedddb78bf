// Answers whether the Services of a cluster survive the loss of a zone, N−1 of each, worst first: which endpoints are left, what the busiest
// of them gets, and how many more it takes.
import { type Service, zoneOfNode } from '../../apis/core.ts';
import { byText, countBy, sumBy, sumOf, sumsBy, tally } from '../../apis/values.ts';
import { CAPACITY_LIMIT, ROUNDING, fairShareScale, replicasToAdd, withoutOthers } from '../../evacuation/capacity.ts';
import type { ZoneRequest } from '../../evacuation/decide.ts';
import { formatVersion } from '../../routing/version.ts';
import { type MeasuredFlow, bytesOf } from '../../traffic/measured.ts';
import { type ExplainOptions, type Facts, factsOf } from '../explain/facts.ts';
import { counted } from '../explain/reasons.ts';
import { type SnapshotIndex, indexSnapshot } from '../explain/snapshot-index.ts';
import { serviceKeyOfRef, sortedServices } from '../models/lookup.ts';
import { hintFor } from '../models/what-if.ts';
import { routersReport } from '../routers/routers.ts';
import { capacityOf } from '../simulate/context.ts';
import { nodesOf, readyForProxies } from '../simulate/verdict.ts';
import { type ClusterSnapshot, itemsOf, unseenOf } from '../snapshot.ts';

/** Stable codes, in the order of a report: worst first. What each means stands in docs/reference/reasons.md. */
export const ANSWERS = [
  'NoEndpointElsewhere',
  'Overloaded',
  'Survives',
  'NoEndpointThere',
  'LessThanOne',
  'NotTouched',
] as const;

export type Answer = (typeof ANSWERS)[number];

export interface SurvivalOptions extends ExplainOptions {
  /** That are lost, at least one. */
  readonly zones: readonly string[];
  /** What leaves of a Service, where that is not all of those zones. */
  readonly requestsOf?: (service: Service) => readonly ZoneRequest[];
  readonly namespace?: string;
  readonly selects?: (service: Service) => boolean;
  /** Most that the busiest endpoint may reach where load is measured, as a fraction of its capacity. Default 1. */
  readonly maxUtilization?: number;
  /** How far it may be above a fair share of today where load is not measured: 1 = twice as much. Default 1. */
  readonly maxOverload?: number;
}

/** What one connection chooses among: ready endpoints of one family and port. */
type Path = Readonly<{ label: string; endpoints: readonly Readonly<{ address: string; zone: string }>[] }>;

/** A headless Service has no ports that proxies look at: all its addresses are in DNS. */
const pathsOf = ({ service, slices, families }: Facts): Path[] => {
  if (service.spec?.clusterIP === 'None') return families.map(({ family: label, endpoints }) => ({ label, endpoints }));
  const ports = new Set(slices.flatMap((slice) => (slice.ports ?? []).map(({ name = '' }) => name)));
  return families.flatMap(({ family }) =>
    [...ports].map((port) => ({
      label: port === '' ? family : `port ${port}`,
      endpoints: readyForProxies(slices, { family, port }),
    })),
  );
};

/** Fraction of the Nodes of each zone whose proxies keep clients in it now; of a planned strategy none: plans are made anew. */
const keepsOf = ({ routes, planned }: Facts): ReadonlyMap<string, number> => {
  const zones = planned === undefined ? Map.groupBy(routes, ({ zone }) => zone) : [];
  return new Map([...zones].map(([zone, own]) => [zone, nodesOf(own.filter(({ mode }) => mode)) / nodesOf(own)]));
};

type Flows = ReadonlyMap<string, readonly MeasuredFlow[]>;

/** Where clients are: as measured, by connections or by bytes where one source counts none; else by the CPU of the Nodes, or alike on every Node. */
const clientsOf = ({ name, index }: Facts, flows: Flows) => {
  const own = flows.get(name) ?? [];
  const byConnections = own.every(({ connections }) => connections !== null);
  const amountOf = (flow: MeasuredFlow): number => (byConnections ? (flow.connections ?? 0) : bytesOf(flow));
  const found = sumsBy(own, ({ source }) => source, amountOf);
  if (sumOf(found.values()) > 0) return { clientsMeasured: true, demand: found };
  const known = index.weights ? new Map(Object.entries(index.weights)) : countBy(index.readyNodes, zoneOfNode);
  return { clientsMeasured: false, demand: sumOf(known.values()) > 0 ? known : new Map([['', 1]]) };
};

const fairShare = (facts: Facts, { endpoints }: Path, { maxOverload }: SurvivalOptions, flows: Flows) => {
  const clients = clientsOf(facts, flows);
  return { basis: 'fairShare', ...clients, ...fairShareScale(clients.demand, endpoints.length, maxOverload) } as const;
};

/** By what a FlowPolicy observed; undefined where it does not know load, or what an endpoint can do is not known. */
const measured = ({ snapshot, name, slices }: Facts, { endpoints }: Path, options: SurvivalOptions) => {
  const policy = itemsOf(snapshot.flowPolicies).find((own) => serviceKeyOfRef(own) === name);
  if (policy?.demand === undefined) return undefined;
  const addresses = new Set(endpoints.map(({ address }) => address));
  const capacity = capacityOf({ addresses, slices, pods: itemsOf(snapshot.pods), given: undefined, policy });
  if (capacity === null) return undefined;
  const least = Math.min(...capacity.byAddress.values());
  const zones = new Map<string, number>();
  for (const { address, zone } of endpoints)
    zones.set(zone, Math.min(zones.get(zone) ?? Infinity, capacity.byAddress.get(address) ?? least));
  const weigh = (load: number, zone: string): number => load / (zones.get(zone) ?? least);
  const demand = new Map(Object.entries(policy.demand));
  const { maxUtilization: limit = CAPACITY_LIMIT } = options;
  return { basis: 'measured', clientsMeasured: true, demand, weigh, limit } as const;
};

/** Of so many endpoints of the zone; where several evacuations are about it, by the one that takes most. */
const leavingOf = (zone: string, count: number, requests: readonly ZoneRequest[]): number =>
  Math.max(
    0,
    ...requests.flatMap(({ zone: own, percent, rounding }) =>
      own === zone ? Math.floor((count * Math.min(percent, 100)) / 100 + (rounding === 'Up' ? 1 - ROUNDING : 0)) : [],
    ),
  );

const judge = (facts: Facts, path: Path, requests: readonly ZoneRequest[], options: SurvivalOptions, flows: Flows) => {
  const scale = measured(facts, path, options) ?? fairShare(facts, path, options, flows);
  const { basis, clientsMeasured, demand, weigh } = scale;
  const zones = new Set(requests.map(({ zone }) => zone));
  const counts = countBy(path.endpoints, ({ zone }) => zone);
  const left = new Map([...counts].map(([zone, count]) => [zone, count - leavingOf(zone, count, requests)]));
  const today = { endpoints: counts, demand, keeps: keepsOf(facts) };
  const { now, after, limit, zone, tooMuch } = withoutOthers(today, left, scale);
  const there = path.endpoints.filter((endpoint) => zones.has(endpoint.zone)).length;
  const leaving = path.endpoints.length - sumOf(left.values());
  const answer = ((): Exclude<Answer, 'NotTouched'> => {
    if (there === 0) return 'NoEndpointThere';
    if (leaving === 0) return 'LessThanOne';
    if (leaving === path.endpoints.length) return 'NoEndpointElsewhere';
    return tooMuch ? 'Overloaded' : 'Survives';
  })();
  // Zones that Pods can move to: of Nodes that run workloads, else of any.
  const all = facts.clientZones.length > 0 ? facts.clientZones : [...facts.index.nodesIn.keys()];
  const others = all.filter((other) => other !== '' && !zones.has(other));
  const short = answer === 'Overloaded' || answer === 'NoEndpointElsewhere';
  return {
    path,
    answer,
    /** Endpoints in the zones, and those of them that leave. */
    there,
    leaving,
    load: {
      /** `measured`: fractions of its capacity; `fairShare`: multiples of what each endpoint gets today where all get the same. */
      basis,
      now,
      /** Null where no endpoint is left. */
      after: Number.isFinite(after) ? after : null,
      limit,
      clientsMeasured,
      /** Zone of the busiest afterwards; empty where no endpoint is left, or where it has none. */
      zone,
    },
    replicas: short ? (replicasToAdd({ ...today, endpoints: left }, others, limit, weigh) ?? {}) : {},
  };
};

type Judged = ReturnType<typeof judge>;

export type LoadReport = Judged['load'];

const ofLimit = (load: LoadReport | null): number => (load === null ? 0 : (load.after ?? Infinity) / load.limit);

/** By the answer, then by how much of the limit the busiest endpoint gets. */
const worstFirst = (a: Pick<ServiceSurvival, 'answer' | 'load'>, b: typeof a): number => {
  const [left, right] = [ofLimit(a.load), ofLimit(b.load)];
  return ANSWERS.indexOf(a.answer) - ANSWERS.indexOf(b.answer) || (left === right ? 0 : right - left);
};

const amount = ({ basis }: LoadReport, value: number): string =>
  basis === 'measured'
    ? `${Math.round(value * 100)} % of its capacity`
    : `${value.toFixed(1)} times a fair share of today`;

const sentenceOf = ({ answer, load, there, leaving, path }: Judged, names: string): string => {
  const all = counted(path.endpoints.length, 'ready endpoint');
  const part = there === leaving ? '' : `, ${leaving} of which leave`;
  if (answer === 'NoEndpointElsewhere') return `All of ${all} (${path.label}) are in ${names}.`;
  if (answer === 'NoEndpointThere') return `None of ${all} is in ${names}.`;
  if (answer === 'LessThanOne') return `${there} of ${all} in ${names}: the share rounds down to none.`;
  const where = load.zone === '' ? 'no zone' : load.zone;
  return `${there} of ${all} are in ${names}${part}; the busiest that stays, in ${where}, then gets ${amount(load, load.after ?? 0)}, the limit is ${amount(load, load.limit)}.`;
};

/** Why nothing can be said of a Service: API servers write their own endpoints, most without a zone, and are never evacuated. */
const untouchedBecause = ({ ref, service }: Facts): string => {
  if (ref.namespace === 'default' && ref.name === 'kubernetes')
    return 'It is the Service of the API server itself, which writes its endpoints.';
  return service.spec?.type === 'ExternalName' ? 'It is a DNS name and has no endpoints.' : '';
};

const survivalOf = (facts: Facts, options: SurvivalOptions, flows: Flows) => {
  const { ref, service } = facts;
  const untouched = untouchedBecause(facts);
  const requests =
    options.requestsOf?.(service) ?? options.zones.map((zone) => ({ zone, percent: 100, rounding: 'Up' }) as const);
  const paths = untouched === '' ? pathsOf(facts).filter(({ endpoints }) => endpoints.length > 0) : [];
  const [worst] = paths.map((path) => judge(facts, path, requests, options, flows)).sort(worstFirst);
  const endpoints = worst?.path.endpoints ?? [];
  const answer: Answer = worst?.answer ?? 'NotTouched';
  return {
    namespace: ref.namespace,
    name: ref.name,
    type: service.spec?.type ?? 'ClusterIP',
    answer,
    message:
      worst === undefined
        ? untouched || 'No endpoint is ready.'
        : sentenceOf(worst, requests.map(({ zone }) => zone).join(', ')),
    /** Ready endpoints that leave, of all of the Service's. Of the port and family that is worst off. */
    endpoints: { count: worst?.leaving ?? 0, of: endpoints.length },
    /** Ready endpoints without a zone; they count as being elsewhere. */
    zoneless: endpoints.filter(({ zone }) => zone === '').length,
    /** Null where the Service has no endpoint, or none that is known. */
    load: worst?.load ?? null,
    /** Endpoints to add by zone, so that the busiest stays within the limit. */
    replicas: worst?.replicas ?? {},
  };
};

export type ServiceSurvival = ReturnType<typeof survivalOf>;

export const zonesOf = (snapshot: ClusterSnapshot): string[] => {
  const ofNodes = itemsOf(snapshot.nodes).map(zoneOfNode);
  const endpoints = itemsOf(snapshot.slices).flatMap((slice) => slice.endpoints ?? []);
  const ofEndpoints = endpoints.map(({ zone = '' }) => zone);
  return [...new Set([...ofNodes, ...ofEndpoints])].filter((zone) => zone !== '').sort(byText);
};

/** Why the question makes no sense for these objects; undefined where it does. */
export const unknownZone = (snapshot: ClusterSnapshot, zones: readonly string[]): string | undefined => {
  const known = zonesOf(snapshot);
  const stranger = zones.find((zone) => !known.includes(zone));
  if (stranger === undefined) return undefined;
  if (known.length === 0) return `no Node and no endpoint is in zone "${stranger}": none has a zone at all`;
  return `no Node and no endpoint is in zone "${stranger}"${hintFor(stranger, known)}`;
};

const sumUp = (services: readonly ServiceSurvival[], index: SnapshotIndex, zones: readonly string[]) => {
  const { readyNodes, weights } = index;
  const answers = services.map(({ answer }) => answer);
  return {
    services: services.length,
    answers: tally(ANSWERS, answers),
    measured: services.filter(({ load }) => load?.basis === 'measured').length,
    clientsMeasured: services.filter(({ load }) => load?.clientsMeasured === true).length,
    /** How clients of the others are taken to be spread. */
    clientsBy: weights === undefined ? 'nodes' : 'cpu',
    replicas: sumBy(services, ({ replicas }) => sumOf(Object.values(replicas))),
    /** Ready ones in the zones, of all; as are Nodes. */
    endpoints: { count: sumBy(services, (own) => own.endpoints.count), of: sumBy(services, (own) => own.endpoints.of) },
    nodes: { count: readyNodes.filter((node) => zones.includes(zoneOfNode(node))).length, of: readyNodes.length },
  } as const;
};

/** Clients of the zones still call, as they do in an evacuation; only what serves there is gone. */
export const survival = (snapshot: ClusterSnapshot, options: SurvivalOptions) => {
  const { namespace, zones, selects = () => true } = options;
  const index = indexSnapshot(snapshot, options);
  const flows = Map.groupBy(options.measured?.flows ?? [], ({ service }) => service);
  const services = sortedServices(snapshot, namespace)
    .filter(selects)
    .map((service) => survivalOf(factsOf(snapshot, service, options, index), options, flows))
    .sort((a, b) => worstFirst(a, b) || byText(a.namespace, b.namespace) || byText(a.name, b.name));
  const sum = sumUp(services, index, zones);
  return {
    kubernetesVersion: formatVersion(options.version ?? index.version),
    ...routersReport(index.readyNodes, index.routers),
    zones,
    namespace: namespace ?? null,
    survives: sum.answers.NoEndpointElsewhere + sum.answers.Overloaded === 0,
    services,
    sum,
    unseen: unseenOf(snapshot, ['routers']),
  };
};

export type SurvivalReport = ReturnType<typeof survival>;
