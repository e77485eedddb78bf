// What holds for every plan: it is the optimum of small problems, keeps to the rules of the API, and depends on nothing but its input.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { evaluatePlan } from '../../../pkg/flow/evaluate.ts';
import { boundsAtTarget, leastCrossZoneCost, planHints } from '../../../pkg/flow/planner.ts';
import type { Plan, PlanInput } from '../../../pkg/flow/types.ts';
import { problems, ZONES } from './factories.ts';
import { bruteForce, judge } from './oracle.ts';
import { upTo } from '../../support/depth.ts';

const totalOf = ({ demand }: PlanInput): number => Object.values(demand).reduce((sum, cores) => sum + cores, 0);

const hintsOf = ({ endpoints }: PlanInput, plan: Plan): (readonly string[])[] => {
  const byName = new Map(plan.endpoints.map(({ name, forZones }) => [name, forZones]));
  return endpoints.map(({ name }) => byName.get(name)!);
};

const inForce = (input: PlanInput, plan: Plan): PlanInput => ({
  ...input,
  endpoints: input.endpoints.map((endpoint, index) => ({ ...endpoint, forZones: hintsOf(input, plan)[index]! })),
  spreadInForce: plan.spread,
});

const expectOptimal = (input: PlanInput): void => {
  const plan = planHints(input);
  const best = bruteForce(input);
  const tolerance = 3e-8 * totalOf(input);
  expect(plan.exact, 'exact').to.equal(true);
  expect(plan.overload, 'overload').to.be.closeTo(best.overload, tolerance);
  expect(plan.crossZoneCost, 'cost').to.be.closeTo(best.cost, tolerance);
  expect(plan.inZoneShare, 'bound').to.be.at.most(plan.bounds.integrality + 3e-8);
  expect(plan.bounds.integrality, 'bounds').to.be.at.most(plan.bounds.lp + 1e-12);
};

describe('planHints, for any small problem', () => {
  it('is the optimum over every non-empty set of zones for each endpoint, and spread', () => {
    fc.assert(fc.property(problems({ zones: 3, endpoints: 5 }), expectOptimal), { numRuns: 60 });
  });

  it('is the optimum with unequal capacities', () => {
    fc.assert(fc.property(problems({ zones: 3, endpoints: 4, capacities: [0.5, 1, 2] }), expectOptimal), {
      numRuns: upTo(150),
    });
  });

  it('is the optimum with zones without clients, clients without zone, endpoints without zone', () => {
    fc.assert(fc.property(problems({ zones: 3, endpoints: 4, odd: true, capacities: [1] }), expectOptimal), {
      numRuns: upTo(150),
    });
  });

  it('is the optimum with a minimum of endpoints for each zone', () => {
    const input = fc.tuple(problems({ zones: 3, endpoints: 4 }), fc.integer({ min: 2, max: 4 }));
    fc.assert(
      fc.property(input, ([problem, minEndpoints]) => expectOptimal({ ...problem, minEndpoints })),
      { numRuns: 100 },
    );
  });

  it('is the optimum with a price for each pair of zones', () => {
    const prices = fc.array(fc.constantFrom(0, 1, 2, 5), { minLength: 9, maxLength: 9 });
    const input = fc.tuple(problems({ zones: 3, endpoints: 4, capacities: [1, 2] }), prices);
    fc.assert(
      fc.property(input, ([problem, price]) =>
        expectOptimal({
          ...problem,
          cost: (from, to) => price[ZONES.indexOf(from as 'a') * 3 + ZONES.indexOf(to as 'a')]!,
        }),
      ),
      { numRuns: 100 },
    );
  });

  it('changes as few endpoints as any plan that is as good', () => {
    fc.assert(
      fc.property(problems({ zones: 3, endpoints: 4, hinted: true }), (input) => {
        const plan = planHints(input);
        const best = bruteForce(input);
        if (!plan.spread) expect(plan.changes).to.be.at.most(best.changes);
      }),
      { numRuns: upTo(150) },
    );
  });
});

describe('planHints, for any problem', () => {
  const any = fc.oneof(
    problems({ zones: 3, endpoints: 30, capacities: [1, 2], hinted: true }),
    problems({ zones: 6, endpoints: 25, odd: true }),
    problems({ zones: 11, endpoints: 40 }),
  );

  it('hints every endpoint for one to eight zones, or none at all', () => {
    fc.assert(
      fc.property(any, (input) => {
        const plan = planHints(input);
        expect(plan.endpoints.map(({ name }) => name)).to.deep.equal(input.endpoints.map(({ name }) => name).sort());
        for (const { forZones } of plan.endpoints) {
          expect(forZones.length).to.be.within(plan.spread ? 0 : 1, plan.spread ? 0 : 8);
          expect(forZones).to.deep.equal([...new Set(forZones)].sort());
        }
      }),
      { numRuns: 100 },
    );
  });

  it('reports what its hints lead to, and all demand arrives somewhere', () => {
    fc.assert(
      fc.property(any, (input) => {
        const plan = planHints(input);
        const judged = judge(input, hintsOf(input, plan));
        const total = totalOf(input);
        expect(plan.overload).to.be.closeTo(judged.overload, 1e-9 * total);
        expect(plan.inZoneShare).to.be.closeTo(judged.inZoneShare, 1e-9);
        const load = Object.entries(plan.zones).reduce((sum, [zone, { utilization }]) => {
          const capacity = input.endpoints.reduce((all, one) => (one.zone === zone ? all + one.capacity : all), 0);
          return sum + utilization * capacity;
        }, 0);
        expect(load).to.be.closeTo(total, 1e-9 * total);
      }),
      { numRuns: 100 },
    );
  });

  it('is never worse than spread, nor than own zones, nor above its bounds', () => {
    fc.assert(
      fc.property(any, (input) => {
        const plan = planHints(input);
        const spread = judge(
          input,
          input.endpoints.map(() => []),
        );
        const own = judge(
          input,
          input.endpoints.map(({ zone }) => (zone === '' ? [] : [zone])),
        );
        const tolerance = 1e-8 * totalOf(input);
        for (const { overload, cost } of [spread, own]) {
          expect(plan.overload).to.be.at.most(overload + tolerance);
          if (plan.overload > overload - tolerance) expect(plan.crossZoneCost).to.be.at.most(cost + tolerance);
        }
        expect(plan.inZoneShare).to.be.at.most(plan.bounds.integrality + 1e-8);
      }),
      { numRuns: 100 },
    );
  });

  it('does not depend on the order of endpoints and zones', () => {
    fc.assert(
      fc.property(any, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (input, keys) => {
        const shuffled = <T>(list: readonly T[]): T[] =>
          list
            .map((item) => ({ item, key: keys.next().value as number }))
            .sort((a, b) => a.key - b.key)
            .map(({ item }) => item);
        const other = {
          ...input,
          endpoints: shuffled(input.endpoints),
          demand: Object.fromEntries(shuffled(Object.entries(input.demand))),
        };
        expect(planHints(other)).to.deep.equal(planHints(input));
      }),
      { numRuns: 60 },
    );
  });

  it('changes nothing when its own plan is in force', () => {
    fc.assert(
      fc.property(any, (input) => {
        const plan = planHints(input);
        const again = planHints(inForce(input, plan));
        expect(again.endpoints).to.deep.equal(plan.endpoints);
        expect(again.changes).to.equal(0);
        expect(again.spread).to.equal(plan.spread);
      }),
      { numRuns: 100 },
    );
  });

  it('depends on ratios only: cores or millicores make no difference', () => {
    fc.assert(
      fc.property(any, (input) => {
        const scaled = {
          ...input,
          endpoints: input.endpoints.map((endpoint) => ({ ...endpoint, capacity: endpoint.capacity * 1024 })),
          demand: Object.fromEntries(Object.entries(input.demand).map(([zone, cores]) => [zone, cores * 1024])),
        };
        expect(planHints(scaled).endpoints).to.deep.equal(planHints(input).endpoints);
      }),
      { numRuns: 60 },
    );
  });
});

describe('evaluatePlan', () => {
  it('agrees with a second reading of the proxies’ rules for any hints', () => {
    fc.assert(
      fc.property(problems({ zones: 4, endpoints: 12, odd: true, hinted: true, capacities: [1, 3] }), (input) => {
        const figures = evaluatePlan(input);
        const judged = judge(
          input,
          input.endpoints.map(({ forZones = [] }) => forZones),
        );
        const total = totalOf(input);
        expect(figures.overload).to.be.closeTo(judged.overload, 1e-9 * total);
        expect(figures.inZoneShare).to.be.closeTo(judged.inZoneShare, 1e-9);
        expect(figures.crossZoneCost).to.be.closeTo(judged.cost, 1e-9 * total);
      }),
    );
  });
});

describe('leastCrossZoneCost, for any small problem', () => {
  const shapes = [
    { name: 'equal endpoints', shape: { zones: 3, endpoints: 5 } },
    { name: 'unequal capacities', shape: { zones: 3, endpoints: 4, capacities: [0.5, 1, 2] } },
    { name: 'odd zones and clients', shape: { zones: 3, endpoints: 4, odd: true, hinted: true } },
  ];
  for (const { name, shape } of shapes) {
    it(`is not above what the best plan without overload costs: ${name}`, () => {
      fc.assert(
        fc.property(problems(shape), (input) => {
          const plan = planHints(input);
          const least = leastCrossZoneCost(input);
          if (plan.overload > 3e-8 * totalOf(input)) return;
          expect(least).to.be.at.most(plan.crossZoneCost + 3e-8 * totalOf(input));
          expect(least).to.be.at.least(0);
        }),
        { numRuns: upTo(200) },
      );
    });
  }

  it('is infinite where demand is more than all endpoints take', () => {
    const endpoints = [{ name: 'a', zone: 'a', capacity: 1 }];
    expect(leastCrossZoneCost({ endpoints, demand: { a: 2 }, targetUtilization: 0.7 })).to.equal(Infinity);
  });

  it('is nothing without demand, and infinite without endpoints', () => {
    expect(leastCrossZoneCost({ endpoints: [], demand: {}, targetUtilization: 0.7 })).to.equal(0);
    expect(leastCrossZoneCost({ endpoints: [], demand: { a: 1 }, targetUtilization: 0.7 })).to.equal(Infinity);
  });
});

describe('boundsAtTarget, for any problem', () => {
  it('is above the in-zone share of the best plan without overload, and says what that plan’s own bounds say', () => {
    fc.assert(
      fc.property(problems({ zones: 3, endpoints: 8, capacities: [0.5, 1, 2], odd: true }), (input) => {
        const plan = planHints(input);
        const bounds = boundsAtTarget(input);
        expect(bounds.integrality).to.be.at.most(bounds.lp);
        if (plan.overload > 3e-8 * totalOf(input)) return;
        expect(plan.inZoneShare).to.be.at.most(bounds.integrality + 3e-8);
        expect(bounds.lp).to.be.closeTo(plan.bounds.lp, 1e-9);
        expect(bounds.integrality).to.be.closeTo(plan.bounds.integrality, 1e-9);
      }),
    );
  });
});
