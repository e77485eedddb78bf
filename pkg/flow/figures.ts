// What groups of hinted endpoints lead to, and which of two results is better.
import { EPSILON, MAX_ZONES } from './problem.ts';
import type { Group, Problem } from './problem.ts';

/** All as shares of the whole demand. */
export interface Figures {
  /** Load above the limits, summed over the endpoints. */
  readonly overload: number;
  readonly cost: number;
}

export interface Solution extends Figures {
  readonly groups: readonly Group[];
}

/** Endpoints that serve each zone with clients; 0 where no endpoint is hinted for it. */
export const servedBy = (problem: Pick<Problem, 'demand'>, groups: readonly Group[]): number[] => {
  const served = problem.demand.map(() => 0);
  for (const { zones, count } of groups) for (const zone of zones) served[zone] = (served[zone] ?? 0) + count;
  return served;
};

/** A zone without hinted endpoints gets every endpoint. */
const figuresOf = (problem: Problem, groups: readonly Group[]): Figures => {
  const { demand, classes, cost, total } = problem;
  const rates = servedBy(problem, groups);
  let everywhere = 0;
  let paid = 0;
  for (let zone = 0; zone < rates.length; zone += 1) {
    const served = rates[zone] ?? 0;
    const rate = (demand[zone] ?? 0) / (served || total);
    rates[zone] = rate;
    if (served > 0) continue;
    everywhere += rate;
    for (let kind = 0; kind < classes.length; kind += 1) {
      paid += rate * (classes[kind]?.count ?? 0) * (cost[zone]?.[kind] ?? 0);
    }
  }
  let overload = 0;
  for (const { kind, zones, count } of groups) {
    let load = everywhere;
    for (const zone of zones) {
      const rate = rates[zone] ?? 0;
      load += rate;
      paid += rate * count * (cost[zone]?.[kind] ?? 0);
    }
    const above = load - (classes[kind]?.limit ?? 0);
    if (above > EPSILON) overload += above * count;
  }
  return { overload, cost: paid };
};

export const solutionOf = (problem: Problem, groups: readonly Group[]): Solution => ({
  ...figuresOf(problem, groups),
  groups,
});

/** Negative if `left` is better: less overload, then less cost. 0 where only rounding differs. */
export const compareFigures = (left: Figures, right: Figures): number => {
  const overload = left.overload - right.overload;
  if (Math.abs(overload) > EPSILON) return overload;
  const cost = left.cost - right.cost;
  return Math.abs(cost) > EPSILON ? cost : 0;
};

/** The best of them; the first of equals. */
export const bestOf = (first: Solution, ...others: readonly (Solution | undefined)[]): Solution => {
  let best = first;
  for (const other of others) if (other !== undefined && compareFigures(other, best) < 0) best = other;
  return best;
};

/**
 * Every zone with hinted endpoints has its minimum of them, and either all endpoints are hinted or none: one endpoint
 * without would make proxies ignore the others' hints.
 */
export const isAllowed = (problem: Problem, groups: readonly Group[]): boolean => {
  const served = servedBy(problem, groups);
  if (served.some((count) => count > 0 && count < problem.minEndpoints)) return false;
  const bare = groups.some(({ kind, zones }) => zones.length === 0 && problem.classes[kind]?.idle !== true);
  return !bare || served.every((count) => count === 0);
};

/** A zone without hinted endpoints gets every endpoint; saying so is clearer where the API's eight zones allow it. */
export const hintedExplicitly = (problem: Problem, groups: readonly Group[]): readonly Group[] => {
  const left = servedBy(problem, groups).flatMap((count, zone) => (count === 0 ? [zone] : []));
  if (left.length === 0 || groups.some(({ zones }) => zones.length + left.length > MAX_ZONES)) return groups;
  return groups.map((group) => ({ ...group, zones: [...group.zones, ...left].sort((a, b) => a - b) }));
};
