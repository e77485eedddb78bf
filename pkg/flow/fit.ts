// The quantised waterfall: how many endpoints serve each zone, cheapest first, until a choice fits within all limits; and which ones:
// own ones first, then the best fit among the others.
import { fewestEndpoints, zoneCostAt } from './bounds.ts';
import { EPSILON, MAX_ZONES, compareFigures, solutionOf, spend } from './problem.ts';
import type { Group, Problem, Solution } from './problem.ts';

interface Bin {
  readonly kind: number;
  readonly zones: number[];
  count: number;
  /** What one endpoint carries so far. */
  load: number;
}

/** Gives `zone` to `count` endpoints of a bin; the rest of them become a bin of their own. */
const assign = (bins: Bin[], bin: Bin, zone: number, count: number, rate: number): void => {
  if (count < bin.count) bins.push({ ...bin, zones: [...bin.zones], count: bin.count - count });
  bin.count = count;
  bin.load += rate;
  bin.zones.push(zone);
};

/** A bin that may serve a zone, and what speaks for it: the lower the better. */
interface Suited {
  readonly bin: Bin;
  readonly cost: number;
  readonly room: number;
}

/** Fills the best first; returns how many endpoints are still missing. Filling one leaves the others as they were. */
const assignBest = (bins: Bin[], suited: Suited[], zone: number, wanted: number, rate: number): number => {
  let open = wanted;
  for (const { bin } of suited.sort((a, b) => a.cost - b.cost || a.room - b.room)) {
    if (open === 0) break;
    const taken = Math.min(open, bin.count);
    assign(bins, bin, zone, taken, rate);
    open -= taken;
  }
  return open;
};

/** Takes the cheapest bins first; among equals the one that is filled best, so that empty endpoints stay for demand that fits nowhere else. */
const fill = (problem: Problem, bins: Bin[], zone: number, wanted: number, rate: number): number => {
  const costs = problem.cost[zone] ?? [];
  const suited: Suited[] = [];
  for (const bin of bins) {
    const room = (problem.classes[bin.kind]?.limit ?? 0) - bin.load - rate;
    if (room < -EPSILON || bin.zones.length >= MAX_ZONES || bin.zones.includes(zone)) continue;
    suited.push({ bin, cost: costs[bin.kind] ?? 0, room });
  }
  return assignBest(bins, suited, zone, wanted, rate);
};

/** Own endpoints, those with the least room that suffices first: the others may have to help elsewhere. */
const fillOwn = (problem: Problem, bins: Bin[], zone: number, wanted: number, rate: number): number => {
  const suited: Suited[] = [];
  for (const bin of bins) {
    const { zone: own, limit } = problem.classes[bin.kind] ?? { zone: -1, limit: 0 };
    if (own === zone && bin.load <= 0 && limit >= rate - EPSILON) suited.push({ bin, cost: 0, room: limit });
  }
  return assignBest(bins, suited, zone, wanted, rate);
};

/**
 * Every endpoint must be hinted: one that no zone needed joins its own zone, or else the cheapest that it can carry. Returns a
 * zone that would have to be served by more for that, or -1.
 */
const occupy = (problem: Problem, bins: readonly Bin[], rates: readonly number[]): number => {
  for (const bin of bins) {
    const { zone: own, idle, limit } = problem.classes[bin.kind] ?? { zone: -1, idle: true, limit: 0 };
    if (bin.zones.length > 0 || idle) continue;
    let best = own;
    if (own < 0 || (rates[own] ?? Infinity) > limit + EPSILON) {
      best = -1;
      let bestCost = Infinity;
      for (let zone = 0; zone < rates.length; zone += 1) {
        const cost = problem.cost[zone]?.[bin.kind] ?? 0;
        if ((rates[zone] ?? Infinity) > limit + EPSILON || cost >= bestCost) continue;
        best = zone;
        bestCost = cost;
      }
    }
    if (best < 0) return Math.max(0, own);
    bin.zones.push(best);
  }
  return -1;
};

export type Realized =
  | { readonly kind: 'fits'; readonly groups: readonly Group[] }
  /** More endpoints for this zone, and so less of it for each, might help. */
  | { readonly kind: 'stuck'; readonly zone: number };

/**
 * `served[zone]` endpoints for each zone, within all limits; stuck if the rule finds none, which is no proof that there is
 * none. A zone may get more than asked for where endpoints would be left without any.
 */
export const realize = (problem: Problem, served: readonly number[]): Realized => {
  const { demand, classes } = problem;
  const rates = demand.map((share, zone) => share / (served[zone] ?? 1));
  const bins: Bin[] = classes.map(({ count }, kind) => ({ kind, zones: [], count, load: 0 }));
  const order = demand.map((_, zone) => zone).sort((a, b) => (rates[b] ?? 0) - (rates[a] ?? 0) || a - b);
  const missing = served.map((count, zone) => fillOwn(problem, bins, zone, count, rates[zone] ?? 0));
  for (const zone of order) {
    const wanted = missing[zone] ?? 0;
    if (wanted > 0 && fill(problem, bins, zone, wanted, rates[zone] ?? 0) > 0) return { kind: 'stuck', zone };
  }
  const zone = occupy(problem, bins, rates);
  if (zone >= 0) return { kind: 'stuck', zone };
  const groups = bins.map((bin) => ({ kind: bin.kind, count: bin.count, zones: bin.zones.sort((a, b) => a - b) }));
  return { kind: 'fits', groups };
};

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
  const all = problem.demand.map((demand, other) => demand / (counts[other] ?? 1));
  const rates = all.filter((_, other) => other !== zone);
  const pairs = rates.length === 2 ? [(rates[0] ?? 0) + (rates[1] ?? 0)] : [];
  return [...rates, ...pairs];
};

const MAX_COMBINATIONS = 36;

/** All combinations, or where they are too many: all shared, all released, and each step between for all zones alike. */
const combine = (choices: readonly (readonly number[])[]): number[][] => {
  const size = choices.reduce((product, choice) => product * choice.length, 1);
  if (size <= MAX_COMBINATIONS)
    return choices.reduce<number[][]>(
      (all, choice) => all.flatMap((head) => choice.map((count) => [...head, count])),
      [[]],
    );
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

/** One choice for a zone: it is served by `count` endpoints, which costs at least `cost`. */
interface Level {
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

/**
 * Walks the choices of all zones in order of their least cost and takes the first that fits, then goes on as long as another
 * could be better. Undefined if nothing within the limits beats the incumbent, or was found in so many tries.
 */
export const waterfall = (problem: Problem, incumbent: Solution, tries: number): Solution | undefined => {
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
