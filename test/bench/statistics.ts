// The few figures that benchmarks report, and how numbers are written for people.

/** Middle value; the mean of both middle values where their number is even. Throws on nothing: a figure from no sample is a bug. */
export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) throw new RangeError('median of no values');
  return (lower + upper) / 2;
};

/**
 * Nearest-rank percentile: the smallest sample that at least `percent` % of all samples do not exceed.
 * No interpolation, so the result is a latency that a request really had.
 */
export const percentile = (values: Iterable<number>, percent: number): number => {
  if (!(percent > 0 && percent <= 100)) throw new RangeError(`percentile must be within (0, 100], got ${percent}`);
  const sorted = Float64Array.from(values).sort();
  const value = sorted[Math.ceil((percent / 100) * sorted.length) - 1];
  if (value === undefined) throw new RangeError('percentile of no values');
  return value;
};

/** `digits` significant digits with thousands separators, never an exponent: 20,563 · 241 · 4.03. */
export const formatNumber = (value: number, digits = 3): string => {
  if (!Number.isFinite(value)) throw new RangeError(`cannot write ${value} as a figure`);
  return new Intl.NumberFormat('en-US', { maximumSignificantDigits: digits }).format(value);
};

const MEBIBYTE = 1024 * 1024;

/** Whole mebibytes, written as MB like `ps` and `top` readers expect. */
export const formatMegabytes = (bytes: number): string => `${Math.round(bytes / MEBIBYTE)} MB`;
