import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { capacitiesFor, capacityClasses, compile, roundedDown } from '../../../pkg/flow/compile.ts';
import { evaluatePlan } from '../../../pkg/flow/evaluate.ts';
import { planHints } from '../../../pkg/flow/planner.ts';
import type { FlowEndpoint, PlanInput } from '../../../pkg/flow/types.ts';
import { isAllowed } from '../../../pkg/flow/problem.ts';
import { solve } from '../../../pkg/flow/solve.ts';
import { ZONES, hostileProblem, problems } from './factories.ts';

const capacities = fc.array(fc.double({ min: 1e-3, max: 1e3, noNaN: true }), { minLength: 1, maxLength: 80 });

describe('flow/capacity-classes', () => {
  const tables: (readonly [name: string, given: number[], most: number, is: number[]])[] = [
    ['tells every capacity apart while there are few', [2, 1, 1, 0.5], 3, [0.5, 1, 2]],
    ['puts the nearest together first', [1, 1.01, 2, 4], 3, [1, 2, 4]],
    ['compares by factor, not by difference', [0.1, 0.2, 10, 10.5], 3, [0.1, 0.2, 10]],
    ['makes one class where only one is allowed', [3, 5, 4], 1, [3]],
    [
      'makes one class where largest / smallest, times smallest, is rounded to less than largest',
      [119.5770341395542, 0.005233542321613178],
      1,
      [0.005233542321613178],
    ],
    ['knows no class of nothing', [], 4, []],
  ];
  for (const [name, given, most, is] of tables)
    it(`classesOf ${name}`, () => expect(capacityClasses(given, most)).to.deep.equal(is));

  it('rounds down by less than (largest / smallest)^(1 / most), and not at all where there are few capacities', () => {
    fc.assert(
      fc.property(capacities, fc.integer({ min: 1, max: 24 }), (given, most) => {
        const classes = capacityClasses(given, most);
        expect(classes.length).to.be.at.most(most);
        const widest = (Math.max(...given) / Math.min(...given)) ** (1 / most);
        for (const capacity of given) {
          const counts = roundedDown(capacity, classes);
          expect(counts).to.be.at.most(capacity);
          expect(capacity / counts).to.be.at.most(widest * (1 + 1e-9));
          if (new Set(given).size <= most) expect(counts).to.equal(capacity);
        }
      }),
    );
  });

  it('distinguishes fewer in each zone the more zones there are, and never more than 192 in eight zones or fewer', () => {
    expect([1, 3, 8, 12, 48, 5_000].map(capacitiesFor)).to.deep.equal([24, 24, 24, 16, 4, 4]);
  });
});

describe('planning for endpoints that all have different capacities', () => {
  /** The endpoints as small as they count. */
  const roundedOf = (input: PlanInput): FlowEndpoint[] => {
    const { members, problem } = compile(input);
    const total = Object.values(input.demand).reduce((sum, cores) => sum + cores, 0);
    return members.flatMap((endpoints, kind) =>
      endpoints.map((one) => ({ ...one, capacity: (problem.classes[kind]!.limit * total) / input.targetUtilization })),
    );
  };

  const inputs = fc
    .record({
      zones: fc.constant(3),
      endpoints: fc.integer({ min: 60, max: 80 }),
      seed: fc.nat(),
      load: fc.constantFrom(0.3, 0.5, 0.65, 0.9),
      largest: fc.constantFrom(1.1, 2, 50),
    })
    .map(hostileProblem);

  it('asks no endpoint for more than its real capacity allows wherever the rounded capacities suffice', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const plan = planHints(input);
        const rounded = planHints({ ...input, endpoints: roundedOf(input) });
        const tolerance = 1e-7 * Object.values(input.demand).reduce((sum, cores) => sum + cores, 0);
        expect(plan.overload).to.be.at.most(rounded.overload + tolerance);
      }),
      { numRuns: 6 },
    );
  });

  it('is never worse than spread or own zones by the real capacities, and keeps its own plan', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const plan = planHints(input);
        for (const forZones of [() => [], ({ zone }: FlowEndpoint) => [zone]]) {
          const simple = evaluatePlan({
            ...input,
            endpoints: input.endpoints.map((one) => ({ ...one, forZones: forZones(one) })),
          });
          expect(plan.overload).to.be.at.most(simple.overload + 1e-7);
        }
        const hints = new Map(plan.endpoints.map(({ name, forZones }) => [name, forZones]));
        const again = planHints({
          ...input,
          endpoints: input.endpoints.map((one) => ({ ...one, forZones: hints.get(one.name)! })),
          spreadInForce: plan.spread,
        });
        expect(again.changes).to.equal(0);
        expect(plan.inZoneShare).to.be.at.most(plan.bounds.integrality + 1e-8);
      }),
      { numRuns: 6 },
    );
  });

  const sizes = [
    { zones: 3, endpoints: 500, classes: 72 },
    { zones: 8, endpoints: 1_000, classes: 192 },
  ];
  for (const { zones, endpoints, classes } of sizes) {
    it(`plans ${endpoints} of them in ${zones} zones as ${classes} kinds at most`, () => {
      const { problem } = compile(hostileProblem({ zones, endpoints, seed: 1, load: 0.6, largest: 2 }));
      expect(problem.total).to.equal(endpoints);
      expect(problem.classes.length).to.be.at.most(classes);
    });
  }

  it('takes endpoints of zones without clients for one pool, however many such zones their author names', () => {
    const input = hostileProblem({ zones: 2, endpoints: 50, seed: 1, load: 0.5, largest: 1 });
    const strays = Array.from({ length: 500 }, (_, index) => ({ name: `x-${index}`, zone: `x-${index}`, capacity: 1 }));
    const cost = (): number => 3;
    for (const prices of [{}, { cost }]) {
      const { problem } = compile({ ...input, ...prices, endpoints: [...input.endpoints, ...strays] });
      expect(problem.classes.length).to.equal(3);
    }
  });

  it('keeps zones without clients apart where it costs another price to serve from them', () => {
    const endpoints = ['a', 'x', 'y', 'z'].map((zone) => ({ name: zone, zone, capacity: 1 }));
    const cost = (_: string, zone: string): number => (zone === 'y' ? 2 : 1);
    const { members } = compile({ endpoints, demand: { [ZONES[0]]: 1 }, targetUtilization: 0.7, cost });
    expect(members.map((alike) => alike.map(({ name }) => name))).to.deep.equal([['a'], ['x', 'z'], ['y']]);
  });
});

// The search ends: what it may look at is counted, and what it found until then is a plan.
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
