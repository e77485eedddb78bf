// SPDX-License-Identifier: Apache-2.0
// What no plan within the limits can beat: the transportation bound and the integrality bound, as shares of the demand.
import { EPSILON } from './problem.ts';
import type { Problem } from './problem.ts';

/** Counts every crossing as 1, whatever the pair of zones costs. */
const crossingOf = (problem: Problem, zone: number, kind: number): number =>
  problem.classes[kind]?.zone === zone ? 0 : 1;

const costOf = (problem: Problem, zone: number, kind: number): number => problem.cost[zone]?.[kind] ?? 0;

type Weight = typeof costOf;

/** As a share of the whole demand; Infinity where a plan without overload does not exist. */
export interface LowerBounds {
  /** Least share of the demand that leaves its zone; what clients outside of any zone send is not in it. */
  readonly crossing: number;
  /** Least cost. */
  readonly cost: number;
}

/**
 * Least cost of a zone that is served by `count` endpoints, `required` (a class) among them: the cheapest that can carry
 * an equal part each. Infinity if so many cannot.
 */
export const zoneCostAt = (
  problem: Problem,
  zone: number,
  count: number,
  weight: Weight = costOf,
  required = -1,
): number => {
  const rate = (problem.demand[zone] ?? 0) / count;
  let open = count;
  let paid = 0;
  if (required >= 0) {
    if ((problem.classes[required]?.limit ?? 0) < rate - EPSILON) return Infinity;
    paid = weight(problem, zone, required);
    open -= 1;
  }
  for (const kind of problem.cheapest[zone] ?? []) {
    if (open === 0) break;
    const { limit, count: there } = problem.classes[kind] ?? { limit: 0, count: 0 };
    if (limit < rate - EPSILON) continue;
    const taken = Math.min(open, kind === required ? there - 1 : there);
    paid += taken * weight(problem, zone, kind);
    open -= taken;
  }
  return open > 0 ? Infinity : paid * rate;
};

const LARGEST = (most: number, { limit }: { readonly limit: number }): number => Math.max(most, limit);

/** Fewest endpoints that could carry a zone's demand, if the largest had to carry it alone. */
export const fewestEndpoints = (problem: Problem, zone: number): number => {
  const limit = problem.classes.reduce(LARGEST, 0);
  const fewest = limit <= 0 ? Infinity : Math.ceil((problem.demand[zone] ?? 0) / limit - EPSILON);
  return Math.max(problem.minEndpoints, fewest);
};

/** `order` is by cost, so crossings alone are least in it only if own-zone classes come first, which they do. */
const leastOf = (problem: Problem, zone: number, weight: Weight, required = -1): number => {
  const demand = problem.demand[zone] ?? 0;
  const smallest = problem.classes.reduce((least, { limit }) => Math.min(least, limit), Infinity);
  let best = Infinity;
  for (let count = fewestEndpoints(problem, zone); count <= problem.total; count += 1) {
    const cost = zoneCostAt(problem, zone, count, weight, required);
    if (cost < best) best = cost;
    if (best === 0) break;
    // Once everybody is able to take part, more endpoints are only dearer ones.
    if (required < 0 && demand / count <= smallest) break;
  }
  return best;
};

/** Extra that the least suitable endpoint costs: it too must serve some zone, and must not be too small for it. */
const stragglerOf = (problem: Problem, least: readonly number[], weight: Weight): number => {
  let worst = 0;
  problem.classes.forEach(({ idle, zone: own, limit }, kind) => {
    if (idle || problem.demand.length === 0) return;
    const local = problem.demand[own];
    const enough = local === undefined || limit <= 0 ? Infinity : Math.ceil(local / limit - EPSILON);
    // Serving its own zone is free where the zone then needs no more than it has in its own classes of that size.
    if (
      enough <= fewestEndpoints(problem, own) &&
      (least[own] ?? 0) === zoneCostAt(problem, own, fewestEndpoints(problem, own), weight, kind)
    )
      return;
    let extra = Infinity;
    for (let zone = 0; zone < problem.demand.length && extra > worst; zone += 1) {
      extra = Math.min(extra, leastOf(problem, zone, weight, kind) - (least[zone] ?? 0));
    }
    worst = Math.max(worst, extra);
  });
  return worst;
};

const sumOf = (problem: Problem, weight: Weight): number => {
  const least = problem.demand.map((_, zone) => leastOf(problem, zone, weight));
  const sum = least.reduce((total, one) => total + one, 0);
  return Number.isFinite(sum) ? sum + stragglerOf(problem, least, weight) : sum;
};

/**
 * A zone that is served by n endpoints loads each with a whole n-th of its demand, so n must be large enough for that, and
 * those beyond the zone's own cross. Every endpoint serves some zone; the dearest of them counts on top.
 */
export const integralityBounds = (problem: Problem): LowerBounds => {
  const crossing = sumOf(problem, crossingOf);
  const unit = problem.cost.every((row, zone) => row.every((cost, kind) => cost === crossingOf(problem, zone, kind)));
  return { crossing, cost: unit ? crossing : sumOf(problem, costOf) };
};

/**
 * What a zone has above its own endpoints' limits leaves it or is overload: the least share of the demand that leaves its
 * zone in any plan with so much overload at most.
 */
export const transportationBound = (problem: Problem, overload: number): number => {
  const room = problem.demand.map(() => 0);
  for (const { zone, limit, count } of problem.classes) {
    if (zone >= 0) room[zone] = (room[zone] ?? 0) + Math.max(0, limit) * count;
  }
  const above = problem.demand.reduce((sum, demand, zone) => sum + Math.max(0, demand - (room[zone] ?? 0)), 0);
  return Math.max(0, above - overload);
};
