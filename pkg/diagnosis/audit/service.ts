// One Service of an audit: what explain finds, and what it costs.
// Zone × zone matrices of connections: averages, sums, and what of them stays.
// Where the connections of one Service go now, and where they would go if it were routed by zone.
import { type Node, zoneOfNode } from '../../apis/core.ts';
import { byText, defined } from '../../apis/values.ts';
import type { MeasuredFlow } from '../../traffic/measured.ts';
import { type Traffic, trafficOf, worstOverload } from '../../upstream/index.ts';
import { trafficsOf } from '../explain/spread.ts';
import type { Diagnosis } from '../explain/explain.ts';
import type { Facts, FamilyFacts } from '../explain/facts.ts';
import { measuredCost, measuredService } from '../measured.ts';
import { type TrafficShares, monthlyCost } from '../prices.ts';
import { auditGroup } from './sum.ts';
import type { Bill, MonthlyCost, Part, Saving, ServiceAudit } from './types.ts';

type Cells = Map<string, Map<string, number>>;

/** Adds `matrix` times `factor` to `cells`. */
export const addTo = (cells: Cells, matrix: TrafficShares, factor: number): void => {
  for (const [from, row] of matrix) {
    const own = cells.get(from) ?? new Map<string, number>();
    cells.set(from, own);
    for (const [to, share] of row) own.set(to, (own.get(to) ?? 0) + share * factor);
  }
};

/** Rounding of doubles alone must not look like connections. */
const NOTHING = 1e-9;

/** What sums of doubles leave over, or lack, is nothing. */
const atLeastNothing = (share: number): number => (share > NOTHING ? share : 0);

/** Mean of what arrives; each adds up to 1. Undefined where nothing arrives at all. */
const meanMatrix = (traffics: readonly Traffic[]): TrafficShares | undefined => {
  const arriving = traffics.filter(({ lost }) => 1 - lost > NOTHING);
  if (arriving.length === 0) return undefined;
  const cells: Cells = new Map();
  for (const { matrix, lost } of arriving) addTo(cells, matrix, 1 / ((1 - lost) * arriving.length));
  return cells;
};

/** Fraction that stays in its zone; the empty name is no zone. */
const insideOf = (matrix: TrafficShares): number => {
  let inside = 0;
  for (const [from, row] of matrix) if (from !== '') inside += row.get(from) ?? 0;
  return 1 - atLeastNothing(1 - inside);
};

/** For reports: rows and columns in name order, every zone in both. */
export const plainMatrix = (matrix: TrafficShares): Record<string, Record<string, number>> => {
  const zones = [...new Set([...matrix].flatMap(([from, row]) => [from, ...row.keys()]))].sort(byText);
  const from = zones.filter((zone) => zone !== '' || matrix.has(zone));
  return Object.fromEntries(
    from.map((zone) => [zone, Object.fromEntries(zones.map((to) => [to, matrix.get(zone)?.get(to) ?? 0]))]),
  );
};

interface Prediction {
  readonly now: TrafficShares;
  readonly overload: number;
  /** With the endpoints as they are. */
  readonly routedByZone: TrafficShares;
  readonly overloadRoutedByZone: number;
}

interface Family {
  readonly traffic: Traffic;
  /** Ready endpoints. */
  readonly count: number;
}

/** A client zone keeps to its own endpoints; one without any spreads over all. */
const byZone = ({ index, clientZones }: Facts, { endpoints }: FamilyFacts): Traffic => {
  const all = endpoints.map(({ address, zone }) => ({ key: address, zone }));
  const zones = Map.groupBy(all, ({ zone }) => zone);
  const groups = index.groups.filter(([first]) => first !== undefined && clientZones.includes(zoneOfNode(first)));
  const sizes = new Map<Node | undefined, number>(groups.map((group) => [group[0], group.length]));
  return trafficOf({
    nodes: groups.flatMap((group) => group.slice(0, 1)),
    countOf: (node) => sizes.get(node) ?? 0,
    endpointsFor: (node) => zones.get(zoneOfNode(node)) ?? all,
    ...defined({ weights: index.weights }),
  });
};

const worstOf = (families: readonly Family[]): number =>
  Math.max(0, ...families.map(({ traffic, count }) => worstOverload(traffic, count)));

/** Undefined where no proxy routes the Service, nothing answers, or no client is known. */
const predict = (facts: Facts): Prediction | undefined => {
  const { families } = facts;
  const countOf = (name: string): number => families.find(({ family }) => family === name)?.endpoints.length ?? 0;
  const present = trafficsOf(facts).map(({ family, traffic }) => ({ traffic, count: countOf(family) }));
  const future = families
    .filter(({ endpoints }) => endpoints.length > 0)
    .map((family) => ({ traffic: byZone(facts, family), count: family.endpoints.length }));
  const now = meanMatrix(present.map(({ traffic }) => traffic));
  const routedByZone = meanMatrix(future.map(({ traffic }) => traffic));
  if (now === undefined || now.size === 0) return undefined;
  // Nothing is ready, and terminating endpoints answer: hints would change nothing.
  const other = routedByZone ?? now;
  return {
    now,
    overload: worstOf(present),
    routedByZone: other,
    overloadRoutedByZone: routedByZone === undefined ? worstOf(present) : worstOf(future),
  };
};

/** What one Service alone shows. */
type Draft = Omit<ServiceAudit, 'weight' | 'monthlyCost' | 'measured'>;
type Own = Omit<Draft, 'group' | keyof Figures>;

/** A Service before its part of the whole is known. */
export interface Assessed {
  readonly draft: Draft;
  readonly prediction: Prediction | undefined;
  /** Ready endpoints of the first family; 0 where nothing is predicted. */
  readonly weight: number;
  /** Ready endpoints of the first family by zone. */
  readonly endpointsByZone: ReadonlyMap<string, number>;
}

/** Proxies that keep to hints for every family and port. */
const keptNodes = ({ routes, nodes }: Facts): Part => {
  const groups = Map.groupBy(routes, ({ node }) => node);
  const kept = [...groups.values()].filter((own) => own.every(({ mode }) => mode !== ''));
  return { count: kept.reduce((sum, [first]) => sum + (first?.nodes.length ?? 0), 0), of: nodes.length };
};

const savingOf = ({ now, routedByZone }: Prediction): Saving => {
  const [stays, could] = [insideOf(now), insideOf(routedByZone)];
  return { routing: atLeastNothing(could - stays), endpoints: atLeastNothing(1 - Math.max(stays, could)) };
};

/** As `savingOf`, in money: a plan that is dearer than the present one saves nothing. */
const costOf = (
  promised: boolean,
  { now, routedByZone }: Prediction,
  { tariff, gigabytesPerDay = 0 }: Bill,
  weight: number,
): MonthlyCost => {
  const cost = (matrix: TrafficShares): number => monthlyCost(tariff, matrix, gigabytesPerDay * weight);
  return promisedCost(promised, cost(now), cost(routedByZone));
};

const promisedCost = (promised: boolean, current: number, routed: number): MonthlyCost => {
  const least = promised ? Math.min(current, routed) : current;
  return { current, saving: { routing: current - least, endpoints: promised ? least : 0 } };
};

/** By what went between zones; where nothing is predicted, nothing is promised. */
const measuredCostOf = (
  { draft, prediction, endpointsByZone }: Assessed,
  { tariff }: Bill,
  flows: readonly MeasuredFlow[],
): MonthlyCost => {
  const routes = prediction?.routedByZone ?? new Map<string, never>();
  const { current, spread, routed } = measuredCost(tariff, flows, routes, endpointsByZone);
  // Without a wish for it nothing is saved by routing: what crosses less than evenly does so by chance.
  const saved = draft.wanted.wanted ? Math.max(0, spread - current) : 0;
  return { ...promisedCost(draft.saving !== null, current, routed), saved };
};

type Figures = Pick<
  ServiceAudit,
  'inZoneShare' | 'crossZoneShare' | 'worstOverload' | 'overloadRoutedByZone' | 'saving'
>;

const figuresOf = (prediction: Prediction | undefined): Figures => {
  if (prediction === undefined) {
    return {
      inZoneShare: null,
      crossZoneShare: null,
      worstOverload: null,
      overloadRoutedByZone: null,
      saving: null,
    };
  }
  const inZoneShare = insideOf(prediction.now);
  return {
    inZoneShare,
    crossZoneShare: 1 - inZoneShare,
    worstOverload: prediction.overload,
    overloadRoutedByZone: prediction.overloadRoutedByZone,
    saving: savingOf(prediction),
  };
};

const draftOf = ({ facts, verdict, wanted, given, effective, causes }: Diagnosis): Own => {
  const [first, ...others] = causes;
  const endpoints = facts.families[0]?.endpoints ?? [];
  const { clientZones, unserved } = effective;
  return {
    ...facts.ref,
    type: facts.service.spec?.type ?? 'ClusterIP',
    verdict,
    wanted,
    given: {
      count: given.reduce((sum, { hinted }) => sum + hinted, 0),
      of: given.reduce((sum, { ready }) => sum + ready, 0),
    },
    used: keptNodes(facts),
    effective: { count: clientZones.length - unserved.length, of: clientZones.length },
    endpoints: endpoints.length,
    zones: new Set(endpoints.map(({ zone }) => zone).filter((zone) => zone !== '')).size,
    bypasses: [...new Set(facts.bypasses.map(({ client }) => client))],
    cause: first ?? null,
    alsoFound: others.map(({ reason }) => reason),
  };
};

/** Where the data plane is not known, nothing can be promised. */
const isUnsure = (verdict: Diagnosis['verdict']): boolean => verdict === 'Unknown';

/** Keeps nothing of the diagnosis but what is reported: there are thousands. */
export const assessed = (diagnosis: Diagnosis): Assessed => {
  const prediction = predict(diagnosis.facts);
  const own = draftOf(diagnosis);
  const figures = figuresOf(prediction);
  const promised = own.bypasses.length === 0 && !isUnsure(diagnosis.verdict);
  const whole = { ...own, ...figures, saving: promised ? figures.saving : null };
  const draft = { group: auditGroup(whole), ...whole };
  const zones = Map.groupBy(diagnosis.facts.families[0]?.endpoints ?? [], ({ zone }) => zone);
  const endpointsByZone = new Map([...zones].map(([zone, endpoints]) => [zone, endpoints.length]));
  return { draft, prediction, weight: prediction === undefined ? 0 : draft.endpoints, endpointsByZone };
};

const billed = (
  each: Assessed,
  weight: number,
  bill: Bill | undefined,
  flows: readonly MeasuredFlow[],
): Pick<ServiceAudit, 'monthlyCost' | 'measured'> => {
  if (bill === undefined) return {};
  if (bill.measured !== undefined) {
    return { monthlyCost: measuredCostOf(each, bill, flows), measured: measuredService(flows) };
  }
  const { draft, prediction } = each;
  return prediction === undefined ? {} : { monthlyCost: costOf(draft.saving !== null, prediction, bill, weight) };
};

/** `total`: the weight of all Services together; `flows`: what was measured of this one. */
export const serviceAudit = (
  each: Assessed,
  total: number,
  bill: Bill | undefined,
  flows: readonly MeasuredFlow[],
): ServiceAudit => {
  const weight = total === 0 ? 0 : each.weight / total;
  return { ...each.draft, weight, ...billed(each, weight, bill, flows) };
};
