// Plans beside hints in force, with more zones than a hint may name, and what is refused.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { planHints } from '../../../pkg/flow/planner.ts';
import type { FlowEndpoint, Plan, PlanInput } from '../../../pkg/flow/types.ts';
import { ZONES, endpointsIn, hintsByEndpoint } from './factories.ts';

const inForce = (endpoints: readonly FlowEndpoint[], plan: Plan): FlowEndpoint[] =>
  endpoints.map((endpoint) => ({
    ...endpoint,
    forZones: plan.endpoints.find(({ name }) => name === endpoint.name)?.forZones ?? [],
  }));

describe('planHints with hints in force', () => {
  const endpoints = endpointsIn([2, 2, 2]);
  const quiet: PlanInput = { endpoints, demand: { a: 1, b: 0.4, c: 0.4 }, targetUtilization: 0.8 };

  it('changes only the endpoints that must change', () => {
    const hot = { ...quiet, demand: { a: 2.4, b: 0.4, c: 0.4 } };
    const own = inForce(endpoints, planHints(quiet));
    const spilled = planHints({ ...hot, endpoints: own });
    expect(spilled.changes).to.equal(1);
    const back = planHints({ ...quiet, endpoints: inForce(endpoints, spilled) });
    expect(back.changes).to.equal(1);
    expect(back.inZoneShare).to.equal(1);
  });

  it('keeps what is nearly as good, by the fraction of demand that is asked for', () => {
    const hot = { ...quiet, demand: { a: 1.7, b: 0.4, c: 0.4 } };
    const spilled = inForce(endpoints, planHints(hot));
    const cooler = { ...quiet, demand: { a: 1.5, b: 0.4, c: 0.4 }, endpoints: spilled };
    const kept = planHints({ ...cooler, stickiness: 0.25 });
    expect(kept).to.include({ changes: 0, exact: false });
    expect(planHints({ ...cooler, stickiness: 0.2 })).to.include({ inZoneShare: 1, exact: true, changes: 1 });
  });

  it('never keeps overload for the sake of stickiness', () => {
    const own = inForce(endpoints, planHints(quiet));
    expect(
      planHints({ ...quiet, demand: { a: 2.4, b: 0.4, c: 0.4 }, endpoints: own, stickiness: 1 }).overload,
    ).to.equal(0);
  });

  it('keeps a spread that is in force on purpose, and otherwise not', () => {
    const input = { ...quiet, stickiness: 1 };
    expect(planHints({ ...input, spreadInForce: true })).to.include({ spread: true, changes: 0 });
    expect(planHints(input)).to.include({ spread: false, inZoneShare: 1 });
  });

  it('takes a new endpoint into its own zone, as admission does', () => {
    const before = endpointsIn([1, 2, 2]);
    const hinted = inForce(before, planHints({ ...quiet, endpoints: before, demand: { a: 0.7, b: 0.4, c: 0.4 } }));
    const plan = planHints({
      ...quiet,
      endpoints: [...hinted, { name: 'a-new', zone: 'a', capacity: 1 }],
      demand: { a: 0.7, b: 0.4, c: 0.4 },
    });
    expect(hintsByEndpoint(plan)).to.include({ 'a-new': 'a' });
    expect(plan.changes).to.equal(1);
  });

  it('takes hints away where none are as good and that changes fewer endpoints', () => {
    // Nothing of b and c can be in-zone, whatever the hints: one endpoint changes instead of two.
    const [first, ...rest] = endpointsIn([3]);
    const input = { endpoints: [{ ...first!, forZones: ['b', 'c'] }, ...rest], demand: { a: 0.2, b: 0.2, c: 0.2 } };
    expect(planHints({ ...input, targetUtilization: 0.5 })).to.include({ spread: true, changes: 1 });
  });

  it('does not keep a plan that leaves a zone with clients out', () => {
    const own = inForce(
      endpointsIn([2, 2]),
      planHints({ ...quiet, endpoints: endpointsIn([2, 2]), demand: { a: 0.3, b: 0.3 } }),
    );
    const plan = planHints({ ...quiet, endpoints: own, demand: { a: 0.3, b: 0.3, c: 0.3 }, stickiness: 1 });
    expect(plan.endpoints.some(({ forZones }) => forZones.includes('c'))).to.equal(true);
  });
});

describe('planHints with more than eight zones', () => {
  const demand = (cores: number): Record<string, number> => Object.fromEntries(ZONES.map((zone) => [zone, cores]));

  it('keeps each zone’s traffic at home where that fits', () => {
    const plan = planHints({ endpoints: endpointsIn(ZONES.map(() => 2)), demand: demand(1), targetUtilization: 0.8 });
    expect(plan).to.include({ spread: false, inZoneShare: 1, exact: true });
  });

  it('hints no endpoint for more than eight, also where one zone spills to all others', () => {
    const plan = planHints({
      endpoints: endpointsIn(ZONES.map(() => 1)),
      demand: { ...demand(0.3), a: 4 },
      targetUtilization: 0.8,
    });
    expect(plan.overload).to.equal(0);
    expect(Math.max(...plan.endpoints.map(({ forZones }) => forZones.length))).to.be.at.most(8);
  });

  it('spreads where every zone needs every endpoint', () => {
    const plan = planHints({
      endpoints: endpointsIn([1, 1]),
      demand: demand(0.1),
      targetUtilization: 1,
      minEndpoints: 2,
    });
    expect(plan).to.include({ spread: true, overload: 0 });
  });

  it('plans for fifty zones', () => {
    const zones = Array.from({ length: 50 }, (_, index) => `group-${String(index).padStart(2, '0')}`);
    const endpoints = zones.flatMap((zone) => [0, 1].map((index) => ({ name: `${zone}-${index}`, zone, capacity: 1 })));
    const cores = Object.fromEntries(zones.map((zone, index) => [zone, index % 5 === 0 ? 2 : 0.5]));
    const plan = planHints({ endpoints, demand: cores, targetUtilization: 0.8 });
    expect(plan.overload).to.equal(0);
    expect(plan.inZoneShare).to.be.closeTo(plan.bounds.integrality, 1e-9);
  });
});

describe('planHints refuses', () => {
  const input: PlanInput = { endpoints: endpointsIn([1, 1]), demand: { a: 1 }, targetUtilization: 0.8 };
  const cases: (readonly [name: string, wrong: Partial<PlanInput>, message: string])[] = [
    ['negative demand', { demand: { a: -1 } }, 'demand of zone "a" must be 0 or more, got -1'],
    ['demand that is no number', { demand: { a: NaN } }, 'demand of zone "a" must be 0 or more, got NaN'],
    ['no capacity', { endpoints: endpointsIn([1], 0) }, 'capacity of endpoint "a-0000" must be above 0, got 0'],
    ['a name twice', { endpoints: [...endpointsIn([1]), ...endpointsIn([1])] }, 'endpoint "a-0000" is listed twice'],
    ['no target', { targetUtilization: 0 }, 'targetUtilization must be above 0, got 0'],
    ['half an endpoint', { minEndpoints: 1.5 }, 'minEndpoints must be a whole number above 0, got 1.5'],
    ['negative stickiness', { stickiness: -0.1 }, 'stickiness must be 0 or more, got -0.1'],
    ['a negative cost', { cost: () => -1 }, 'cost from zone "a" to "b" must be 0 or more, got -1'],
  ];
  for (const [name, wrong, message] of cases)
    it(name, () => expect(() => planHints({ ...input, ...wrong })).to.throw(RangeError, message));
});
