// Tests of what is believed of demand: how it begins, ages and follows the zones.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { aged, exactly, firstBelief, forZones, meanOf } from '../../../../pkg/flow/demand/estimate.ts';

describe('belief', () => {
  it('begins with the whole demand, shared out by weight', () => {
    const belief = firstBelief(['b', 'a'], 4, { a: 3, b: 1 }, 100);
    expect(meanOf(belief)).to.deep.equal({ a: 3, b: 1 });
    expect(belief.time).to.equal(100);
  });

  const weights = [
    { name: 'no weight at all: the same for each zone', weights: {}, expected: { a: 2, b: 2 } },
    { name: 'a zone without weight: nothing', weights: { a: 1 }, expected: { a: 4, b: 0 } },
    {
      name: 'weights of zones that are not asked about do not count',
      weights: { a: 1, b: 1, c: 8 },
      expected: { a: 2, b: 2 },
    },
  ];
  for (const { name, weights: given, expected } of weights) {
    it(name, () => {
      expect(meanOf(firstBelief(['a', 'b'], 4, given, 0))).to.deep.equal(expected);
    });
  }

  it('is as unsure as demand is large, also of a zone that is expected to have none', () => {
    const { covariance } = firstBelief(['a', 'b'], 4, { a: 1 }, 0);
    expect(covariance[0]?.[0]).to.equal(16);
    expect(covariance[1]?.[1]).to.equal(4);
  });

  it('takes a measured demand as it is, with little doubt and nothing for zones that it does not name', () => {
    const belief = exactly(['b', 'a'], { a: 2, z: 9 }, 60);
    expect(belief.time).to.equal(60);
    expect(meanOf(belief)).to.deep.equal({ a: 2, b: 0 });
    expect(belief.covariance[0]?.[0]).to.be.within(0, 0.02);
    expect(belief.covariance[0]?.[1]).to.equal(0);
  });

  it('becomes less sure with time, in proportion to it', () => {
    const belief = firstBelief(['a', 'b'], 4, {}, 0);
    const growth = (time: number): number =>
      (aged(belief, time).covariance[0]?.[0] ?? 0) - (belief.covariance[0]?.[0] ?? 0);
    expect(growth(15)).to.be.greaterThan(0);
    expect(growth(30)).to.be.closeTo(2 * growth(15), 1e-9);
    expect(meanOf(aged(belief, 30)), 'what is expected stays').to.deep.equal(meanOf(belief));
  });

  it('does not grow younger', () => {
    const belief = firstBelief(['a'], 4, {}, 100);
    expect(aged(belief, 90)).to.equal(belief);
  });

  it('keeps what is known when a zone joins or leaves', () => {
    const belief = {
      zones: ['a', 'b'],
      mean: [3, 1],
      covariance: [
        [0.1, 0.02],
        [0.02, 0.2],
      ],
      time: 5,
    };
    const joined = forZones(belief, ['c', 'b', 'a'], { a: 1, b: 1, c: 2 });
    expect(joined.zones).to.deep.equal(['a', 'b', 'c']);
    expect(meanOf(joined)).to.deep.equal({ a: 3, b: 1, c: 2 });
    expect(joined.covariance[0]).to.deep.equal([0.1, 0.02, 0]);
    expect(joined.covariance[2]?.[2], 'a zone that nothing is known of').to.be.at.least(4);
    const left = forZones(belief, ['b'], {});
    expect(left).to.deep.include({ zones: ['b'], mean: [1], covariance: [[0.2]] });
  });

  it('stays as it is for the same zones in another order', () => {
    const belief = firstBelief(['a', 'b'], 4, {}, 0);
    expect(forZones(belief, ['b', 'a'], {})).to.equal(belief);
  });
});
