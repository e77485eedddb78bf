// From sums to means, and what must hold for them.
import type { PlanSums, Sums, Tally } from './tally.ts';
import type { KepResults, Means, PassResults } from './types.ts';

const meansOf = ({ cases, worst, ...sums }: Sums): Means => ({
  inZone: sums.inZone / cases,
  maxDeviation: sums.maxDeviation / cases,
  deviationScore: sums.deviationScore / cases,
  score: sums.score / cases,
  spread: (100 * sums.spread) / cases,
  worst,
});

const plansOf = (plans: Readonly<Record<string, PlanSums>>): PassResults['plans'] =>
  Object.entries(plans)
    .map(([theta, sums]) => ({
      ...meansOf(sums),
      theta: Number(theta),
      lp: sums.lp / sums.cases,
      integrality: sums.integrality / sums.cases,
      above: sums.above,
      doubtfulSpread: sums.doubtfulSpread,
      unproven: sums.unproven,
    }))
    .sort((a, b) => a.theta - b.theta);

export const resultsOf = (tally: Tally, every: number): PassResults => {
  const plans = plansOf(tally.plans);
  return {
    every,
    cases: tally.cases,
    spread: meansOf(tally.spread),
    sameZone: meansOf(tally.sameZone),
    upstream: meansOf(tally.upstream),
    plans,
    ...(tally.byScore === undefined ? {} : { byScore: meansOf(tally.byScore) }),
    ceiling: tally.ceiling / tally.cases,
    planMicroseconds: (1e6 * tally.planSeconds) / (tally.cases * plans.length),
  };
};

export interface Check {
  readonly name: string;
  readonly holds: boolean;
  readonly found: string;
}

/** 401st, 4001st, 2nd, 3rd, 11th. */
export const ordinal = (value: number): string => {
  const teen = value % 100 >= 11 && value % 100 <= 13;
  return `${value}${(teen ? undefined : ['', 'st', 'nd', 'rd'][value % 10]) || 'th'}`;
};

const points = (value: number): string => value.toFixed(4);

/** The targets of the planner on this benchmark. */
export const checksOf = ({ grid, sample }: Pick<KepResults, 'grid' | 'sample'>): Check[] => {
  const [plan, sampled] = [grid, sample].map(({ plans }) => plans.find(({ theta }) => theta === 0.2));
  if (plan === undefined || sampled === undefined) throw new Error('there are no figures at theta 0.2');
  const [toLp, toIntegrality] = [plan.lp - plan.inZone, sampled.integrality - sampled.inZone];
  const byScore = (sample.byScore?.score ?? 0) - sample.upstream.score;
  return [
    { name: 'theta 0.2: in-zone share within 0.3 points of the LP bound', holds: toLp <= 0.3, found: points(toLp) },
    { name: 'theta 0.2: no case above theta', holds: plan.above === 0, found: String(plan.above) },
    {
      name: 'theta 0.2: no spread unless proven that no hints within theta do better',
      holds: plan.doubtfulSpread === 0,
      found: String(plan.doubtfulSpread),
    },
    {
      name: `theta 0.2, every ${ordinal(sample.every)}: within 0.01 points of the integrality bound`,
      holds: toIntegrality <= 0.01,
      found: points(toIntegrality),
    },
    {
      name: `by score, every ${ordinal(sample.every)}: 0.1 above upstream's algorithm`,
      holds: byScore >= 0.1,
      found: points(byScore),
    },
  ];
};
