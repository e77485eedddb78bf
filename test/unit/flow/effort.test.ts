// The search ends: what it may look at is counted, and what it found until then is a plan.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { compile } from '../../../pkg/flow/compile.ts';
import { evaluatePlan } from '../../../pkg/flow/evaluate.ts';
import { planHints } from '../../../pkg/flow/planner.ts';
import { isAllowed } from '../../../pkg/flow/problem.ts';
import { solve } from '../../../pkg/flow/solve.ts';
import { hostileProblem, problems } from './factories.ts';

/** An attempt that was begun is ended: so many looks it takes at the most. */
const oneAttempt = ({ classes, demand }: ReturnType<typeof compile>['problem']): number =>
  4 * Math.max(1, classes.length) * Math.max(8, demand.length) * 8;

describe('the effort of a plan', () => {
  const hard = fc
    .record({
      zones: fc.constantFrom(2, 3, 8),
      endpoints: fc.constantFrom(30, 100),
      seed: fc.nat(),
      // Around what the target allows it is hardest.
      load: fc.constantFrom(0.6, 0.68, 0.8),
      largest: fc.constantFrom(2, 100),
    })
    .map(hostileProblem);

  it('is no more than it may be, whatever capacities owners choose', () => {
    fc.assert(
      fc.property(hard, fc.constantFrom(0, 1_000, 100_000), (input, effort) => {
        const { problem, roomiest } = compile({ ...input, effort });
        const { solution } = solve(problem, { roomiest });
        // What is left may be below zero by the attempts that noticed it.
        expect(problem.effort.left).to.be.at.least(-40 * oneAttempt(problem));
        expect(isAllowed(problem, solution.groups)).to.equal(true);
      }),
      { numRuns: 12 },
    );
  });

  it('ends in a plan that is not worse than no hints and says that it was cut short', () => {
    const input = hostileProblem({ zones: 8, endpoints: 200, seed: 5, load: 0.66, largest: 4 });
    const spread = evaluatePlan(input);
    for (const effort of [0, 10_000, 200_000]) {
      const plan = planHints({ ...input, effort });
      expect(plan.cutShort, `effort ${effort}`).to.equal(true);
      expect(plan.exact).to.equal(false);
      expect(plan.overload).to.be.at.most(spread.overload + 1e-9);
    }
  });

  it('is not cut short where a bound proves the plan, or nothing is to be planned', () => {
    fc.assert(
      fc.property(problems({ zones: 3, endpoints: 9 }), (input) => {
        const plan = planHints(input);
        expect(plan.cutShort).to.equal(false);
      }),
      { numRuns: 20 },
    );
    expect(planHints({ endpoints: [], demand: {}, targetUtilization: 1, effort: 0 }).cutShort).to.equal(false);
  });

  it('decides alone: the same effort finds the same plan', () => {
    const input = hostileProblem({ zones: 3, endpoints: 100, seed: 9, load: 0.66, largest: 4 });
    expect(planHints({ ...input, effort: 50_000 })).to.deep.equal(planHints({ ...input, effort: 50_000 }));
  });
});
