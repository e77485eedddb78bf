// Finds the best plan in numbers: from cheap attempts to exhaustive search, and stops where a bound says that nothing is better.
import { integralityBounds, transportationBound, zoneCostAt } from './bounds.ts';
import { exhaustive, isSmall } from './exhaustive.ts';
import {
  EPSILON,
  MAX_ZONES,
  bestOf,
  compareFigures,
  hintedExplicitly,
  isAllowed,
  sameZoneGroups,
  solutionOf,
  spend,
  spreadGroups,
} from './problem.ts';
import type { Group, Problem, Solution } from './problem.ts';
import { type Realized, fit, levelsOf, waterfall } from './fit.ts';

const attempt = (problem: Problem, counts: readonly number[]): Realized =>
  fit(
    problem,
    counts,
    counts.map((count, zone) => zoneCostAt(problem, zone, count) < EPSILON),
  );

/** A few percent more for the zone that got stuck; if it has all, for the next one that has not. Undefined at the end. */
const raise = ({ total }: Problem, counts: readonly number[], stuck: number): number[] | undefined => {
  for (let offset = 0; offset < counts.length; offset += 1) {
    const zone = (stuck + offset) % counts.length;
    const count = counts[zone] ?? total;
    if (count < total) return counts.with(zone, Math.min(total, count + Math.max(1, Math.floor(count / 24))));
  }
  return undefined;
};

/** Fewer for one zone at a time, the largest saving first, in smaller and smaller steps, as long as it still fits. */
const lower = (problem: Problem, start: readonly number[], first: Solution): Solution => {
  let [counts, best] = [start, first];
  for (let step = 2 ** Math.floor(Math.log2(Math.max(1, problem.total / 64))); step >= 1; step /= 2) {
    const saving = (zone: number): number => {
      const count = counts[zone] ?? 0;
      return count <= step ? -Infinity : zoneCostAt(problem, zone, count) - zoneCostAt(problem, zone, count - step);
    };
    const gains = counts.map((_, zone) => ({ zone, gain: saving(zone) }));
    for (const { zone } of gains.sort((a, b) => b.gain - a.gain || a.zone - b.zone)) {
      while (saving(zone) > EPSILON) {
        const next = counts.with(zone, (counts[zone] ?? 0) - step);
        const fitted = attempt(problem, next);
        if (fitted.kind !== 'fits') break;
        [counts, best] = [next, solutionOf(problem, fitted.groups)];
      }
    }
  }
  return best;
};

/** From these numbers up until it fits, and down again as far as it still does. */
const searchFrom = (problem: Problem, start: readonly number[]): Solution | undefined => {
  for (let counts: readonly number[] | undefined = start; counts !== undefined && problem.effort.left > 0;) {
    const fitted = attempt(problem, counts);
    if (fitted.kind === 'fits') return lower(problem, counts, solutionOf(problem, fitted.groups));
    counts = raise(problem, counts, fitted.zone);
  }
  return undefined;
};

/**
 * Two starts: as few endpoints as is cheapest, and where capacities differ so many that the smallest can take part. Undefined
 * if this finds nothing within the limits, which is no proof that there is nothing.
 */
export const descend = (problem: Problem): Solution | undefined => {
  if (problem.effort.left <= 0) return undefined;
  const levels = problem.demand.map((_, zone) => levelsOf(problem, zone, Infinity));
  if (levels.some(({ length }) => length === 0)) return undefined;
  const cheapest = levels.map(([level]) => level?.count ?? 1);
  const smallest = problem.classes.reduce((least, { limit }) => Math.min(least, limit), Infinity);
  const together = cheapest.map((count, zone) =>
    smallest > 0 ? Math.min(problem.total, Math.max(count, Math.ceil((problem.demand[zone] ?? 0) / smallest))) : count,
  );
  const first = searchFrom(problem, cheapest);
  const second = together.join() === cheapest.join() ? undefined : searchFrom(problem, together);
  return first === undefined || second === undefined ? (first ?? second) : bestOf(first, second);
};

/** Sets of zones one step from these: one more, one less, one exchanged. */
const neighboursOf = (zones: readonly number[], count: number, idle: boolean): number[][] => {
  const found: number[][] = [];
  const sorted = (set: readonly number[]): number[] => [...set].sort((a, b) => a - b);
  if (zones.length > 1 || (idle && zones.length === 1)) {
    for (const zone of zones) found.push(zones.filter((other) => other !== zone));
  }
  for (let zone = 0; zone < count; zone += 1) {
    if (zones.includes(zone)) continue;
    if (zones.length < MAX_ZONES) found.push(sorted([...zones, zone]));
    for (const other of zones) found.push(sorted([...zones.filter((kept) => kept !== other), zone]));
  }
  return found;
};

/** `groups` with `amount` endpoints of one group hinted for other zones. */
const moved = (groups: readonly Group[], source: Group, zones: readonly number[], amount: number): Group[] => {
  const key = zones.join();
  const result: Group[] = [];
  let merged = false;
  for (const group of groups) {
    if (group === source) {
      if (group.count > amount) result.push({ ...group, count: group.count - amount });
    } else if (!merged && group.kind === source.kind && group.zones.join() === key) {
      merged = true;
      result.push({ ...group, count: group.count + amount });
    } else result.push(group);
  }
  if (!merged) result.push({ kind: source.kind, zones, count: amount });
  return result;
};

function* movesOf(problem: Problem, groups: readonly Group[]): Generator<Group[]> {
  for (const group of groups) {
    const { kind, zones, count } = group;
    for (const target of neighboursOf(zones, problem.demand.length, problem.classes[kind]?.idle ?? false)) {
      for (let amount = 1; amount < count; amount *= 2) yield moved(groups, group, target, amount);
      yield moved(groups, group, target, count);
    }
  }
}

/** Looks at groups that one plan takes: they are copied, counted and weighed. */
const LOOKS = 4;

/** Takes each move that improves at once and starts over, until none does or `budget` plans were looked at. */
export const localSearch = (problem: Problem, start: Solution, budget: number): Solution => {
  let best = start;
  let left = budget;
  for (let improved = true; improved && left > 0;) {
    improved = false;
    for (const groups of movesOf(problem, best.groups)) {
      left -= 1;
      if (left < 0 || !spend(problem.effort, LOOKS * groups.length)) return best;
      const found = solutionOf(problem, groups);
      if (compareFigures(found, best) >= 0 || !isAllowed(problem, groups)) continue;
      best = found;
      improved = true;
      break;
    }
  }
  return best;
};

interface SolveOptions {
  /** Hints in force, of the endpoints that have any: what changes are counted from. */
  readonly inForce?: readonly Group[] | undefined;
  /** Whether hints in force stay although this is the best: then it does not matter which of equally good plans changes least. */
  readonly stays?: (best: Solution) => boolean;
  /** The problem that bounds are of, where it is another one: the same with more room. */
  readonly roomiest?: Problem;
}

/** Whether a bound says that nothing is better. */
const meets = (solution: Solution, bounds: ReturnType<typeof integralityBounds>): boolean =>
  solution.overload <= EPSILON && solution.cost <= bounds.cost + EPSILON;

/** Where nothing fits within the limits: plans that would fit if all limits were higher. */
const relaxed = (problem: Problem, start: Solution): Solution => {
  let best = start;
  for (const factor of [1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 2, 3]) {
    const classes = problem.classes.map((kind) => ({ ...kind, limit: kind.limit * factor }));
    const found = waterfall({ ...problem, classes }, { groups: [], overload: Infinity, cost: Infinity }, 20);
    if (found !== undefined) best = bestOf(best, solutionOf(problem, found.groups));
  }
  return best;
};

/** Effort that grows with the problem, counted and not timed, so that the result depends on the input alone. */
const triesOf = ({ demand }: Problem): number => (demand.length <= 3 ? 400 : 60);
const EXHAUSTIVE_STEPS = 40_000_000;
/** Steps of exhaustive search are small. */
const STEPS_FOR_A_LOOK = 4;
const searchBudget = ({ total }: Problem): number => 2_000 + 10 * Math.min(total, 2_000);

const refine = (problem: Problem, best: Solution): Solution =>
  localSearch(problem, solutionOf(problem, hintedExplicitly(problem, best.groups)), searchBudget(problem));

/**
 * The search itself takes no notice of hints in force: planning twice must give the same. They only decide between plans that
 * are equally good, and only where all of them can be looked at.
 */
export const solve = (problem: Problem, { inForce, stays, roomiest = problem }: SolveOptions = {}) => {
  const bounds = integralityBounds(roomiest);
  const effort = problem.effort.left;
  const own = sameZoneGroups(problem);
  let best = solutionOf(problem, spreadGroups(problem));
  if (own !== undefined && isAllowed(problem, own)) best = bestOf(best, solutionOf(problem, own));
  if (!meets(best, bounds)) {
    best = bestOf(best, waterfall(problem, best, triesOf(problem)));
    if (!meets(best, bounds) && !isSmall(problem)) best = bestOf(best, descend(problem));
    if (best.overload > EPSILON) best = relaxed(problem, best);
  }
  let exact = meets(best, bounds);
  const settled = exact && (inForce === undefined || stays?.(best) === true);
  if (isSmall(problem) && !settled) {
    const budget = Math.min(EXHAUSTIVE_STEPS, STEPS_FOR_A_LOOK * effort);
    const found = exhaustive(problem, { incumbent: best, inForce, budget });
    best = found.solution;
    exact ||= found.complete && roomiest === problem;
  }
  if (!exact) best = refine(problem, best);
  exact ||= meets(best, bounds);
  const transportation = transportationBound(roomiest, best.overload);
  const integrality = best.overload > EPSILON ? transportation : Math.max(bounds.crossing, transportation);
  return {
    solution: best,
    exact,
    /** The effort was spent before the search was at its end. */
    cutShort: !exact && problem.effort.left <= 0,
    /** Least share of the demand that leaves its zone in any plan with no more overload, from clients with a zone. */
    crossing: { transportation, integrality },
  };
};
