// SPDX-License-Identifier: Apache-2.0
// What endpoints can really serve, learned from how their latency grows with their load.

/** One endpoint in one window. */
export interface LatencySample {
  /** Load by the capacity that is configured, as a fraction. */
  readonly utilization: number;
  /** Mean of the answers in the window, seconds. */
  readonly latency: number;
  /** End of the window, seconds. */
  readonly sampledAt: number;
}

/** What is remembered of samples: sums of a least-squares fit in which older ones count less. */
export interface LatencyCurve {
  /** End of the newest window that was counted, seconds. */
  readonly at: number;
  readonly weight: number;
  /** Weighted sums of utilisation and of 1 / latency, of their squares and of their product. */
  readonly sums: {
    readonly x: number;
    readonly y: number;
    readonly xx: number;
    readonly yy: number;
    readonly xy: number;
  };
  /** Of the configured capacity, what endpoints can serve; 1 until samples show less. */
  readonly factor: number;
}

/** After so many seconds a sample counts half: what runs in the Pods may be another by then. */
const HALF_LIFE_SECONDS = 3_600;
const [ENOUGH_SAMPLES, ENOUGH_SPREAD, LINEAR] = [30, 0.08, 0.8];
/** Below it a fit is no capacity any more: what is slow at a fifth of its CPU waits for something else. */
const LEAST_FACTOR = 0.2;
/** Capacity changes in steps, and only when the fit has left the last by more than half of one: each change is a new plan. */
const [FACTOR_STEP, FACTOR_SLACK] = [0.05, 0.075];

const EMPTY: LatencyCurve = { at: -Infinity, weight: 0, sums: { x: 0, y: 0, xx: 0, yy: 0, xy: 0 }, factor: 1 };

const isUsable = ({ utilization, latency }: LatencySample): boolean =>
  Number.isFinite(utilization) && utilization >= 0 && latency > 0 && latency < Infinity && 1 / latency < Infinity;

/**
 * Utilisation at which latency would grow without bound; undefined where the samples do not show it. A queue answers in
 * service / (1 − load / capacity) on average, so 1 / latency falls linearly with load, and is 0 at the capacity.
 */
const saturationOf = ({ weight, sums }: Pick<LatencyCurve, 'weight' | 'sums'>): number | undefined => {
  if (weight < ENOUGH_SAMPLES) return undefined;
  const [x, y] = [sums.x / weight, sums.y / weight];
  const [xx, yy, xy] = [sums.xx / weight - x * x, sums.yy / weight - y * y, sums.xy / weight - x * y];
  const falls = xy < 0 && xx >= ENOUGH_SPREAD ** 2 && yy > 0 && (xy * xy) / (xx * yy) >= LINEAR;
  return falls ? x - (y * xx) / xy : undefined;
};

const factorOf = (saturation: number | undefined, before: number): number => {
  if (saturation === undefined) return before;
  const wanted = Math.min(1, Math.max(LEAST_FACTOR, saturation));
  if (Math.abs(wanted - before) < FACTOR_SLACK) return before;
  return Math.round(wanted / FACTOR_STEP) * FACTOR_STEP;
};

/**
 * Counts samples that are newer than what was counted. Capacity is never learned to be above the configured one: what a Pod gets
 * beyond its requests is not its own.
 */
export const withLatencies = (before: LatencyCurve | undefined, samples: readonly LatencySample[]): LatencyCurve => {
  const curve = before ?? EMPTY;
  const fresh = samples.filter((sample) => isUsable(sample) && sample.sampledAt > curve.at);
  if (fresh.length === 0) return curve;
  const at = Math.max(...fresh.map(({ sampledAt }) => sampledAt));
  const kept = curve.weight === 0 ? 0 : 0.5 ** ((at - curve.at) / HALF_LIFE_SECONDS);
  const sum = (value: (x: number, y: number) => number): number =>
    fresh.reduce((all, { utilization, latency }) => all + value(utilization, 1 / latency), 0);
  const sums = {
    x: kept * curve.sums.x + sum((x) => x),
    y: kept * curve.sums.y + sum((_, y) => y),
    xx: kept * curve.sums.xx + sum((x) => x * x),
    yy: kept * curve.sums.yy + sum((_, y) => y * y),
    xy: kept * curve.sums.xy + sum((x, y) => x * y),
  };
  const weight = kept * curve.weight + fresh.length;
  return { at, weight, sums, factor: factorOf(saturationOf({ weight, sums }), curve.factor) };
};
