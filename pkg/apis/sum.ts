// Sums.

/** 0 of none. */
export const sumOf = (values: Iterable<number>): number => {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
};

/** The sum of a figure of each item. */
export const sumBy = <T>(items: readonly T[], of: (item: T) => number): number => sumOf(items.map(of));
