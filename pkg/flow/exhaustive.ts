// The optimum of small problems: all numbers of endpoints per zone, and for each the cheapest distribution of zones over endpoints.
import { EPSILON, MAX_ZONES, compareFigures } from './problem.ts';
import type { Figures, Group, Problem, Solution } from './problem.ts';

interface DistributionInput {
  readonly problem: Problem;
  readonly slots: readonly Slot[];
  readonly served: readonly number[];
  /** Only without any overload. */
  readonly within: boolean;
}

/** What one slot may serve, and at what price. */
interface Option {
  readonly mask: number;
  readonly step: number;
  readonly overload: number;
  readonly price: number;
}

/** So little that no saving is given up for it: one endpoint more or less that changes. */
const CHANGE = EPSILON / 1000;
const NOISE = CHANGE / 100;

/** States: how many endpoints serve each zone so far, as one number; the last one is the goal. */
const spaceOf = (served: readonly number[]) => {
  const strides: number[] = [];
  let size = 1;
  for (const count of served) {
    strides.push(size);
    size *= count + 1;
  }
  /** By state: zones that have all they need, as bits; and the most that any zone still needs. */
  const [full, open] = [new Uint32Array(size), new Uint16Array(size)];
  for (let state = 0; state < size; state += 1) {
    served.forEach((count, zone) => {
      const missing = count - (Math.floor(state / (strides[zone] ?? 1)) % (count + 1));
      if (missing === 0) full[state] = (full[state] ?? 0) | (1 << zone);
      else open[state] = Math.max(open[state] ?? 0, missing);
    });
  }
  return { strides, size, full, open };
};

type Space = ReturnType<typeof spaceOf>;

const bitsOf = (mask: number): number => {
  let bits = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) bits += 1;
  return bits;
};

const optionsOf = (
  { problem, served, within }: DistributionInput,
  strides: readonly number[],
  slot: Slot,
): Option[] => {
  const options: Option[] = [];
  for (let mask = slot.idle ? 0 : 1; mask < 1 << served.length; mask += 1) {
    if (bitsOf(mask) > MAX_ZONES) continue;
    let [load, price, step] = [0, 0, 0];
    for (let zone = 0; zone < served.length; zone += 1) {
      if ((mask & (1 << zone)) === 0) continue;
      const rate = (problem.demand[zone] ?? 0) / (served[zone] ?? 1);
      load += rate;
      price += rate * (problem.cost[zone]?.[slot.kind] ?? 0);
      step += strides[zone] ?? 0;
    }
    const above = load - slot.limit;
    if (within && above > EPSILON) continue;
    if (mask !== slot.current) price += CHANGE;
    options.push({ mask, step, price, overload: above > EPSILON ? above : 0 });
  }
  return options;
};

/** Overload and price of the best way to each state. */
const emptyLayer = (size: number) => ({
  overload: new Float64Array(size).fill(Infinity),
  price: new Float64Array(size).fill(Infinity),
});

type Layer = ReturnType<typeof emptyLayer>;

/** One endpoint more: `left` are still to come, this one included. Notes in `chosen` what it serves on the best way to each state. */
const advance = (space: Space, before: Layer, usable: readonly Option[], left: number, chosen: Uint8Array): Layer => {
  const after = emptyLayer(space.size);
  for (let state = 0; state < space.size; state += 1) {
    const overload = before.overload[state] ?? Infinity;
    if (overload === Infinity || (space.open[state] ?? 0) > left) continue;
    const price = before.price[state] ?? 0;
    const full = space.full[state] ?? 0;
    for (const option of usable) {
      if ((option.mask & full) !== 0) continue;
      const target = state + option.step;
      const difference = overload + option.overload - (after.overload[target] ?? Infinity);
      const total = price + option.price;
      if (difference > EPSILON) continue;
      if (difference >= -EPSILON && total >= (after.price[target] ?? Infinity) - NOISE) continue;
      after.overload[target] = overload + option.overload;
      after.price[target] = total;
      chosen[target] = option.mask;
    }
  }
  return after;
};

/** Undefined if there is none, or with `within` none without overload; `masks`: by slot, zones as bits. */
const distribute = (input: DistributionInput) => {
  const { slots, served } = input;
  const space = spaceOf(served);
  const { size, strides } = space;
  let layer = emptyLayer(size);
  layer.overload[0] = 0;
  layer.price[0] = 0;
  const chosen = new Uint8Array(size * slots.length);
  let usable: Option[] = [];
  slots.forEach((slot, index) => {
    const before = slots[index - 1];
    if (before?.kind !== slot.kind || before.current !== slot.current) usable = optionsOf(input, strides, slot);
    layer = advance(space, layer, usable, slots.length - index, chosen.subarray(index * size, (index + 1) * size));
  });
  const overload = layer.overload[size - 1] ?? Infinity;
  if (overload === Infinity) return undefined;
  // Back from the goal: what each slot serves.
  const masks: number[] = [];
  let state = size - 1;
  for (let index = slots.length - 1; index >= 0; index -= 1) {
    const mask = chosen[index * size + state] ?? 0;
    masks[index] = mask;
    for (let zone = 0; zone < served.length; zone += 1) if ((mask & (1 << zone)) !== 0) state -= strides[zone] ?? 0;
  }
  const changes = slots.reduce((sum, { current }, index) => sum + (masks[index] === current ? 0 : 1), 0);
  return { overload, cost: (layer.price[size - 1] ?? 0) - changes * CHANGE, changes, masks };
};

/** Endpoints one by one; those of a class in the order of the hints in force. `current`: zones it is hinted for now, as bits; -1 for none. */
const slotsOf = (problem: Problem, inForce: readonly Group[]) =>
  problem.classes.flatMap(({ count, limit, idle }, kind) => {
    const hinted = inForce
      .filter((group) => group.kind === kind)
      .flatMap((group) =>
        Array.from({ length: group.count }, () => group.zones.reduce((mask, zone) => mask | (1 << zone), 0)),
      );
    return Array.from({ length: count }, (_, index) => ({ kind, limit, idle, current: hinted[index] ?? -1 }));
  });

type Slot = ReturnType<typeof slotsOf>[number];

/** Least overload and cost if the zones are served by so many endpoints, whichever they are. */
const leastFigures = (problem: Problem, served: readonly number[], limits: readonly number[]): Figures => {
  let overload =
    1 - limits.reduce((sum, limit) => sum + limit, 0) - (1 - problem.demand.reduce((sum, one) => sum + one, 0));
  let cost = 0;
  served.forEach((count, zone) => {
    const rate = (problem.demand[zone] ?? 0) / count;
    let above = 0;
    for (let index = 0; index < count; index += 1) above += Math.max(0, rate - (limits[index] ?? 0));
    overload = Math.max(overload, above);
    let open = count;
    for (const kind of problem.cheapest[zone] ?? []) {
      const taken = Math.min(open, problem.classes[kind]?.count ?? 0);
      cost += taken * rate * (problem.cost[zone]?.[kind] ?? 0);
      open -= taken;
    }
  });
  return { overload: overload > EPSILON ? overload : 0, cost };
};

/** Every combination of endpoints per zone that might be as good as the incumbent, the most promising first. */
const candidatesOf = (problem: Problem, incumbent: Figures) => {
  const each = problem.classes.flatMap(({ limit, count }) => Array.from({ length: count }, () => limit));
  const limits = each.sort((a, b) => b - a);
  const found: (Figures & { readonly served: readonly number[] })[] = [];
  const served = problem.demand.map(() => problem.minEndpoints);
  for (;;) {
    const least = leastFigures(problem, served, limits);
    if (compareFigures(least, incumbent) <= 0) found.push({ ...least, served: [...served] });
    let zone = 0;
    while (zone < served.length && served[zone] === problem.total) {
      served[zone] = problem.minEndpoints;
      zone += 1;
    }
    if (zone === served.length) break;
    served[zone] = (served[zone] ?? 0) + 1;
  }
  return found.sort((a, b) => compareFigures(a, b));
};

const groupsOf = (slots: readonly Slot[], masks: readonly number[], zones: number): Group[] => {
  const chosen = slots.map(({ kind }, index) => ({ kind, mask: masks[index] ?? 0 }));
  const alike = [...Map.groupBy(chosen, ({ kind, mask }) => `${kind} ${mask}`).values()];
  const listed = (mask: number): number[] =>
    Array.from({ length: zones }, (_, zone) => zone).filter((zone) => (mask & (1 << zone)) !== 0);
  return alike.flatMap((own) =>
    own.slice(0, 1).map(({ kind, mask }) => ({ kind, zones: listed(mask), count: own.length })),
  );
};

/** Whether all combinations are few enough to look at. */
export const isSmall = ({ demand, total }: Problem): boolean => demand.length <= 5 && total ** demand.length <= 20_000;

/**
 * Searches over how many endpoints serve each zone, by lower bound. For fixed numbers the load and cost of an endpoint
 * depend on its own zones only, so a dynamic programme over the endpoints finds the best distribution.
 */
export const exhaustive = (
  problem: Problem,
  options: {
    /** Best plan so far: only what is better is looked at. */
    readonly incumbent: Solution;
    /** Hints in force by class, with which fewer changes are preferred among plans that are equally good. */
    readonly inForce?: readonly Group[] | undefined;
    /** Steps of the search; one takes some nanoseconds. */
    readonly budget: number;
  },
  // `complete`: everything was looked at, and nothing is better.
): { readonly solution: Solution; readonly complete: boolean } => {
  const { incumbent, inForce = [], budget } = options;
  const slots = slotsOf(problem, inForce);
  let best: Solution & { readonly changes: number } = { ...incumbent, changes: Infinity };
  let left = budget;
  for (const { served, overload, cost } of candidatesOf(problem, incumbent)) {
    const order = compareFigures({ overload, cost }, best);
    // Equally good ones matter only for how many endpoints change.
    if (order > 0 || (order === 0 && (inForce.length === 0 || best.changes === 0))) break;
    const size = served.reduce((product, count) => product * (count + 1), slots.length * 2 ** served.length);
    left -= size;
    if (left < 0) return { solution: best, complete: false };
    const found = distribute({ problem, slots, served, within: best.overload <= EPSILON });
    if (found === undefined) continue;
    const better = compareFigures(found, best) || found.changes - best.changes;
    if (better < 0 && (best.changes < Infinity || inForce.length > 0 || compareFigures(found, best) < 0)) {
      const { overload: over, cost: paid, changes } = found;
      best = { overload: over, cost: paid, changes, groups: groupsOf(slots, found.masks, served.length) };
    }
  }
  return { solution: best, complete: true };
};
