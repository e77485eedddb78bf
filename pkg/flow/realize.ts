// From "so many endpoints serve each zone" to which ones: own ones first, then the best fit among the others.
import { EPSILON, MAX_ZONES } from './problem.ts';
import type { Group, Problem } from './problem.ts';

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

/**
 * Takes the cheapest bins first; among equals the one that is filled best, so that empty endpoints stay for demand that
 * fits nowhere else.
 */
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
