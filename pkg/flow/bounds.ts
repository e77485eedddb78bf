// What no plan within the limits can beat: the transportation bound and the integrality bound, as shares of the demand.
import { EPSILON, type Problem } from './problem.ts';

/** Counts every crossing as 1, whatever the pair of zones costs. */
const crossingOf = (problem: Problem, zone: number, kind: number): number =>
  problem.classes[kind]?.zone === zone ? 0 : 1;

const costOf = (problem: Problem, zone: number, kind: number): number => problem.cost[zone]?.[kind] ?? 0;

type Weight = typeof costOf;

/**
 * Costs of a zone that is served by so many endpoints, each of which carries an equal part of its demand: of all, Infinity if so many cannot,
 * the cheapest that can; of the others without one of them, at the same part each.
 */
const servedAt = (problem: Problem, zone: number, count: number, weight: Weight) => {
  const rate = (problem.demand[zone] ?? 0) / count;
  let open = count;
  let [paid, others] = [0, Infinity];
  for (const kind of problem.cheapest[zone] ?? []) {
    if (open === 0) break;
    const { limit, count: there } = problem.classes[kind] ?? { limit: 0, count: 0 };
    if (limit < rate - EPSILON) continue;
    const taken = Math.min(open, there);
    const cost = weight(problem, zone, kind);
    if (taken >= open - 1) others = Math.min(others, paid + (open - 1) * cost);
    paid += taken * cost;
    open -= taken;
  }
  if (open === 1) others = paid;
  return { all: open > 0 ? Infinity : paid * rate, others: others * rate, rate };
};

export const zoneCostAt = (problem: Problem, zone: number, count: number): number =>
  servedAt(problem, zone, count, costOf).all;

/** Fewest endpoints that could carry a zone's demand, if the largest had to carry it alone. */
export const fewestEndpoints = (problem: Problem, zone: number): number => {
  const limit = problem.classes.reduce((most, own) => Math.max(most, own.limit), 0);
  const fewest = limit <= 0 ? Infinity : Math.ceil((problem.demand[zone] ?? 0) / limit - EPSILON);
  return Math.max(problem.minEndpoints, fewest);
};

/** By zone and number of endpoints; each is worked out once, when it is first asked for. */
const costsOf = (problem: Problem, weight: Weight) => {
  const known = problem.demand.map((): ReturnType<typeof servedAt>[] => []);
  return {
    problem,
    weight,
    at(zone: number, count: number) {
      const row = known[zone] ?? [];
      return (row[count] ??= servedAt(problem, zone, count, weight));
    },
  };
};

type Costs = ReturnType<typeof costsOf>;

/** Least cost of a zone, whatever serves it. Classes are in the order of cost, and so are crossings: own zone first. */
const leastOf = (costs: Costs, zone: number): number => {
  const { problem } = costs;
  const smallest = problem.classes.reduce((least, { limit }) => Math.min(least, limit), Infinity);
  let best = Infinity;
  for (let count = fewestEndpoints(problem, zone); count <= problem.total && best > 0; count += 1) {
    const { all, rate } = costs.at(zone, count);
    best = Math.min(best, all);
    // Once all are able to take part, more endpoints are only dearer ones.
    if (rate <= smallest) break;
  }
  return best;
};

/**
 * Cost of a zone that is served by `count` endpoints, one of a class among them. Either one of them is among the cheapest
 * anyhow, or it takes the place of the dearest of these: the larger of the two costs says which.
 */
const costWith = ({ weight, problem, at }: Costs, zone: number, count: number, kind: number): number => {
  const { all, others, rate } = at(zone, count);
  if ((problem.classes[kind]?.limit ?? 0) < rate - EPSILON) return Infinity;
  return Math.max(all, others + rate * weight(problem, zone, kind));
};

/** Least cost of a zone that an endpoint of this class serves too, in so far as it is below `most`. */
const leastWith = (costs: Costs, zone: number, kind: number, most: number): number => {
  const { problem } = costs;
  const { limit } = problem.classes[kind] ?? { limit: 0 };
  if (limit <= 0) return Infinity;
  const first = Math.ceil((problem.demand[zone] ?? 0) / limit - EPSILON);
  let best = Infinity;
  for (let count = Math.max(first, fewestEndpoints(problem, zone)); count <= problem.total; count += 1) {
    best = Math.min(best, costWith(costs, zone, count, kind));
    if (best <= most) break;
  }
  return best;
};

/** Extra that the least suitable endpoint costs: it too must serve some zone, and must not be too small for it. */
const stragglerOf = (costs: Costs, least: readonly number[]): number => {
  const { problem } = costs;
  let worst = 0;
  problem.classes.forEach(({ idle, zone: own, limit }, kind) => {
    if (idle || problem.demand.length === 0) return;
    const local = problem.demand[own];
    const enough = local === undefined || limit <= 0 ? Infinity : Math.ceil(local / limit - EPSILON);
    const fewest = fewestEndpoints(problem, own);
    // Serving its own zone is free where the zone then needs no more than it has in its own classes of that size.
    if (enough <= fewest && (least[own] ?? 0) === costWith(costs, own, fewest, kind)) return;
    let extra = Infinity;
    for (let zone = 0; zone < problem.demand.length && extra > worst; zone += 1) {
      const without = least[zone] ?? 0;
      extra = Math.min(extra, leastWith(costs, zone, kind, without + worst) - without);
    }
    worst = Math.max(worst, extra);
  });
  return worst;
};

const sumOf = (problem: Problem, weight: Weight): number => {
  const costs = costsOf(problem, weight);
  const least = problem.demand.map((_, zone) => leastOf(costs, zone));
  const sum = least.reduce((total, one) => total + one, 0);
  return Number.isFinite(sum) ? sum + stragglerOf(costs, least) : sum;
};

/**
 * A zone that is served by n endpoints loads each with a whole n-th of its demand, so n must be large enough for that, and
 * those beyond the zone's own cross. Every endpoint serves some zone; the dearest of them counts on top. Shares of the whole demand; Infinity
 * where a plan without overload does not exist. What clients outside of any zone send does not count as crossing.
 */
export const integralityBounds = (problem: Problem) => {
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
