// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MAX_GROWTH, growthOf, planOf, strategyOf, trendsOf } from '../../e2e/day-plan.ts';
import type { Sample } from '../../e2e/day-plan.ts';

describe('the plan of the compressed day', () => {
  it('has a thousand Nodes and five thousand Pods, and leaves the second half to itself', () => {
    const { nodes, services, podsPerService, hours, leaderChanges, upgrade } = planOf(true);
    expect([nodes, services * podsPerService]).to.deep.equal([1_000, 5_000]);
    expect(Math.max(...leaderChanges, upgrade)).to.be.below(hours / 2);
  });

  it('asks for each planned strategy in one Service of ten', () => {
    const wishes = Array.from({ length: 50 }, (_, service) => strategyOf(service));
    const count = (strategy: string): number => wishes.filter((wish) => wish === strategy).length;
    expect([count('same-zone'), count('proportional'), count('load-aware')]).to.deep.equal([40, 5, 5]);
  });
});

describe('memory of the compressed day', () => {
  const series = (process: string, pid: number, megabytes: readonly number[], from = 0): Sample[] =>
    megabytes.map((value, index) => ({ process, pid, hour: from + index, residentBytes: value * 1e6 }));

  it('is a straight line through the hours of each process that lived through them', () => {
    const samples = [...series('grows', 1, [9, 9, 10, 12, 14]), ...series('flat', 2, [7, 7, 8, 8, 8])];
    const trends = trendsOf(samples, 2).map(({ process, bytesPerHour, samples: count }) => [
      process,
      bytesPerHour,
      count,
    ]);
    expect(trends).to.deep.equal([
      ['grows', 2e6, 3],
      ['flat', 0, 3],
    ]);
  });

  it('leaves out processes that were restarted', () => {
    const samples = [...series('alive', 1, [1, 1, 1]), ...series('other', 2, [1, 1]), ...series('other', 3, [1], 2)];
    expect(trendsOf(samples, 0).map(({ process }) => process)).to.deep.equal(['alive']);
  });

  const cases: { name: string; megabytes: (hour: number) => number; flat: boolean }[] = [
    { name: 'the same every hour', megabytes: () => 150, flat: true },
    { name: 'up and down by a tenth', megabytes: (hour) => 150 + (hour % 2) * 15, flat: true },
    { name: 'falling', megabytes: (hour) => 150 - hour, flat: true },
    { name: 'a megabyte an hour more', megabytes: (hour) => 150 + hour, flat: false },
  ];
  for (const { name, megabytes, flat } of cases) {
    it(`${name}: ${flat ? 'flat' : 'grows'}`, () => {
      const samples = series(
        'one',
        1,
        Array.from({ length: 12 }, (_, hour) => megabytes(hour)),
      );
      const [trend] = trendsOf(samples, 0);
      expect(growthOf(trend!) < MAX_GROWTH).to.equal(flat);
    });
  }
});
