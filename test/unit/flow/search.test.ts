// The steps of the search: each keeps the limits it promises, and none is worse than what it started from.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { descend, localSearch, solve } from '../../../pkg/flow/solve.ts';
import { exhaustive, isSmall } from '../../../pkg/flow/exhaustive.ts';
import {
  EPSILON,
  bestOf,
  compareFigures,
  createProblem,
  hintedExplicitly,
  isAllowed,
  sameZoneGroups,
  servedBy,
  solutionOf,
  spreadGroups,
} from '../../../pkg/flow/problem.ts';
import type { Group, Problem } from '../../../pkg/flow/problem.ts';
import { realize, waterfall } from '../../../pkg/flow/fit.ts';

/** Problems in numbers: shares of the demand, and classes of one or more capacities in each zone. */
const numbers = (zones: number, most: number): fc.Arbitrary<Problem> =>
  fc
    .record({
      shares: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: zones, maxLength: zones }),
      counts: fc.array(fc.tuple(fc.nat({ max: most }), fc.nat({ max: most >> 1 })), {
        minLength: zones,
        maxLength: zones,
      }),
      room: fc.constantFrom(1, 1.1, 1.3, 2),
    })
    .filter(({ counts }) => counts.some(([small, large]) => small + large > 0))
    .map(({ shares, counts, room }) => {
      const total = shares.reduce((sum, share) => sum + share, 0);
      const capacity = counts.reduce((sum, [small, large]) => sum + small + 2 * large, 0);
      const classes = counts.flatMap(([small, large], zone) => [
        { zone, count: small, limit: room / capacity, idle: false },
        { zone, count: large, limit: (2 * room) / capacity, idle: false },
      ]);
      return createProblem({
        demand: shares.map((share) => share / total),
        classes: classes.filter(({ count }) => count > 0),
        minEndpoints: 1,
      });
    });

const NOTHING = { groups: [], overload: Infinity, cost: Infinity };

/** All endpoints are there, and each is hinted. */
const expectComplete = (problem: Problem, groups: readonly Group[]): void => {
  problem.classes.forEach(({ count }, kind) => {
    expect(groups.reduce((sum, group) => (group.kind === kind ? sum + group.count : sum), 0)).to.equal(count);
  });
  for (const { zones } of groups) expect(zones).to.have.lengthOf.within(1, 8);
};

describe('flow/realize', () => {
  it('gives each zone at least as many as asked for, within all limits, or says where it got stuck', () => {
    const input = fc.tuple(numbers(4, 6), fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 4, maxLength: 4 }));
    fc.assert(
      fc.property(input, ([problem, wanted]) => {
        const asked = wanted.map((count) => Math.min(count, problem.total));
        const result = realize(problem, asked);
        if (result.kind === 'stuck') {
          expect(result.zone).to.be.within(0, 3);
          return;
        }
        expectComplete(problem, result.groups);
        expect(solutionOf(problem, result.groups).overload).to.equal(0);
        servedBy(problem, result.groups).forEach((count, zone) => expect(count).to.be.at.least(asked[zone]!));
      }),
    );
  });

  it('takes own endpoints first, and of the others those that are filled best', () => {
    const problem = createProblem({
      demand: [0.6, 0.1, 0.3],
      classes: [0, 1, 2].map((zone) => ({ zone, count: 2, limit: 0.25, idle: false })),
      minEndpoints: 1,
    });
    expect(realize(problem, [3, 2, 2])).to.deep.equal({
      kind: 'fits',
      groups: [
        { kind: 0, count: 2, zones: [0] },
        { kind: 1, count: 1, zones: [0, 1] },
        { kind: 2, count: 2, zones: [2] },
        { kind: 1, count: 1, zones: [1] },
      ],
    });
  });
});

describe('flow/waterfall and flow/descent', () => {
  it('find only plans within the limits, and with as many tries as it takes none better than exhaustive search', () => {
    fc.assert(
      fc.property(numbers(3, 3), (problem) => {
        const spread = solutionOf(problem, spreadGroups(problem));
        const best = exhaustive(problem, { incumbent: spread, budget: Infinity }).solution;
        for (const found of [waterfall(problem, NOTHING, 1_000), descend(problem)]) {
          if (found === undefined) continue;
          expectComplete(problem, found.groups);
          expect(found.overload).to.equal(0);
          expect(compareFigures(best, found)).to.be.at.most(0);
        }
      }),
      { numRuns: 60, seed: -1170271681, path: '51' },
    );
  });

  it('finds nothing where nothing beats the incumbent', () => {
    const problem = createProblem({
      demand: [0.5, 0.5],
      classes: [0, 1].map((zone) => ({ zone, count: 2, limit: 0.3, idle: false })),
      minEndpoints: 1,
    });
    const own = solutionOf(problem, sameZoneGroups(problem)!);
    expect(own).to.include({ overload: 0, cost: 0 });
    expect(waterfall(problem, own, 100)).to.equal(undefined);
  });

  it('descends from too many endpoints to the last one that fits', () => {
    const classes = [0, 1].map((zone) => ({ zone, count: 400, limit: 1.2 / 800, idle: false }));
    const problem = createProblem({ demand: [0.8, 0.2], classes, minEndpoints: 1 });
    // 0.8 of the demand needs 534 endpoints with 1.2 times the fair share each.
    expect(servedBy(problem, descend(problem)!.groups)[0]).to.equal(534);
  });
});

describe('flow/exhaustive', () => {
  const problem = createProblem({
    demand: [0.2, 0.4, 0.4],
    classes: [3, 2, 2].map((count, zone) => ({ zone, count, limit: 1.2 / 7, idle: false })),
    minEndpoints: 1,
  });
  const incumbent = solutionOf(problem, spreadGroups(problem));

  it('finds the optimum that the waterfall misses', () => {
    const { solution, complete } = exhaustive(problem, { incumbent, budget: Infinity });
    expect(complete).to.equal(true);
    expect(solution.overload).to.equal(0);
    expect(1 - solution.cost).to.be.closeTo(0.6333, 1e-4);
  });

  it('says when it ran out of steps, and is never worse than where it started', () => {
    const { solution, complete } = exhaustive(problem, { incumbent, budget: 10 });
    expect(complete).to.equal(false);
    expect(compareFigures(solution, incumbent)).to.be.at.most(0);
  });

  it('is for few endpoints in few zones', () => {
    const sized = (zones: number, count: number): Problem =>
      createProblem({
        demand: Array.from({ length: zones }, () => 1 / zones),
        classes: [{ zone: 0, count, limit: 1, idle: false }],
        minEndpoints: 1,
      });
    expect([sized(3, 9), sized(3, 27), sized(4, 11), sized(5, 7)].map(isSmall)).to.deep.equal([true, true, true, true]);
    expect([sized(3, 28), sized(5, 8), sized(8, 2)].map(isSmall)).to.deep.equal([false, false, false]);
  });
});

describe('flow/local-search', () => {
  it('never leaves the rules and never gets worse', () => {
    fc.assert(
      fc.property(numbers(4, 8), (problem) => {
        const start = solutionOf(problem, hintedExplicitly(problem, spreadGroups(problem)));
        const found = localSearch(problem, start, 400);
        expectComplete(problem, found.groups);
        expect(isAllowed(problem, found.groups)).to.equal(true);
        expect(compareFigures(found, start)).to.be.at.most(0);
        expect(solutionOf(problem, found.groups)).to.deep.include({ overload: found.overload, cost: found.cost });
      }),
      { numRuns: 60, seed: -1170271681, path: '51' },
    );
  });

  it('looks at no more plans than it may', () => {
    const problem = createProblem({
      demand: [0.5, 0.3, 0.2],
      classes: [4, 4, 4].map((count, zone) => ({ zone, count, limit: 0.1, idle: false })),
      minEndpoints: 1,
    });
    const start = solutionOf(problem, hintedExplicitly(problem, spreadGroups(problem)));
    expect(localSearch(problem, start, 0)).to.equal(start);
    problem.effort.left = 1_000;
    localSearch(problem, start, 25);
    // A look costs four units for each group, of which there are three to nine.
    expect(1_000 - problem.effort.left).to.be.within(25 * 4 * 3, 25 * 4 * 9);
  });
});

describe('flow/figures', () => {
  it('puts overload before cost, and takes rounding for nothing', () => {
    const plan = (overload: number, cost: number) => ({ overload, cost, groups: [] });
    expect(compareFigures(plan(0.1, 0), plan(0.2, 0))).to.be.lessThan(0);
    expect(compareFigures(plan(0.1, 9), plan(0.2, 0))).to.be.lessThan(0);
    expect(compareFigures(plan(0.1, 0.5), plan(0.1 + 1e-12, 0.4))).to.be.greaterThan(0);
    expect(compareFigures(plan(0, 0.4), plan(0, 0.4 + 1e-12))).to.equal(0);
    const [first, second] = [plan(0, 0.4), plan(0, 0.4)];
    expect(bestOf(first, second, undefined)).to.equal(first);
  });

  it('does not allow some endpoints without hints, nor fewer than the minimum', () => {
    const classes = [0, 1].map((zone) => ({ zone, count: 2, limit: 1, idle: false }));
    const problem = createProblem({ demand: [0.5, 0.5], classes, minEndpoints: 2 });
    const hinted = (first: number[], second: number[]): Group[] => [
      { kind: 0, zones: first, count: 2 },
      { kind: 1, zones: second, count: 2 },
    ];
    expect(isAllowed(problem, hinted([0], [1]))).to.equal(true);
    expect(isAllowed(problem, hinted([], []))).to.equal(true);
    expect(isAllowed(problem, hinted([0, 1], []))).to.equal(false);
    expect(isAllowed({ ...problem, minEndpoints: 3 }, hinted([0], [1]))).to.equal(false);
  });
});

describe('flow/solve', () => {
  it('is at least as good as each of its steps, and its bounds hold', () => {
    fc.assert(
      fc.property(numbers(5, 6), (problem) => {
        const { solution, exact, crossing } = solve(problem);
        const own = sameZoneGroups(problem)!;
        for (const groups of [spreadGroups(problem), own])
          expect(compareFigures(solution, solutionOf(problem, groups))).to.be.at.most(0);
        expect(crossing.integrality).to.be.at.least(crossing.transportation);
        expect(solution.cost).to.be.at.least(crossing.integrality - 1e-8);
        // With overload, a plan at the bound of cost may still not be the one with least overload.
        if (!exact && solution.overload <= EPSILON) expect(solution.cost).to.be.greaterThan(crossing.integrality);
      }),
      { numRuns: 60, seed: -1170271681, path: '51' },
    );
  });
});
