// What given hints lead to, by kube-proxy's rules: load of each endpoint, share of the demand that stays in its zone.
import { type Node, zoneOfNode } from '../apis/core.ts';
import { byText, countBy, sumBy } from '../apis/values.ts';
import { zoneShares } from '../upstream/index.ts';
import { checkDemand, checkEndpoints, checkTarget, checkedCost } from './compile.ts';
import { type EvaluateInput, type FlowEndpoint, type PlanFigures, type ZoneFigures, amountOf } from './types.ts';

/** Endpoints by the zones they are hinted for; empty where proxies ignore all hints because an endpoint has none. */
const hintedFor = (endpoints: readonly FlowEndpoint[]): Map<string, FlowEndpoint[]> => {
  if (endpoints.some(({ forZones = [] }) => forZones.length === 0)) return new Map();
  const pairs = endpoints.flatMap((endpoint) => [...new Set(endpoint.forZones)].map((zone) => ({ zone, endpoint })));
  const byZone = [...Map.groupBy(pairs, ({ zone }) => zone)];
  return new Map(byZone.map(([zone, own]) => [zone, own.map(({ endpoint }) => endpoint)]));
};

const tally = ({ endpoints, demand, cost = () => 1 }: EvaluateInput, zones: readonly string[]) => {
  const result = { load: new Map<string, number>(), serving: new Map<string, number>(), local: 0, cost: 0 };
  const hinted = hintedFor(endpoints);
  const prices = new Map<string, number>();
  for (const zone of zones) {
    const used = (zone === '' ? undefined : hinted.get(zone)) ?? endpoints;
    result.serving.set(zone, used.length);
    const rate = amountOf(demand, zone) / used.length;
    prices.clear();
    for (const { name, zone: own } of rate > 0 ? used : []) {
      result.load.set(name, (result.load.get(name) ?? 0) + rate);
      if (own === zone && zone !== '') result.local += rate;
      else {
        const price = prices.get(own) ?? checkedCost(zone, own, cost(zone, own));
        prices.set(own, price);
        result.cost += rate * price;
      }
    }
  }
  return result;
};

const utilizations = (endpoints: readonly FlowEndpoint[], load: ReadonlyMap<string, number>): Map<string, number> => {
  const carried = (own: readonly FlowEndpoint[]): number => sumBy(own, ({ name }) => load.get(name) ?? 0);
  const byZone = [...Map.groupBy(endpoints, ({ zone }) => zone)];
  return new Map(byZone.map(([zone, own]) => [zone, carried(own) / sumBy(own, ({ capacity }) => capacity)]));
};

const inZoneShareOf = (total: number, local: number, endpoints: number): number => {
  if (endpoints === 0) return 0;
  return total === 0 ? 1 : Math.min(1, local / total);
};

/**
 * Proxies use hints only if every endpoint has one, and a zone that none is hinted for gets all endpoints; among those it
 * gets, each connection takes any with equal chance. Throws a RangeError for a wrong number.
 */
export const evaluatePlan = (input: EvaluateInput): PlanFigures => {
  const { demand, targetUtilization } = input;
  checkDemand(demand);
  checkEndpoints(input.endpoints);
  checkTarget(targetUtilization);
  // In name order, so that sums of doubles do not depend on the order of the input.
  const endpoints = [...input.endpoints].sort((a, b) => byText(a.name, b.name));
  const zones = [...new Set([...Object.keys(demand), ...endpoints.map(({ zone }) => zone)])].sort(byText);
  const total = zones.reduce((sum, zone) => sum + amountOf(demand, zone), 0);
  const { load, serving, local, cost } = tally({ ...input, endpoints }, zones);
  const utilization = utilizations(endpoints, load);
  const figures = zones.map((zone): [string, ZoneFigures] => [
    zone,
    { demand: amountOf(demand, zone), endpoints: serving.get(zone) ?? 0, utilization: utilization.get(zone) ?? 0 },
  ]);
  let [most, overload] = [0, endpoints.length === 0 ? total : 0];
  for (const { name, capacity } of endpoints) {
    const own = load.get(name) ?? 0;
    most = Math.max(most, own / capacity);
    const above = own - targetUtilization * capacity;
    // Rounding of doubles alone must not look like overload.
    if (above > total * 1e-9) overload += above;
  }
  return {
    zones: Object.fromEntries(figures),
    inZoneShare: inZoneShareOf(total, local, endpoints.length),
    maxUtilization: most,
    overload,
    crossZoneCost: cost,
  };
};

export type ZoneWeights =
  | { readonly kind: 'known'; readonly weights: Readonly<Record<string, number>> }
  | { readonly kind: 'unknown'; readonly message: string };

const countByZone = (nodes: readonly Node[]): ZoneWeights => {
  const counts = countBy(nodes, zoneOfNode);
  counts.delete('');
  if (counts.size > 1) return { kind: 'known', weights: Object.fromEntries(counts) };
  return { kind: 'unknown', message: `Nodes are in ${counts.size} zones, and two are needed` };
};

/**
 * `cpu`: allocatable CPU of ready worker Nodes, in millicores; the same Nodes count, and the same make the weights unknown, as for the
 * EndpointSlice controller. `nodes`: number of all Nodes that have a zone.
 */
export const zoneWeights = ({ nodes, by }: { nodes: readonly Node[]; by: 'cpu' | 'nodes' }): ZoneWeights => {
  if (by === 'nodes') return countByZone(nodes);
  const shares = zoneShares(nodes);
  if (shares.kind === 'known') return { kind: 'known', weights: Object.fromEntries(shares.milliCpu) };
  return { kind: 'unknown', message: shares.message };
};
