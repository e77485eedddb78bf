// One Service of an audit: what explain finds, and what it costs.
import type { Diagnosis } from '../explain/explain.ts';
import type { Facts } from '../explain/types.ts';
import type { MeasuredFlow } from '../../traffic/measured.ts';
import { measuredCost, measuredService } from '../measured/cost.ts';
import { monthlyCost } from '../prices.ts';
import type { TrafficShares } from '../prices.ts';
import { auditGroup } from './group.ts';
import { atLeastNothing, insideOf } from './matrix.ts';
import { predict } from './prediction.ts';
import type { Prediction } from './prediction.ts';
import type { Bill, MonthlyCost, Part, Saving, ServiceAudit } from './types.ts';

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
