// Compares the planner with trying everything, for all Services with at most three endpoints in each of three zones.
import { planHints } from '../../../pkg/flow/planner.ts';
import { bestInZoneShare, smallCounts, smallShares } from './brute-force.ts';

const THETAS = [0, 0.1, 0.2, 0.3, 0.5, 1];
const NAMES = ['a', 'b', 'c'];

const planned = (shares: readonly number[], counts: readonly number[], theta: number): ReturnType<typeof planHints> => {
  const all = shares.reduce((sum, share) => sum + share, 0);
  const total = counts.reduce((sum, count) => sum + count, 0);
  return planHints({
    endpoints: counts.flatMap((count, zone) =>
      Array.from({ length: count }, (_, index) => ({
        name: `${NAMES[zone]}${index}`,
        zone: NAMES[zone] ?? '',
        capacity: 1,
      })),
    ),
    demand: Object.fromEntries(shares.map((share, zone) => [NAMES[zone], (share * total) / all])),
    targetUtilization: 1 + theta,
  });
};

/** Lines to print; throws at the first case in which the planner is not as good as the best of all choices. */
export const verify = (): string[] =>
  THETAS.map((theta) => {
    let [cases, sum, tight] = [0, 0, 0];
    for (const shares of smallShares()) {
      for (const counts of smallCounts(3)) {
        const plan = planned(shares, counts, theta);
        const best = bestInZoneShare(shares, counts, theta);
        const where = `shares ${shares.join(':')}, endpoints ${counts.join(',')}, theta ${theta}`;
        if (plan.overload > 0) throw new Error(`${where}: ${plan.overload} above the target`);
        if (Math.abs(plan.inZoneShare - best) > 1e-8)
          throw new Error(`${where}: ${plan.inZoneShare} instead of ${best}`);
        if (plan.bounds.integrality < best - 1e-8)
          throw new Error(`${where}: the bound ${plan.bounds.integrality} is below ${best}`);
        cases += 1;
        sum += plan.inZoneShare;
        if (plan.bounds.integrality < best + 1e-8) tight += 1;
      }
    }
    const mean = (sum / cases).toFixed(4);
    return `theta ${theta}: the optimum in all ${cases} cases, mean in-zone share ${mean}, on the bound in ${((100 * tight) / cases).toFixed(1)} %`;
  });
