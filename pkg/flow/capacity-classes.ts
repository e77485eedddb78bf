// Which capacities count as one: a plan's effort grows with their number, and the authors of CPU requests decide how many there are.

/** How many capacities are distinguished in all, and in one zone at most and at least. */
const MOST_IN_ALL = 192;
const MOST = 24;
const LEAST = 4;

/** How many capacities are distinguished in each of so many pools of endpoints, mostly zones. */
export const capacitiesFor = (pools: number): number =>
  Math.min(MOST, Math.max(LEAST, Math.floor(MOST_IN_ALL / Math.max(1, pools))));

/** From the smallest on: each takes in all that are larger by no more than this factor. `sorted` holds every value once. */
const cover = (sorted: readonly number[], factor: number): number[] => {
  const smallest: number[] = [];
  for (const value of sorted) if (value > (smallest.at(-1) ?? 0) * factor) smallest.push(value);
  return smallest;
};

/** Halvings of the range that the factor lies in: beyond them doubles do not distinguish two factors. */
const HALVINGS = 50;

/** Makes largest / smallest a factor that certainly reaches the largest: the quotient and the product are each rounded. */
const ROUNDING = 1 + 2 * Number.EPSILON;

/**
 * The smallest capacity of each class, in order: all different ones where there are no more than `most`, else the classes
 * whose largest is least far above its smallest. Between the smallest and the largest of all, no class spans more than
 * (largest / smallest)^(1 / most): where they differ by a factor of 2 and 24 are distinguished, 2.9 %.
 */
export const capacityClasses = (capacities: readonly number[], most: number): number[] => {
  const sorted = [...new Set(capacities)].sort((a, b) => a - b);
  if (sorted.length <= most) return sorted;
  let [low, high] = [1, ((sorted.at(-1) ?? 1) / (sorted[0] ?? 1)) * ROUNDING];
  for (let halving = 0; halving < HALVINGS; halving += 1) {
    const middle = Math.sqrt(low * high);
    if (cover(sorted, middle).length <= most) high = middle;
    else low = middle;
  }
  return cover(sorted, high);
};

/** What a capacity counts as: the smallest of its class, so that no plan asks an endpoint for more than it has. */
export const roundedDown = (capacity: number, classes: readonly number[]): number =>
  classes.findLast((smallest) => smallest <= capacity) ?? capacity;
