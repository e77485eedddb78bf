// By how many endpoints a zone may be served, and what each choice costs at least.
import { fewestEndpoints, zoneCostAt } from './bounds.ts';
import { EPSILON } from './problem.ts';
import type { Problem } from './problem.ts';

/** One choice for a zone: it is served by `count` endpoints, which costs at least `cost`. */
export interface Level {
  readonly count: number;
  readonly cost: number;
}

const ownEndpoints = ({ classes }: Problem, zone: number): number =>
  classes.reduce((sum, kind) => (kind.zone === zone ? sum + kind.count : sum), 0);

/** Fine steps first, coarser ones further out: the gain of one endpoint less falls with the square of their number. */
const nextCount = (count: number, steps: number): number => (steps < 16 ? count + 1 : Math.ceil(count * 1.06 + 1));

/**
 * The choices of a zone from cheapest on: first as many own endpoints as it has if they suffice (fewer cost the same; how
 * many fewer is decided later), then more and more of other zones. Choices that alone cost `most` or more are left out.
 */
export const levelsOf = (problem: Problem, zone: number, most: number): Level[] => {
  const fewest = fewestEndpoints(problem, zone);
  const own = ownEndpoints(problem, zone);
  const levels: Level[] = [];
  if (own >= fewest && zoneCostAt(problem, zone, own) < EPSILON) levels.push({ count: own, cost: 0 });
  const smallest = problem.classes.reduce((least, { limit }) => Math.min(least, limit), Infinity);
  let steps = 0;
  for (let count = levels.length > 0 ? own + 1 : fewest; count <= problem.total; count = nextCount(count, steps)) {
    const cost = zoneCostAt(problem, zone, count);
    if (cost >= most) {
      // Once all are able to take part, more endpoints are only dearer ones.
      if (cost < Infinity && (problem.demand[zone] ?? 0) / count <= smallest) break;
      continue;
    }
    levels.push({ count, cost });
    steps += 1;
  }
  return levels.sort((a, b) => a.cost - b.cost || a.count - b.count);
};
