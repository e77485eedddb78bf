// Local search: moves endpoints of a group to other zones as long as that makes the plan better.
import { compareFigures, isAllowed, solutionOf } from './figures.ts';
import type { Solution } from './figures.ts';
import { MAX_ZONES, spend } from './problem.ts';
import type { Group, Problem } from './problem.ts';

export interface LocalSearchOptions {
  readonly start: Solution;
  /** Plans to look at, at most. */
  readonly budget: number;
  /** Negative if the first is better. Default: less overload, then less cost. */
  readonly compare?: (left: Solution, right: Solution) => number;
  /** Figures of groups. Default: overload and cost. */
  readonly evaluate?: (problem: Problem, groups: readonly Group[]) => Solution;
}

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
const moved = (groups: readonly Group[], from: number, zones: readonly number[], amount: number): Group[] => {
  const source = groups[from];
  if (source === undefined) return [...groups];
  const key = zones.join();
  const result: Group[] = [];
  let merged = false;
  groups.forEach((group, index) => {
    if (index === from) {
      if (group.count > amount) result.push({ ...group, count: group.count - amount });
    } else if (!merged && group.kind === source.kind && group.zones.join() === key) {
      merged = true;
      result.push({ ...group, count: group.count + amount });
    } else result.push(group);
  });
  if (!merged) result.push({ kind: source.kind, zones, count: amount });
  return result;
};

function* movesOf(problem: Problem, groups: readonly Group[]): Generator<Group[]> {
  for (const [index, { kind, zones, count }] of groups.entries()) {
    for (const target of neighboursOf(zones, problem.demand.length, problem.classes[kind]?.idle ?? false)) {
      for (let amount = 1; amount < count; amount *= 2) yield moved(groups, index, target, amount);
      yield moved(groups, index, target, count);
    }
  }
}

/** Looks at groups that one plan takes: they are copied, counted and weighed. */
const LOOKS = 4;

/** Takes each move that improves at once and starts over, until none does or the budget is used up. */
export const localSearch = (problem: Problem, options: LocalSearchOptions): Solution => {
  const { start, budget, compare = compareFigures, evaluate = solutionOf } = options;
  let best = start;
  let left = budget;
  for (let improved = true; improved && left > 0;) {
    improved = false;
    for (const groups of movesOf(problem, best.groups)) {
      left -= 1;
      if (left < 0 || !spend(problem.effort, LOOKS * groups.length)) return best;
      const found = evaluate(problem, groups);
      if (compare(found, best) >= 0 || !isAllowed(problem, groups)) continue;
      best = found;
      improved = true;
      break;
    }
  }
  return best;
};
