// The best in-zone share of a small Service by trying everything, independent of the planner: endpoints alike, three zones.

/** What the endpoints of one zone contribute if they are hinted in one way. */
interface Choice {
  /** How many of them serve each zone. */
  readonly serving: readonly [number, number, number];
  /** Sets of zones that some of them is hinted for, as bits: bit 3 for the set of zones 0 and 1. */
  readonly sets: number;
}

/** Every way to hint `count` endpoints for non-empty sets of zones; which of them gets which makes no difference. */
const choicesFor = (count: number): Choice[] => {
  const found: Choice[] = [];
  const add = (left: number, from: number, serving: readonly [number, number, number], sets: number): void => {
    if (left === 0) {
      found.push({ serving, sets });
      return;
    }
    for (let set = from; set < 8; set += 1) {
      const [a, b, c] = serving;
      add(left - 1, set, [a + (set & 1), b + ((set >> 1) & 1), c + ((set >> 2) & 1)], sets | (1 << set));
    }
  };
  add(count, 1, [0, 0, 0], 0);
  return found;
};

const CHOICES = [0, 1, 2, 3].map(choicesFor);

const fits = (sets: number, a: number, b: number, c: number, limit: number): boolean => {
  for (let set = 1; set < 8; set += 1) {
    if ((sets & (1 << set)) === 0) continue;
    if ((set & 1) * a + ((set >> 1) & 1) * b + ((set >> 2) & 1) * c > limit) return false;
  }
  return true;
};

/**
 * Best in-zone share while no endpoint is above (1 + theta) times the fair share. `counts`: at most three endpoints a zone.
 * No hints always fit.
 */
export const bestInZoneShare = (shares: readonly number[], counts: readonly number[], theta: number): number => {
  const all = shares.reduce((sum, share) => sum + share, 0);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const [da, db, dc] = shares.map((share) => share / all) as [number, number, number];
  const limit = (1 + theta) / total + 1e-9;
  let best = (da * (counts[0] ?? 0) + db * (counts[1] ?? 0) + dc * (counts[2] ?? 0)) / total;
  const [first = [], second = [], third = []] = counts.map((count) => CHOICES[count] ?? []);
  for (const one of first) {
    for (const two of second) {
      for (const three of third) {
        const a = da / (one.serving[0] + two.serving[0] + three.serving[0]);
        const b = db / (one.serving[1] + two.serving[1] + three.serving[1]);
        const c = dc / (one.serving[2] + two.serving[2] + three.serving[2]);
        // A zone without any is served by all, which hinting all for it says as well.
        if (a === Infinity || b === Infinity || c === Infinity) continue;
        const inZone = a * one.serving[0] + b * two.serving[1] + c * three.serving[2];
        if (inZone > best + 1e-9 && fits(one.sets | two.sets | three.sets, a, b, c, limit)) best = inZone;
      }
    }
  }
  return best;
};

/** Shares in ascending order from 1 to 5 that have no common divisor: the others are the same case. */
export const smallShares = (): number[][] => {
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
  const found: number[][] = [];
  for (let a = 1; a <= 5; a += 1) {
    for (let b = a; b <= 5; b += 1) {
      for (let c = b; c <= 5; c += 1) if (divisor(divisor(a, b), c) === 1) found.push([a, b, c]);
    }
  }
  return found;
};

/** Every number of endpoints from none to `most` in each of three zones, but for none at all. */
export const smallCounts = (most: number): number[][] => {
  const found: number[][] = [];
  for (let index = 1; index < (most + 1) ** 3; index += 1) {
    found.push([index % (most + 1), Math.floor(index / (most + 1)) % (most + 1), Math.floor(index / (most + 1) ** 2)]);
  }
  return found;
};
