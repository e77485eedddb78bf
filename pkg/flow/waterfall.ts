// The quantised waterfall: how many endpoints serve each zone, cheapest first, until a choice fits within all limits.
import { compareFigures, solutionOf } from './figures.ts';
import type { Solution } from './figures.ts';
import { fit } from './fit.ts';
import { levelsOf } from './levels.ts';
import type { Level } from './levels.ts';
import type { Problem } from './problem.ts';

/** Zone by zone an index into its levels. */
interface Node {
  readonly levels: readonly number[];
  readonly cost: number;
}

/** The cheapest node first; among equals the one found first. */
const takeCheapest = (open: Node[]): Node | undefined => {
  let best = 0;
  for (let index = 1; index < open.length; index += 1) {
    if ((open[index]?.cost ?? 0) < (open[best]?.cost ?? 0)) best = index;
  }
  return open.splice(best, 1)[0];
};

const costOfLevels = (levels: readonly (readonly Level[])[], chosen: readonly number[]): number =>
  chosen.reduce((sum, index, zone) => sum + (levels[zone]?.[index]?.cost ?? Infinity), 0);

export interface WaterfallOptions {
  /** Only plans better than this are of interest. */
  readonly incumbent: Solution;
  /** How many choices to try at most. */
  readonly tries: number;
}

/**
 * Walks the choices of all zones in order of their least cost and takes the first that fits, then goes on as long as another
 * could be better. Undefined if nothing within the limits beats the incumbent, or was found in so many tries.
 */
export const waterfall = (problem: Problem, { incumbent, tries }: WaterfallOptions): Solution | undefined => {
  if (problem.effort.left <= 0) return undefined;
  const most = incumbent.overload > 0 ? Infinity : incumbent.cost;
  const levels = problem.demand.map((_, zone) => levelsOf(problem, zone, most));
  if (levels.some(({ length }) => length === 0)) return undefined;
  const start = levels.map(() => 0);
  const open: Node[] = [{ levels: start, cost: costOfLevels(levels, start) }];
  const seen = new Set([start.join()]);
  let best: Solution | undefined;
  for (let left = tries; left > 0 && open.length > 0 && problem.effort.left > 0; left -= 1) {
    const node = takeCheapest(open);
    const limit = best ?? incumbent;
    if (node === undefined || compareFigures({ overload: 0, cost: node.cost }, limit) >= 0) break;
    const chosen = node.levels.map((index, zone) => levels[zone]?.[index]);
    const fitted = fit(
      problem,
      chosen.map((level) => level?.count ?? 1),
      chosen.map((level) => level?.cost === 0),
    );
    const found = fitted.kind === 'fits' ? solutionOf(problem, fitted.groups) : undefined;
    if (found !== undefined && compareFigures(found, limit) < 0) best = found;
    node.levels.forEach((index, zone) => {
      const next = node.levels.with(zone, index + 1);
      const cost = costOfLevels(levels, next);
      if (cost === Infinity || seen.has(next.join())) return;
      seen.add(next.join());
      open.push({ levels: next, cost });
    });
  }
  return best;
};
