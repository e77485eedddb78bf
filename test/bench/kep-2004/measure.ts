// The simulator's figures of one case: share of the traffic that stays in its zone, deviation from the fair load, score.
import { type Group, type Problem, servedBy } from '../../../pkg/flow/problem.ts';

export interface Measured {
  /** Fraction of the traffic. */
  readonly inZone: number;
  /** Load of the busiest endpoint above its fair share, as a fraction of that. */
  readonly maxDeviation: number;
  /** Mean of the distances from the fair share, as a fraction of that. */
  readonly meanDeviation: number;
}

export const measure = ({ demand, classes, total }: Problem, groups: readonly Group[]): Measured => {
  const problem = { demand };
  const served = servedBy(problem, groups);
  let everywhere = 0;
  let inZone = 0;
  served.forEach((count, zone) => {
    if (count > 0) return;
    const rate = (demand[zone] ?? 0) / total;
    everywhere += rate;
    for (const kind of classes) if (kind.zone === zone) inZone += rate * kind.count;
  });
  let most = 0;
  let sum = 0;
  for (const { kind, zones, count } of groups) {
    let load = everywhere;
    for (const zone of zones) {
      const rate = (demand[zone] ?? 0) / (served[zone] ?? 1);
      load += rate;
      if (classes[kind]?.zone === zone) inZone += rate * count;
    }
    const deviation = load * total - 1;
    most = Math.max(most, deviation);
    sum += Math.abs(deviation) * count;
  }
  return { inZone, maxDeviation: most, meanDeviation: sum / total };
};

export const deviationScore = ({ maxDeviation, meanDeviation }: Measured): number =>
  100 - 50 * (maxDeviation + meanDeviation);

/** Weights 45, 40 and 15 %; hints add no slices, so that part, for which the published algorithms lose points, is full. */
export const scoreOf = (measured: Measured): number => 45 * measured.inZone + 0.4 * deviationScore(measured) + 15;
