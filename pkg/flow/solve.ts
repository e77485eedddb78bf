// Finds the best plan in numbers: from cheap attempts to exhaustive search, and stops where a bound says that nothing is better.
import { integralityBounds, transportationBound } from './bounds.ts';
import type { LowerBounds } from './bounds.ts';
import { descend } from './descent.ts';
import { exhaustive, isSmall } from './exhaustive.ts';
import { bestOf, hintedExplicitly, isAllowed, solutionOf } from './figures.ts';
import type { Solution } from './figures.ts';
import { localSearch } from './local-search.ts';
import { EPSILON, sameZoneGroups, spreadGroups } from './problem.ts';
import type { Group, Problem } from './problem.ts';
import { waterfall } from './waterfall.ts';

export interface Solved {
  readonly solution: Solution;
  readonly exact: boolean;
  /** The effort was spent before the search was at its end. */
  readonly cutShort: boolean;
  /** Least share of the demand that leaves its zone in any plan with no more overload, from clients with a zone. */
  readonly crossing: { readonly transportation: number; readonly integrality: number };
}

export interface SolveOptions {
  /** Hints in force, of the endpoints that have any: what changes are counted from. */
  readonly inForce?: readonly Group[] | undefined;
  /** Whether hints in force stay although this is the best: then it does not matter which of equally good plans changes least. */
  readonly stays?: (best: Solution) => boolean;
  /** The problem that bounds are of, where it is another one: the same with more room. */
  readonly roomiest?: Problem;
}

/** Whether a bound says that nothing is better. */
const meets = (solution: Solution, bounds: LowerBounds): boolean =>
  solution.overload <= EPSILON && solution.cost <= bounds.cost + EPSILON;

/** Where nothing fits within the limits: plans that would fit if all limits were higher. */
const relaxed = (problem: Problem, start: Solution): Solution => {
  let best = start;
  for (const factor of [1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 2, 3]) {
    const classes = problem.classes.map((kind) => ({ ...kind, limit: kind.limit * factor }));
    const incumbent = { groups: [], overload: Infinity, cost: Infinity };
    const found = waterfall({ ...problem, classes }, { incumbent, tries: 20 });
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
  localSearch(problem, {
    start: solutionOf(problem, hintedExplicitly(problem, best.groups)),
    budget: searchBudget(problem),
  });

/**
 * The search itself takes no notice of hints in force: planning twice must give the same. They only decide between plans that
 * are equally good, and only where all of them can be looked at.
 */
export const solve = (problem: Problem, { inForce, stays, roomiest = problem }: SolveOptions = {}): Solved => {
  const bounds = integralityBounds(roomiest);
  const effort = problem.effort.left;
  const own = sameZoneGroups(problem);
  let best = solutionOf(problem, spreadGroups(problem));
  if (own !== undefined && isAllowed(problem, own)) best = bestOf(best, solutionOf(problem, own));
  if (!meets(best, bounds)) {
    best = bestOf(best, waterfall(problem, { incumbent: best, tries: triesOf(problem) }));
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
  const cutShort = !exact && problem.effort.left <= 0;
  return { solution: best, exact, cutShort, crossing: { transportation, integrality } };
};
