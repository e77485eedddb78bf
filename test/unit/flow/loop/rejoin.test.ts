import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { evaluatePlan } from '../../../../pkg/flow/evaluate.ts';
import { planHints } from '../../../../pkg/flow/planner.ts';
import type { Plan, PlanInput } from '../../../../pkg/flow/types.ts';
import { rejoined } from '../../../../pkg/flow/loop/decide.ts';
import { problems } from '../factories.ts';

const evaluated = (input: PlanInput, hints: ReadonlyMap<string, readonly string[]>) =>
  evaluatePlan({
    ...input,
    endpoints: input.endpoints.map((one) => ({ ...one, forZones: hints.get(one.name) ?? [] })),
  });

const hintsOf = ({ endpoints }: Plan): Map<string, readonly string[]> =>
  new Map(endpoints.map(({ name, forZones }) => [name, forZones]));

/** The rule read literally: one endpoint after the other, the whole plan evaluated for each. */
const literally = (plan: Plan, input: PlanInput): Map<string, readonly string[]> => {
  const hints = hintsOf(plan);
  for (const { name, zone } of input.endpoints) {
    const before = hints.get(name) ?? [];
    if (plan.spread || zone === '' || before.includes(zone) || before.length >= 8) continue;
    hints.set(name, [...before, zone].sort());
    const { overload, crossZoneCost } = evaluated(input, hints);
    if (overload > plan.overload + 1e-9 || crossZoneCost > plan.crossZoneCost + 1e-9) hints.set(name, before);
  }
  return hints;
};

describe('flow/loop/plan-within: rejoined', () => {
  it('brings back what evaluating every plan on the way would bring back', () => {
    const inputs = fc.oneof(
      problems({ zones: 3, endpoints: 10, capacities: [1, 2], odd: true }),
      problems({ zones: 5, endpoints: 20 }),
    );
    fc.assert(
      fc.property(inputs, (input) => {
        const plan = planHints(input);
        fc.pre(plan.overload <= 1e-9);
        const after = rejoined(plan, input);
        const expected = literally(plan, input);
        expect(hintsOf(after)).to.deep.equal(expected);
        const figures = evaluated(input, expected);
        expect(after.overload).to.be.closeTo(figures.overload, 1e-9);
        expect(after.crossZoneCost).to.be.closeTo(figures.crossZoneCost, 1e-9);
      }),
      { numRuns: 40 },
    );
  });

  it('gives an endpoint that serves another zone alone its own zone too, where that zone has room to share', () => {
    const endpoints = ['a-0', 'a-1', 'b-0'].map((name) => ({ name, zone: name.slice(0, 1), capacity: 1 }));
    const input = { endpoints, demand: { a: 0.6, b: 0 }, targetUtilization: 0.7 };
    const plan = planHints(input);
    const hints = plan.endpoints.map((one) => (one.name === 'b-0' ? { ...one, forZones: ['a'] } : one));
    const away = { ...plan, endpoints: hints, crossZoneCost: 0.2, overload: 0 };
    expect(hintsOf(rejoined(away, input)).get('b-0')).to.deep.equal(['a', 'b']);
  });
});
