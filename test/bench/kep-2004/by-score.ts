// The planner's local search with the simulator's score as its objective, and the score that nothing can beat.
import { transportationBound } from '../../../pkg/flow/bounds.ts';
import { type Group, type Problem, type Solution, spreadGroups } from '../../../pkg/flow/problem.ts';
import { localSearch } from '../../../pkg/flow/solve.ts';
import type { Case } from './grid.ts';
import { measure, scoreOf } from './measure.ts';
import { lend, plannerGroups, problemOf, upstreamGroups } from './strategies.ts';

/**
 * In-zone share beyond what fits at the fair load costs more deviation than it earns: x more of it loads endpoints by x above
 * their share in all, so the mean deviation is 2x at least and the largest x, which is 45x - 20 * 3x < 0 points.
 */
export const scoreCeiling = (problem: Problem): number => 45 * (1 - transportationBound(problem, 0)) + 40 + 15;

const REACH = 3;

/** One zone for each endpoint, numbers near the fair ones: all of them are tried. */
const partitions = ({ endpoints }: Case, problem: Problem): Group[][] => {
  const fair = problem.demand.map((demand) => Math.floor(demand * problem.total));
  const found: Group[][] = [];
  for (let a = (fair[0] ?? 0) - REACH + 1; a <= (fair[0] ?? 0) + REACH; a += 1) {
    for (let b = (fair[1] ?? 0) - REACH + 1; b <= (fair[1] ?? 0) + REACH; b += 1) {
      const served = [a, b, problem.total - a - b];
      if (served.some((count) => count < 1)) continue;
      const spare = served.map((count, zone) => (endpoints[zone] ?? 0) - count);
      found.push(
        lend(
          problem,
          spare.map((count) => Math.max(0, count)),
          spare.map((count) => Math.max(0, -count)),
        ),
      );
    }
  }
  return found;
};

/** From the best of these: partitions, upstream's hints, plans at several values of theta, spread. */
export const scoreGroups = (item: Case): readonly Group[] => {
  const problem = problemOf(item, 0);
  const evaluate = (_problem: Problem, groups: readonly Group[]): Solution => ({
    groups,
    overload: 0,
    cost: -scoreOf(measure(problem, groups)),
  });
  const plans = [0, 0.05, 0.1].map((theta) => plannerGroups(problemOf(item, theta)).groups);
  const upstream = upstreamGroups(item, problem);
  const best = (solutions: readonly Solution[]): Solution[] => [...solutions].sort((a, b) => a.cost - b.cost);
  const divided = best(partitions(item, problem).map((groups) => evaluate(problem, groups))).slice(0, 1);
  const others = [...plans, ...(upstream === undefined ? [] : [upstream]), spreadGroups(problem)];
  const starts = best([...divided, ...others.map((groups) => evaluate(problem, groups))]).slice(0, 3);
  const found = starts.map((start) => localSearch(problem, { start, budget: 600, evaluate }));
  return (best(found)[0] ?? evaluate(problem, spreadGroups(problem))).groups;
};
