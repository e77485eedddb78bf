// Tests of the sequential test: how far a load is above the threshold, by the noise of what is known, and what estimates add up to.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { exactly } from '../../../../pkg/flow/demand/estimate.ts';
import { ENOUGH, accumulate, excessOf } from '../../../../pkg/flow/loop/step.ts';

const endpoints = ['a1', 'a2', 'b1'].map((name) => ({ name, zone: name[0] ?? '', capacity: 1 }));
const own = { spread: false, endpoints: [] };
const policy = { upperUtilization: 0.8 };

describe('evidence of a load above the threshold', () => {
  const cases = [
    { name: 'none at the threshold', demand: { a: 1.6, b: 0.1 }, doubt: 0.1, excess: 0 },
    { name: 'the difference by its deviation', demand: { a: 1.76, b: 0.1 }, doubt: 0.1, excess: 0.08 / 0.088 },
    { name: 'the surer the demand, the more', demand: { a: 1.76, b: 0.1 }, doubt: 0.05, excess: 0.08 / 0.044 },
    { name: 'of the endpoint that is furthest above', demand: { a: 1.7, b: 0.9 }, doubt: 0.1, excess: 0.1 / 0.09 },
  ];
  for (const { name, demand, doubt, excess } of cases) {
    it(`is ${name}`, () => {
      expect(excessOf(policy, own, endpoints, exactly(['a', 'b'], demand, 0, doubt))).to.be.closeTo(excess, 1e-9);
    });
  }

  it('counts zones that no endpoint is hinted for on all endpoints', () => {
    const belief = exactly(['a', 'b', 'c'], { a: 1.5, b: 0.1, c: 0.6 }, 0, 0.1);
    expect(excessOf(policy, own, endpoints, belief)).to.be.closeTo(0.15 / Math.hypot(0.075, 0.02), 1e-9);
  });

  it('is enough with one estimate two deviations above, with some that are one above, and never below half a deviation', () => {
    const after = (excess: number, times: number): number =>
      Array.from({ length: times }).reduce<number>((sum) => accumulate(sum, excess, 15), 0);
    expect(after(2, 1)).to.be.at.least(ENOUGH);
    expect(after(1, 2)).to.be.below(ENOUGH);
    expect(after(1, 3)).to.be.at.least(ENOUGH);
    expect(after(0.5, 1_000)).to.be.below(ENOUGH);
  });

  it('grows no faster with estimates that come more often', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.6, max: 4, noNaN: true }), fc.integer({ min: 2, max: 10 }), (excess, parts) => {
        const often = Array.from({ length: parts }).reduce<number>((sum) => accumulate(sum, excess, 15 / parts), 0);
        expect(often).to.be.closeTo(accumulate(0, excess, 15), 1e-9);
      }),
    );
  });
});
