// Latencies as counts in buckets that are five per cent wide: small enough for every second, every zone and every Service.

/** Requests by bucket. */
export type Latencies = Record<number, number>;

const GROWTH = Math.log(1.05);

/** The bucket of a latency in milliseconds; everything up to a tenth of a millisecond is in the first. */
const bucketOf = (ms: number): number => Math.max(0, Math.ceil(Math.log(Math.max(ms, 0.1) / 0.1) / GROWTH));

export const addLatency = (counts: Latencies, ms: number): void => {
  const bucket = bucketOf(ms);
  counts[bucket] = (counts[bucket] ?? 0) + 1;
};

/** The counts of all. */
export const mergeLatencies = (all: readonly Latencies[]): Latencies => {
  const merged: Latencies = {};
  for (const counts of all) {
    for (const [bucket, count] of Object.entries(counts)) merged[+bucket] = (merged[+bucket] ?? 0) + count;
  }
  return merged;
};

/** The upper end of the bucket that holds the nearest-rank percentile, milliseconds; undefined without a request. */
export const latencyPercentile = (counts: Latencies, percent: number): number | undefined => {
  const buckets = Object.entries(counts).sort(([left], [right]) => Number(left) - Number(right));
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let left = Math.ceil((percent / 100) * total);
  for (const [bucket, count] of buckets) {
    left -= count;
    if (left <= 0) return 0.1 * Math.exp(GROWTH * Number(bucket));
  }
  return undefined;
};
