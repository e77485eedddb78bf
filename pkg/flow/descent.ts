// A plan within the limits for problems with many choices: more endpoints for the zone that does not fit, then fewer again.
import { zoneCostAt } from './bounds.ts';
import { bestOf, solutionOf } from './figures.ts';
import type { Solution } from './figures.ts';
import { fit } from './fit.ts';
import { levelsOf } from './levels.ts';
import { EPSILON } from './problem.ts';
import type { Problem } from './problem.ts';
import type { Realized } from './realize.ts';

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
    const order = counts
      .map((_, zone) => ({ zone, gain: saving(zone) }))
      .sort((a, b) => b.gain - a.gain || a.zone - b.zone);
    for (const { zone } of order) {
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
const from = (problem: Problem, start: readonly number[]): Solution | undefined => {
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
  const first = from(problem, cheapest);
  const second = together.join() === cheapest.join() ? undefined : from(problem, together);
  if (first === undefined || second === undefined) return first ?? second;
  return bestOf(first, second);
};
