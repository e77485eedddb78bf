import { expect } from 'chai';
import { describe, it } from 'mocha';
import { bestInZoneShare, smallCounts, smallShares } from '../../../bench/planner/brute-force.ts';
import { problemsOf } from '../../../bench/planner/problems.ts';
import { planHints } from '../../../../pkg/flow/planner.ts';
import { fairProblem } from '../../flow/factories.ts';

describe('planHints, for all Services with up to two endpoints in each of three zones', () => {
  for (const theta of [0, 0.1, 0.2, 0.3, 0.5, 1]) {
    it(`is the best of all choices at theta ${theta}`, () => {
      for (const shares of smallShares()) {
        for (const counts of smallCounts(2)) {
          const plan = planHints(fairProblem(shares, counts, theta));
          const where = `shares ${shares.join(':')}, endpoints ${counts.join(',')}`;
          expect(plan.overload, where).to.equal(0);
          expect(plan.inZoneShare, where).to.be.closeTo(bestInZoneShare(shares, counts, theta), 1e-8);
        }
      }
    });
  }

  it('is checked against cases that are easy to see', () => {
    // Even; then nobody may be above the mean, and only spread does that; then two zones of two endpoints each.
    expect(bestInZoneShare([1, 1, 1], [1, 1, 1], 0)).to.equal(1);
    expect(bestInZoneShare([1, 1, 1], [1, 0, 0], 0)).to.be.closeTo(1 / 3, 1e-12);
    expect(bestInZoneShare([1, 1, 1], [2, 1, 0], 0)).to.be.closeTo(2 / 3, 1e-12);
    expect(bestInZoneShare([1, 2, 2], [3, 2, 2], 0.4)).to.equal(1);
  });
});

describe('bench/planner', () => {
  const shape = { name: '', zones: 3, endpoints: 9, capacities: [1], problems: 4 };

  it('makes the same problems in every run, with room for all demand', () => {
    const problems = problemsOf(shape);
    expect(problems).to.deep.equal(problemsOf(shape));
    for (const { endpoints, demand } of problems) {
      const total = Object.values(demand).reduce((sum, cores) => sum + cores, 0);
      expect(endpoints).to.have.length(9);
      expect(total / 9).to.be.within(0.4, 0.65);
    }
  });
});
