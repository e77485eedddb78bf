// The optimum of small problems: all numbers of endpoints per zone, and for each the cheapest distribution of zones over endpoints.
import { compareFigures } from './figures.ts';
import type { Figures, Solution } from './figures.ts';
import { distribute } from './distribution.ts';
import type { Slot } from './distribution.ts';
import { EPSILON } from './problem.ts';
import type { Group, Problem } from './problem.ts';

export interface ExhaustiveOptions {
  /** Best plan so far: only what is better is looked at. */
  readonly incumbent: Solution;
  /** Hints in force by class, with which fewer changes are preferred among plans that are equally good. */
  readonly inForce?: readonly Group[] | undefined;
  /** Steps of the search; one takes some nanoseconds. */
  readonly budget: number;
}

export interface Exhaustive {
  readonly solution: Solution;
  /** Everything was looked at: nothing is better. */
  readonly complete: boolean;
}

interface Candidate extends Figures {
  readonly served: readonly number[];
}

/** Endpoints one by one; those of a class in the order of the hints in force. */
const slotsOf = (problem: Problem, inForce: readonly Group[]): Slot[] =>
  problem.classes.flatMap(({ count, limit, idle }, kind) => {
    const hinted = inForce
      .filter((group) => group.kind === kind)
      .flatMap((group) =>
        Array.from({ length: group.count }, () => group.zones.reduce((mask, zone) => mask | (1 << zone), 0)),
      );
    return Array.from({ length: count }, (_, index) => ({ kind, limit, idle, current: hinted[index] ?? -1 }));
  });

/** Least overload and cost if the zones are served by so many endpoints, whichever they are. */
const leastFigures = (problem: Problem, served: readonly number[], limits: readonly number[]): Figures => {
  let overload =
    1 - limits.reduce((sum, limit) => sum + limit, 0) - (1 - problem.demand.reduce((sum, one) => sum + one, 0));
  let cost = 0;
  served.forEach((count, zone) => {
    const rate = (problem.demand[zone] ?? 0) / count;
    let above = 0;
    for (let index = 0; index < count; index += 1) above += Math.max(0, rate - (limits[index] ?? 0));
    overload = Math.max(overload, above);
    let open = count;
    for (const kind of problem.cheapest[zone] ?? []) {
      const taken = Math.min(open, problem.classes[kind]?.count ?? 0);
      cost += taken * rate * (problem.cost[zone]?.[kind] ?? 0);
      open -= taken;
    }
  });
  return { overload: overload > EPSILON ? overload : 0, cost };
};

/** Every combination of endpoints per zone that might be as good as the incumbent, the most promising first. */
const candidatesOf = (problem: Problem, incumbent: Figures): Candidate[] => {
  const limits = problem.classes
    .flatMap(({ limit, count }) => Array.from({ length: count }, () => limit))
    .sort((a, b) => b - a);
  const found: Candidate[] = [];
  const served = problem.demand.map(() => problem.minEndpoints);
  for (;;) {
    const least = leastFigures(problem, served, limits);
    if (compareFigures(least, incumbent) <= 0) found.push({ ...least, served: [...served] });
    let zone = 0;
    while (zone < served.length && served[zone] === problem.total) {
      served[zone] = problem.minEndpoints;
      zone += 1;
    }
    if (zone === served.length) break;
    served[zone] = (served[zone] ?? 0) + 1;
  }
  return found.sort((a, b) => compareFigures(a, b));
};

const groupsOf = (slots: readonly Slot[], masks: readonly number[], zones: number): Group[] => {
  const counts = new Map<string, { kind: number; mask: number; count: number }>();
  slots.forEach(({ kind }, index) => {
    const mask = masks[index] ?? 0;
    const entry = counts.get(`${kind} ${mask}`) ?? { kind, mask, count: 0 };
    entry.count += 1;
    counts.set(`${kind} ${mask}`, entry);
  });
  const listed = (mask: number): number[] =>
    Array.from({ length: zones }, (_, zone) => zone).filter((zone) => (mask & (1 << zone)) !== 0);
  return [...counts.values()].map(({ kind, mask, count }) => ({ kind, zones: listed(mask), count }));
};

/** Whether all combinations are few enough to look at. */
export const isSmall = ({ demand, total }: Problem): boolean => demand.length <= 5 && total ** demand.length <= 20_000;

/**
 * Searches over how many endpoints serve each zone, by lower bound. For fixed numbers the load and cost of an endpoint
 * depend on its own zones only, so a dynamic programme over the endpoints finds the best distribution.
 */
export const exhaustive = (problem: Problem, { incumbent, inForce = [], budget }: ExhaustiveOptions): Exhaustive => {
  const slots = slotsOf(problem, inForce);
  let best: Solution & { readonly changes: number } = { ...incumbent, changes: Infinity };
  let left = budget;
  for (const { served, overload, cost } of candidatesOf(problem, incumbent)) {
    const order = compareFigures({ overload, cost }, best);
    // Equally good ones matter only for how many endpoints change.
    if (order > 0 || (order === 0 && (inForce.length === 0 || best.changes === 0))) break;
    const size = served.reduce((product, count) => product * (count + 1), slots.length * 2 ** served.length);
    left -= size;
    if (left < 0) return { solution: best, complete: false };
    const found = distribute({ problem, slots, served, within: best.overload <= EPSILON });
    if (found === undefined) continue;
    const better = compareFigures(found, best) || found.changes - best.changes;
    if (better < 0 && (best.changes < Infinity || inForce.length > 0 || compareFigures(found, best) < 0)) {
      const { overload: over, cost: paid, changes } = found;
      best = { overload: over, cost: paid, changes, groups: groupsOf(slots, found.masks, served.length) };
    }
  }
  return { solution: best, complete: true };
};
