// Zone × zone matrices of connections: averages, sums, and what of them stays.
import type { Traffic } from '../../upstream/index.ts';
import type { TrafficShares } from '../prices.ts';
import { byText } from '../../apis/order.ts';

type Cells = Map<string, Map<string, number>>;

/** Adds `matrix` times `factor` to `cells`. */
export const addTo = (cells: Cells, matrix: TrafficShares, factor: number): void => {
  for (const [from, row] of matrix) {
    const own = cells.get(from) ?? new Map<string, number>();
    cells.set(from, own);
    for (const [to, share] of row) own.set(to, (own.get(to) ?? 0) + share * factor);
  }
};

/** Rounding of doubles alone must not look like connections. */
const NOTHING = 1e-9;

/** What sums of doubles leave over, or lack, is nothing. */
export const atLeastNothing = (share: number): number => (share > NOTHING ? share : 0);

/** Mean of what arrives; each adds up to 1. Undefined where nothing arrives at all. */
export const meanMatrix = (traffics: readonly Traffic[]): TrafficShares | undefined => {
  const arriving = traffics.filter(({ lost }) => 1 - lost > NOTHING);
  if (arriving.length === 0) return undefined;
  const cells: Cells = new Map();
  for (const { matrix, lost } of arriving) addTo(cells, matrix, 1 / ((1 - lost) * arriving.length));
  return cells;
};

/** Fraction that stays in its zone; the empty name is no zone. */
export const insideOf = (matrix: TrafficShares): number => {
  let inside = 0;
  for (const [from, row] of matrix) if (from !== '') inside += row.get(from) ?? 0;
  return 1 - atLeastNothing(1 - inside);
};

/** For reports: rows and columns in name order, every zone in both. */
export const plainMatrix = (matrix: TrafficShares): Record<string, Record<string, number>> => {
  const zones = [...new Set([...matrix].flatMap(([from, row]) => [from, ...row.keys()]))].sort(byText);
  const from = zones.filter((zone) => zone !== '' || matrix.has(zone));
  return Object.fromEntries(
    from.map((zone) => [zone, Object.fromEntries(zones.map((to) => [to, matrix.get(zone)?.get(to) ?? 0]))]),
  );
};
