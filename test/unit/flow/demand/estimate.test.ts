// Tests of demand estimation: what hints let one see of demand, and what happens to the rest.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import {
  type LoadRow,
  aged,
  estimateDemand,
  exactly,
  firstEstimate,
  forZones,
  meanOf,
  rowsOf,
} from '../../../../pkg/flow/demand/estimate.ts';
import { hintsOf, sharingOf } from '../../../../pkg/flow/demand/arrivals.ts';
import { normalOf, randomOf } from '../../../bench/loop/random.ts';

const zones = ['a', 'b', 'c'];
const truth = [3, 1.5, 0.8];
const total = truth.reduce((sum, value) => sum + value, 0);

type Hints = Readonly<Record<string, readonly string[]>>;

const endpointsIn = (counts: readonly number[]) =>
  counts.flatMap((count, index) =>
    Array.from({ length: count }, (_, number) => ({ name: `${zones[index]}${number + 1}`, zone: zones[index] ?? '' })),
  );

/** Rows of one round of samples: what the hints make of the true demand, times noise. */
const roundOf = (counts: readonly number[], hints: Hints | 'spread', noise: () => number, capacity = 5): LoadRow[] => {
  const endpoints = endpointsIn(counts);
  const plan =
    hints === 'spread'
      ? { spread: true, endpoints: [] }
      : { spread: false, endpoints: Object.entries(hints).map(([name, served]) => ({ name, forZones: served })) };
  const { sharers, orphans } = sharingOf(zones, endpoints, plan);
  const hinted = hintsOf(plan);
  const samples = endpoints.map((endpoint) => {
    const shares = zones.map((zone, index) =>
      hinted(endpoint).includes(zone) || orphans.includes(zone) ? 1 / (sharers[index] ?? 1) : 0,
    );
    const load = shares.reduce((sum, share, index) => sum + share * (truth[index] ?? 0), 0);
    return { shares, capacity, load: Math.min(capacity, load * noise()) };
  });
  return rowsOf(samples);
};

/** Mean relative error by zone over many rounds, each begun from a weak estimate that all zones are alike. */
const errors = (counts: readonly number[], hints: Hints | 'spread'): { rank: number; errors: number[] } => {
  const normal = normalOf(randomOf(7));
  const sums = [0, 0, 0];
  let rank = 0;
  const rounds = 200;
  for (let round = 0; round < rounds; round += 1) {
    const rows = roundOf(counts, hints, () => Math.max(0, 1 + 0.1 * normal()));
    const update = estimateDemand(firstEstimate(zones, total, {}, 0), rows);
    ({ rank } = update);
    update.estimate.mean.forEach((value, index) => {
      sums[index] = (sums[index] ?? 0) + Math.abs(value / (truth[index] ?? 1) - 1) / rounds;
    });
  }
  return { rank, errors: sums };
};

describe('demand estimation', () => {
  const table: (readonly [name: string, hints: Hints | 'spread', rank: number, most: number[], counts?: number[]])[] = [
    ['no hints: only the total is known, the rest is what was believed', 'spread', 1, [0.45, 0.25, 1.3]],
    ['own zones: everything is known', {}, 3, [0.07, 0.07, 0.07]],
    ['zone a also on one endpoint of b', { b1: ['a', 'b'] }, 3, [0.07, 0.12, 0.07]],
    [
      'zone a on all endpoints of b and c',
      { b1: ['a', 'b'], b2: ['a', 'b'], b3: ['a', 'b'], c1: ['a', 'c'], c2: ['a', 'c'], c3: ['a', 'c'] },
      3,
      [0.08, 0.15, 0.2],
    ],
    [
      'zones a and b share one set: only their sum is known',
      { a1: ['a', 'b'], a2: ['a', 'b'], a3: ['a', 'b'], b1: ['a', 'b'], b2: ['a', 'b'], b3: ['a', 'b'] },
      2,
      [0.3, 0.6, 0.07],
    ],
    ['zone a without endpoints uses all', {}, 2, [0.5, 0.6, 0.9], [0, 3, 3]],
  ];
  for (const [name, hints, rank, most, counts = [3, 3, 3]] of table) {
    it(name, () => {
      const result = errors(counts, hints);
      expect(result.rank, 'rank').to.equal(rank);
      result.errors.forEach((error, index) =>
        expect(error, `mean relative error of zone ${zones[index]}`).to.be.below(most[index] ?? 0),
      );
    });
  }

  const exact = (): number => 1;

  it('keeps proportions that the samples do not show, and follows the total', () => {
    const before = {
      ...firstEstimate(zones, 0, {}, 0),
      mean: [2, 1, 1],
      covariance: [
        [0.4, 0, 0],
        [0, 0.1, 0],
        [0, 0, 0.1],
      ],
    };
    const { estimate, rank } = estimateDemand(before, roundOf([3, 3, 3], 'spread', exact));
    expect(rank).to.equal(1);
    const mean = meanOf(estimate);
    expect(mean['a'] ?? 0, 'the largest zone takes most of the rise').to.be.greaterThan(2);
    expect(mean['b']).to.be.closeTo(mean['c'] ?? 0, 1e-9);
    expect((mean['a'] ?? 0) + (mean['b'] ?? 0) + (mean['c'] ?? 0)).to.be.closeTo(total, 0.15);
  });

  describe('of saturated endpoints', () => {
    const saturated = () => estimateDemand(firstEstimate(zones, 2, {}, 0), roundOf([1, 3, 3], {}, exact, 1), 1.25);

    it('is more than they gave', () => {
      const { estimate, atLeast } = saturated();
      expect(atLeast).to.equal(true);
      expect(estimate.mean[0]).to.be.at.least(1.2);
    });

    it('does not fall while they stay saturated', () => {
      const high = { ...firstEstimate(zones, 6, {}, 0), mean: [3, 1.5, 0.8] };
      const { estimate } = estimateDemand(high, roundOf([1, 3, 3], {}, exact, 1));
      expect(estimate.mean[0]).to.be.closeTo(3, 0.05);
    });

    it('is exact for the zones that are not saturated', () => {
      expect(saturated().estimate.mean[1]).to.be.closeTo(1.5, 0.05);
    });
  });

  it('leaves everything as it was without samples', () => {
    const estimate = firstEstimate(zones, 3, {}, 0);
    expect(estimateDemand(estimate, [])).to.deep.equal({ estimate, rank: 0, atLeast: false, jump: false, fall: false });
  });

  it('is never negative and never invents demand beyond what was measured', () => {
    const counts = fc.tuple(
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
    );
    fc.assert(
      fc.property(counts, fc.integer(), fc.double({ min: 0, max: 1, noNaN: true }), (given, seed, width) => {
        const random = randomOf(seed);
        const rows = roundOf(given, {}, () => 1 + width * (random() - 0.5), 9);
        const measured = rows.reduce((sum, row) => sum + row.load * row.count, 0);
        const { estimate, rank } = estimateDemand(firstEstimate(zones, measured, {}, 0), rows);
        for (const value of estimate.mean) expect(value).to.be.at.least(0);
        expect(estimate.mean.reduce((sum, value) => sum + value, 0)).to.be.closeTo(measured, 0.15 * measured + 1e-6);
        expect(rank).to.be.within(1, zones.length);
        estimate.covariance.forEach((row, index) => expect(row[index], 'variance').to.be.greaterThan(0));
      }),
    );
  });
});

describe('a jump', () => {
  const own = (loads: readonly number[], capacity = 5): LoadRow[] =>
    rowsOf(loads.map((load, index) => ({ load, capacity, shares: zones.map((_, zone) => (zone === index ? 1 : 0)) })));
  const calm = estimateDemand(firstEstimate(zones, 3, {}, 0), own([1, 1, 1])).estimate;

  const rounds = [
    { name: 'load as expected is none', loads: [1, 1, 1], jump: false },
    { name: 'load that is higher by noise is none', loads: [1.1, 1.05, 1], jump: false },
    { name: 'load far above what was expected is one', loads: [2, 1, 1], jump: true },
    { name: 'one zone is enough', loads: [0.5, 0.5, 2.5], jump: true },
    { name: 'load far below what was expected is none', loads: [0.1, 0.1, 0.1], jump: false },
  ];
  for (const { name, loads, jump } of rounds) {
    it(name, () => {
      expect(estimateDemand(aged(calm, 15), own(loads)).jump).to.equal(jump);
    });
  }

  it('is never seen without samples', () => {
    expect(estimateDemand(calm, []).jump).to.equal(false);
  });

  it('is almost never seen in noise', () => {
    const normal = normalOf(randomOf(11));
    let estimate = calm;
    let seen = 0;
    for (let round = 1; round <= 2400; round += 1) {
      const update = estimateDemand(
        aged(estimate, round * 15),
        own([1, 1, 1].map((load) => load * Math.max(0, 1 + 0.06 * normal()))),
      );
      estimate = { ...update.estimate, time: round * 15 };
      if (update.jump) seen += 1;
    }
    expect(seen, 'of 2,400 rounds, ten hours').to.be.at.most(12);
  });
});

const own = [0.5, 0];
const both = [0.5, 1];

describe('rows of samples', () => {
  it('average samples with the same shares', () => {
    const rows = rowsOf([
      { load: 0.4, capacity: 1, shares: own },
      { load: 0.6, capacity: 1, shares: own },
      { load: 0.9, capacity: 1, shares: both },
    ]);
    expect(rows).to.deep.equal([
      { load: 0.5, capacity: 1, shares: own, count: 2, saturated: false },
      { load: 0.9, capacity: 1, shares: both, count: 1, saturated: false },
    ]);
  });

  it('keep endpoints of another capacity apart: they are saturated at another load', () => {
    const rows = rowsOf([
      { load: 1, capacity: 1, shares: own },
      { load: 1, capacity: 2, shares: own },
    ]);
    expect(rows.map(({ saturated }) => saturated)).to.deep.equal([true, false]);
  });

  const saturation = [
    { name: 'just below', load: 0.949, saturated: false },
    { name: 'at 95 %', load: 0.95, saturated: true },
    { name: 'above its capacity, as a burst may be', load: 1.2, saturated: true },
  ];
  for (const { name, load, saturated } of saturation) {
    it(`${saturated ? 'are' : 'are not'} saturated ${name}`, () => {
      expect(rowsOf([{ load, capacity: 1, shares: own }])[0]?.saturated).to.equal(saturated);
    });
  }

  it('are none without samples', () => {
    expect(rowsOf([])).to.deep.equal([]);
  });
});

// Tests of what is believed of demand: how it begins, ages and follows the zones.
describe('estimate', () => {
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
      expect(meanOf(firstEstimate(['a', 'b'], 4, given, 0))).to.deep.equal(expected);
    });
  }

  it('takes a measured demand as it is, with little doubt and nothing for zones that it does not name', () => {
    const estimate = exactly(['b', 'a'], { a: 2, z: 9 }, 60);
    expect(estimate.time).to.equal(60);
    expect(meanOf(estimate)).to.deep.equal({ a: 2, b: 0 });
    expect(estimate.covariance[0]?.[0]).to.be.within(0, 0.02);
    expect(estimate.covariance[0]?.[1]).to.equal(0);
  });

  it('becomes less sure with time, in proportion to it', () => {
    const estimate = firstEstimate(['a', 'b'], 4, {}, 0);
    const growth = (time: number): number =>
      (aged(estimate, time).covariance[0]?.[0] ?? 0) - (estimate.covariance[0]?.[0] ?? 0);
    expect(growth(15)).to.be.greaterThan(0);
    expect(growth(30)).to.be.closeTo(2 * growth(15), 1e-9);
    expect(meanOf(aged(estimate, 30)), 'what is expected stays').to.deep.equal(meanOf(estimate));
  });

  it('does not grow younger', () => {
    const estimate = firstEstimate(['a'], 4, {}, 100);
    expect(aged(estimate, 90)).to.equal(estimate);
  });

  it('keeps what is known when a zone joins or leaves', () => {
    const estimate = {
      zones: ['a', 'b'],
      mean: [3, 1],
      covariance: [
        [0.1, 0.02],
        [0.02, 0.2],
      ],
      time: 5,
    };
    const joined = forZones(estimate, ['c', 'b', 'a'], { a: 1, b: 1, c: 2 });
    expect(joined.zones).to.deep.equal(['a', 'b', 'c']);
    expect(meanOf(joined)).to.deep.equal({ a: 3, b: 1, c: 2 });
    expect(joined.covariance[0]).to.deep.equal([0.1, 0.02, 0]);
    expect(joined.covariance[2]?.[2], 'a zone that nothing is known of').to.be.at.least(4);
    const left = forZones(estimate, ['b'], {});
    expect(left).to.deep.include({ zones: ['b'], mean: [1], covariance: [[0.2]] });
  });

  it('stays as it is for the same zones in another order', () => {
    const estimate = firstEstimate(['a', 'b'], 4, {}, 0);
    expect(forZones(estimate, ['b', 'a'], {})).to.equal(estimate);
  });
});
