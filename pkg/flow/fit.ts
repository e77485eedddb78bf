// Whether zones can be served by so many endpoints each, where those that need no others may give some of their own away.
import { fewestEndpoints } from './bounds.ts';
import { EPSILON, spend } from './problem.ts';
import type { Problem } from './problem.ts';
import { realize } from './realize.ts';
import type { Realized } from './realize.ts';

/** Few enough own endpoints for each use that the others may want to make of the rest, for a zone that needs no others. */
const releases = (problem: Problem, zone: number, own: number, rates: readonly number[]): number[] => {
  const demand = problem.demand[zone] ?? 0;
  const fewest = Math.min(own, fewestEndpoints(problem, zone));
  const limit = problem.classes.reduce((most, kind) => (kind.zone === zone ? Math.max(most, kind.limit) : most), 0);
  const found = new Set([own, fewest]);
  for (const rate of rates) {
    // So many serve the zone that each of them can also take this part of another one.
    const sharing = limit > rate ? Math.ceil(demand / (limit - rate) - EPSILON) : Infinity;
    if (sharing > fewest && sharing < own) found.add(sharing);
  }
  return [...found].sort((a, b) => b - a);
};

/** What one endpoint of each other zone carries, and of each two of them together. */
const partsOf = (problem: Problem, counts: readonly number[], zone: number): number[] => {
  const rates = problem.demand
    .map((demand, other) => demand / (counts[other] ?? 1))
    .filter((_, other) => other !== zone);
  const pairs = rates.length === 2 ? [(rates[0] ?? 0) + (rates[1] ?? 0)] : [];
  return [...rates, ...pairs];
};

const MAX_COMBINATIONS = 36;

/** All combinations, or where they are too many: all shared, all released, and each step between for all zones alike. */
const combine = (choices: readonly (readonly number[])[]): number[][] => {
  const size = choices.reduce((product, choice) => product * choice.length, 1);
  if (size <= MAX_COMBINATIONS) {
    return choices.reduce<number[][]>(
      (all, choice) => all.flatMap((head) => choice.map((count) => [...head, count])),
      [[]],
    );
  }
  const longest = choices.reduce((most, choice) => Math.max(most, choice.length), 0);
  return Array.from({ length: longest }, (_, step) =>
    choices.map((choice) => choice[Math.min(step, choice.length - 1)] ?? 1),
  );
};

/** Looks at classes and parts of them that one attempt takes, by class and zone. */
const LOOKS = 4;

/**
 * The first way to serve the zones by so many endpoints that fits; zones that are `flexible` may also get fewer. Once the effort
 * is spent nothing fits any more.
 */
export const fit = (problem: Problem, counts: readonly number[], flexible: readonly boolean[]): Realized => {
  const units = LOOKS * problem.classes.length * counts.length;
  if (!spend(problem.effort, units)) return { kind: 'stuck', zone: 0 };
  const first = realize(problem, counts);
  if (first.kind === 'fits' || !flexible.includes(true)) return first;
  const choices = counts.map((count, zone) =>
    flexible[zone] === true ? releases(problem, zone, count, partsOf(problem, counts, zone)) : [count],
  );
  for (const combination of combine(choices)) {
    if (!spend(problem.effort, units)) break;
    const other = realize(problem, combination);
    if (other.kind === 'fits') return other;
  }
  return first;
};
