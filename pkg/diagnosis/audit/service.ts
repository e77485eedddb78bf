// One Service of an audit: what explain finds, where its connections go now and would go if it were routed by zone, and what that costs.
import { zoneOfNode } from '../../apis/core.ts';
import { byText, countBy, sumBy, sumOf } from '../../apis/values.ts';
import type { Measured, MeasuredFlow } from '../../traffic/measured.ts';
import type { Traffic } from '../../upstream/index.ts';
import { isKeptAround, isStray, wayOf } from '../explain/around.ts';
import { type Diagnosis, withFix } from '../explain/explain.ts';
import { type Facts, worstOf } from '../explain/facts.ts';
import { measuredCost, measuredService } from '../measured.ts';
import type { ReadyEndpoint } from '../models/lookup.ts';
import { trafficBy } from '../models/routes.ts';
import { type Tariff, type TrafficShares, monthlyCost, weightedSum } from '../prices.ts';

/** What traffic costs, and how much there is: measured, or assumed for all Services that are audited together. */
export type Bill = { readonly tariff: Tariff } & (
  | { readonly gigabytesPerDay: number; readonly measured?: undefined }
  | { readonly measured: Measured; readonly gigabytesPerDay?: undefined }
);

/** Fractions of connections that would stay in their zone and do not; of all to its endpoints, where meters saw some go past its cluster IP. */
export interface Saving {
  /** By routing by zone with the endpoints as they are. */
  readonly routing: number;
  /** Beyond that, by endpoints in the client zones that have none. */
  readonly endpoints: number;
}

/** In the currency of the price table. */
export interface MonthlyCost {
  /** What crossing costs now. */
  readonly current: number;
  /** Null where none can be promised. */
  readonly saving: Saving | null;
  /** What routing by zone saves already, compared with evenly chosen endpoints; only where traffic was measured. */
  readonly saved?: number;
}

/** Rounding of doubles alone must not look like connections. */
const NOTHING = 1e-9;

/** What sums of doubles leave over, or lack, is nothing. */
const atLeastNothing = (share: number): number => (share > NOTHING ? share : 0);

/** Mean of what arrives; each adds up to 1. Undefined where nothing arrives at all. */
const meanMatrix = (traffics: readonly Traffic[]): TrafficShares | undefined => {
  const arriving = traffics.filter(({ lost }) => 1 - lost > NOTHING);
  if (arriving.length === 0) return undefined;
  return weightedSum(arriving.map(({ matrix, lost }) => [matrix, 1 / ((1 - lost) * arriving.length)]));
};

/** Fraction that stays in its zone; the empty name is no zone. */
const insideOf = (matrix: TrafficShares): number =>
  1 - atLeastNothing(1 - sumBy([...matrix], ([from, row]) => (from === '' ? 0 : (row.get(from) ?? 0))));

/** Fraction from or to what has no zone, and may cross or not. */
const unplacedIn = (matrix: TrafficShares): number =>
  sumBy([...matrix], ([from, row]) => (from === '' ? sumOf(row.values()) : (row.get('') ?? 0)));

/** For reports: rows and columns in name order, every zone in both. */
export const plainMatrix = (matrix: TrafficShares): Record<string, Record<string, number>> => {
  const zones = [...new Set([...matrix].flatMap(([from, row]) => [from, ...row.keys()]))].sort(byText);
  const rowOf = (zone: string) => Object.fromEntries(zones.map((to) => [to, matrix.get(zone)?.get(to) ?? 0]));
  return Object.fromEntries(zones.filter((zone) => zone !== '' || matrix.has(zone)).map((zone) => [zone, rowOf(zone)]));
};

/** A client zone keeps to its own endpoints; one without any spreads over all, and so do clients on Nodes without zone. */
const byZone = ({ index, clientZones }: Facts, endpoints: readonly ReadyEndpoint[]): Traffic => {
  const all = endpoints.map(({ address, zone }) => ({ key: address, zone }));
  const zones = Map.groupBy(all, ({ zone }) => zone);
  const groups = index.groups.map((nodes) => ({ nodes, zone: nodes.slice(0, 1).map(zoneOfNode).join() }));
  const clients = groups.filter(({ zone }) => zone === '' || clientZones.includes(zone));
  const routes = clients.map(({ nodes, zone }) => ({ nodes, used: (zone && zones.get(zone)) || all }));
  return trafficBy(routes, index.weights);
};

/** Undefined where `explain` gives no share, as no proxy routes the Service, nothing answers, or where clients or endpoints are is not known; and where no client that is seen takes the cluster IP. */
const predict = ({ facts, effective, scope }: Diagnosis) => {
  const present = facts.traffics;
  const future = present
    .filter(({ ready }) => ready.length > 0)
    .map(({ ready, count }) => ({ traffic: byZone(facts, ready), count }));
  const now = meanMatrix(present.map(({ traffic }) => traffic));
  const routedByZone = meanMatrix(future.map(({ traffic }) => traffic));
  if (effective.inZoneShare === null || now === undefined || wayOf(scope.around)) return undefined;
  return {
    now,
    overload: worstOf(present),
    // With the endpoints as they are. Where none is ready, and terminating ones answer, hints would change nothing.
    routedByZone: routedByZone ?? now,
    overloadRoutedByZone: worstOf(routedByZone === undefined ? present : future),
  };
};

type Prediction = NonNullable<ReturnType<typeof predict>>;

const savingOf = ({ now, routedByZone }: Prediction, through: number): Saving => {
  const [stays, could] = [insideOf(now), insideOf(routedByZone)];
  // Clients on Nodes without zone stay nowhere.
  const zoneless = sumOf(routedByZone.get('')?.values() ?? []);
  return {
    // Where Nodes and endpoints without zone are may have stayed before.
    routing: atLeastNothing(Math.min(could, 1 - unplacedIn(now)) - stays) * through,
    endpoints: atLeastNothing(1 - zoneless - Math.max(stays, could)) * through,
  };
};

const promisedCost = (promised: boolean, current: number, routed: number): MonthlyCost => {
  // A plan that is dearer than the present one saves nothing.
  const least = Math.min(current, routed);
  return { current, saving: promised ? { routing: current - least, endpoints: least } : null };
};

/** By what went between zones through the cluster IP; where nothing is predicted, nothing is promised. */
const measuredCostOf = (each: Assessed, { tariff }: Bill, flows: readonly MeasuredFlow[]): MonthlyCost => {
  const { draft, prediction, endpointsByZone } = each;
  const routes = prediction?.routedByZone ?? new Map<string, never>();
  const { current, spread, routed } = measuredCost(tariff, flows, routes, endpointsByZone);
  // Without a wish for it nothing is saved by routing: what crosses less than evenly does so by chance.
  const saved = draft.wanted.wanted ? Math.max(0, spread - current) : 0;
  return { ...promisedCost(draft.saving !== null, current, routed), saved };
};

const ungrouped = (diagnosis: Diagnosis, prediction: Prediction | undefined, fixes: boolean) => {
  const { facts, verdict, scope, wanted, given, effective, causes } = diagnosis;
  const [first, ...others] = causes;
  const endpoints = facts.families[0]?.endpoints ?? [];
  const { clientZones, unserved } = effective;
  // What is only possible decides nothing here: one Pod with a sidecar somewhere does not make every Service the mesh's.
  const bypasses = [...new Set(facts.bypasses.flatMap(({ client, possible }) => (possible ? [] : [client])))];
  const isFutile = causes.some(({ futile }) => futile);
  const isUnknown = bypasses.length > 0 || verdict === 'Unknown' || facts.notServing.length > 0 || isFutile;
  const inZoneShare = prediction === undefined ? null : insideOf(prediction.now);
  const byNode = [...Map.groupBy(facts.routes, ({ node }) => node).values()];
  const kept = byNode.filter((own) => own.every(({ mode }) => mode !== ''));
  return {
    ...facts.ref,
    type: facts.service.spec?.type ?? 'ClusterIP',
    verdict,
    /** What the verdict is about, as `explain` has it: connections through the cluster IP, and who is known to go around it. */
    scope,
    wanted,
    /** Ready endpoints, of every family, that carry a zone hint. */
    given: { count: sumBy(given, ({ hinted }) => hinted), of: sumBy(given, ({ ready }) => ready) },
    /** Ready Nodes whose proxy keeps to the hints, for every family and port. */
    used: { count: sumBy(kept, ([route]) => route?.nodes.length ?? 0), of: facts.nodes.length },
    effective: { count: clientZones.length - unserved.length, of: clientZones.length },
    /** Ready ones, of the first family. */
    endpoints: endpoints.length,
    zones: new Set(endpoints.map(({ zone }) => zone).filter((zone) => zone !== '')).size,
    /** Of connections through the cluster IP, by the routers seen; null where nothing is predicted. Clients are spread as `sum.clientsBy` says. */
    inZoneShare,
    crossZoneShare: prediction && inZoneShare !== null ? 1 - inZoneShare - unplacedIn(prediction.now) : null,
    /** How far the busiest endpoint is above its fair share: 0 = all alike, 1 = twice the average. */
    worstOverload: prediction?.overload ?? null,
    /** The same if every endpoint were hinted for its own zone and every proxy kept to it. */
    overloadRoutedByZone: prediction?.overloadRoutedByZone ?? null,
    /** Null also where clients go around its proxies by what objects show, the data plane is not known, endpoints are published that serve nothing, or `explain` has nothing to set or do: nothing can be promised of them. */
    saving: prediction === undefined || isUnknown ? null : savingOf(prediction, 1 - (scope.past?.share ?? 0)),
    /** Clients that go around its proxies, as `explain` names them. */
    bypasses: bypasses as readonly string[],
    cause: first === undefined ? null : fixes ? withFix(first, diagnosis) : first,
    /** The others, in the order in which to look at them. */
    alsoFound: others.map(({ reason }) => reason),
  };
};

type Ungrouped = ReturnType<typeof ungrouped>;

/** Meters saw connections to its endpoints that did not go through its cluster IP. */
export const isMeasuredPast = ({ scope: { past } }: Pick<Ungrouped, 'scope'>): boolean => (past?.connections ?? 0) > 0;

/** It keeps its traffic through its cluster IP, and a client that keeps to no zone is known, or was measured, to go around that, or all that is seen enters from outside. */
export const isEffectiveInPart = ({ verdict, scope }: Pick<Ungrouped, 'verdict' | 'scope'>): boolean =>
  (verdict === 'Effective' || verdict === 'Assumed') &&
  (scope.around.some(isStray) || (scope.foreign && scope.enters !== '') || isMeasuredPast({ scope }));

/** Connections fail, whatever the Service asks for. */
const BROKEN = /^(?:NoBackendForZone|UnreadyForZone|PublishedNotReady|No(?:Ready|Local)?Endpoints)$/;
/** No proxy routes it, clients choose by themselves, or API servers write its slices, on which no hint can stand. */
const UNROUTED = /^(?:Headless|ExternalName|NotProxied|ApiServer)$/;

/** In the order in which to look; what each is stands in GROUP_TITLES of the report. */
export const AUDIT_GROUPS = ['Fails', 'Costs', 'NotSavable', 'NotKnown', 'Kept'] as const;
export type AuditGroup = (typeof AUDIT_GROUPS)[number];

/** Shares below it are none. */
const NOTICEABLE = 0.000_5;

export const auditGroup = (
  service: Pick<Ungrouped, 'cause' | 'alsoFound' | 'endpoints' | 'verdict' | 'saving' | 'crossZoneShare' | 'scope'>,
): AuditGroup => {
  const { cause, alsoFound, endpoints, verdict, saving, crossZoneShare } = service;
  const crossesPast = (service.scope.past?.crossing ?? 0) > 0;
  const reasons = cause === null ? [] : [cause.reason, ...alsoFound];
  if (reasons.some((reason) => BROKEN.test(reason))) return 'Fails';
  if (reasons.includes('Evacuated') && verdict !== 'Ineffective') return 'NotSavable';
  if (reasons.some((reason) => UNROUTED.test(reason)) || cause?.reason === 'ClusterIPNotUsed') return 'NotSavable';
  if (isKeptAround(service.scope)) return 'Kept';
  if (crossZoneShare === null) return verdict === 'Ineffective' && !reasons.includes('NoNodes') ? 'Fails' : 'NotKnown';
  if (crossZoneShare <= NOTICEABLE) return verdict === 'Ineffective' ? 'Fails' : crossesPast ? 'NotSavable' : 'Kept';
  if (endpoints === 1) return 'NotSavable';
  if (verdict === 'Ineffective') return 'Fails';
  if (cause?.futile) return 'NotSavable';
  return saving !== null && saving.routing + saving.endpoints <= NOTICEABLE ? 'NotSavable' : 'Costs';
};

/** A Service before its part of the whole is known. Keeps nothing of the diagnosis but what is reported: there are thousands. */
export const assessed = (diagnosis: Diagnosis, fixes: boolean) => {
  const prediction = predict(diagnosis);
  const whole = ungrouped(diagnosis, prediction, fixes);
  return {
    draft: { group: auditGroup(whole), ...whole },
    prediction,
    /** Ready endpoints of the first family; 0 where nothing is predicted. */
    weight: prediction === undefined ? 0 : whole.endpoints,
    endpointsByZone: countBy(diagnosis.facts.families[0]?.endpoints ?? [], ({ zone }) => zone),
  };
};

export type Assessed = ReturnType<typeof assessed>;

/** What has a price: the cells whose two zones are known. */
const betweenZones = (matrix: TrafficShares): TrafficShares => {
  const isZone = ([name]: readonly [string, unknown]): boolean => name !== '';
  return new Map([...matrix].filter(isZone).map(([from, row]) => [from, new Map([...row].filter(isZone))]));
};

/** The cost is undefined without a bill, and where nothing was measured or predicted. */
const billed = (
  each: Assessed,
  weight: number,
  bill: Bill | undefined,
  flows: readonly MeasuredFlow[],
): { readonly monthlyCost?: MonthlyCost; readonly measured?: ReturnType<typeof measuredService> } => {
  if (bill === undefined) return {};
  const { draft, prediction } = each;
  if (bill.measured) return { monthlyCost: measuredCostOf(each, bill, flows), measured: measuredService(flows) };
  if (prediction === undefined) return {};
  const [now, routed] = [prediction.now, prediction.routedByZone].map((matrix) =>
    monthlyCost(bill.tariff, betweenZones(matrix), bill.gigabytesPerDay * weight),
  );
  return { monthlyCost: promisedCost(draft.saving !== null, now ?? 0, routed ?? 0) };
};

/** `total`: the weight of all Services together; `flows`: what was measured of this one. */
export const serviceAudit = (each: Assessed, total: number, bill: Bill | undefined, flows: readonly MeasuredFlow[]) => {
  /** Its part of all ready endpoints, which stands in for its part of the traffic. */
  const weight = total === 0 ? 0 : each.weight / total;
  return { ...each.draft, weight, ...billed(each, weight, bill, flows) };
};

export type ServiceAudit = ReturnType<typeof serviceAudit>;
