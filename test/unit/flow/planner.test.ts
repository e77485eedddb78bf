// SPDX-License-Identifier: Apache-2.0
// Plans for situations with known answers: the named scenarios of the k8s-topology-simulator, capacities, prices, what is in force.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { planHints } from '../../../pkg/flow/index.ts';
import type { FlowEndpoint, Plan, PlanInput } from '../../../pkg/flow/index.ts';
import { endpointsIn, fairProblem, ZONES } from './factories.ts';

const percent = (share: number): number => Math.round(share * 10_000) / 100;

interface Scenario {
  readonly name: string;
  readonly shares: readonly number[];
  readonly counts: readonly number[];
  /** In-zone share and load of the busiest endpoint above its fair share, in percent, at theta 0.2 and 0.5. */
  readonly at20: readonly [number, number];
  readonly at50: readonly [number, number];
  /** Bounds at theta 0.2, in percent. */
  readonly lp: number;
  readonly integrality: number;
}

/** Where a zone's share of the nodes is what its clients need. All of these are optimal. */
const SCENARIOS: readonly Scenario[] = [
  {
    name: '2 zones with no endpoints',
    shares: [30, 30, 30],
    counts: [100, 0, 0],
    at20: [33.33, 0],
    at50: [33.33, 0],
    lp: 33.33,
    integrality: 33.33,
  },
  {
    name: '1 zone with no endpoints',
    shares: [30, 30, 30],
    counts: [100, 100, 0],
    at20: [66.67, 0],
    at50: [66.67, 0],
    lp: 66.67,
    integrality: 66.67,
  },
  {
    name: '2 zones with few endpoints',
    shares: [30, 30, 30],
    counts: [100, 10, 10],
    at20: [52.94, 17.65],
    at50: [58.02, 48.15],
    lp: 53.33,
    integrality: 52.94,
  },
  {
    name: 'balanced minimal',
    shares: [30, 30, 30],
    counts: [1, 1, 1],
    at20: [100, 0],
    at50: [100, 0],
    lp: 100,
    integrality: 100,
  },
  {
    name: 'unbalanced minimal',
    shares: [30, 30, 30],
    counts: [2, 1, 0],
    at20: [66.67, 0],
    at50: [66.67, 33.33],
    lp: 66.67,
    integrality: 66.67,
  },
  {
    name: 'only 1 endpoint',
    shares: [30, 30, 30],
    counts: [1, 0, 0],
    at20: [33.33, 0],
    at50: [33.33, 0],
    lp: 33.33,
    integrality: 33.33,
  },
  {
    name: 'only 2 endpoints',
    shares: [30, 30, 30],
    counts: [2, 0, 0],
    at20: [33.33, 0],
    at50: [33.33, 0],
    lp: 33.33,
    integrality: 33.33,
  },
  {
    name: 'somewhat balanced small',
    shares: [30, 30, 30],
    counts: [3, 2, 2],
    at20: [100, 16.67],
    at50: [100, 16.67],
    lp: 100,
    integrality: 100,
  },
  {
    name: 'somewhat balanced medium',
    shares: [30, 30, 30],
    counts: [10, 9, 12],
    at20: [100, 14.81],
    at50: [100, 14.81],
    lp: 100,
    integrality: 100,
  },
  {
    name: 'somewhat balanced large',
    shares: [30, 30, 30],
    counts: [60, 65, 55],
    at20: [100, 9.09],
    at50: [100, 9.09],
    lp: 100,
    integrality: 100,
  },
  {
    name: 'somewhat balanced huge',
    shares: [300, 300, 300],
    counts: [654, 704, 555],
    at20: [100, 14.89],
    at50: [100, 14.89],
    lp: 100,
    integrality: 100,
  },
  {
    name: 'balanced, uneven nodes',
    shares: [40, 30, 20],
    counts: [40, 30, 20],
    at20: [100, 0],
    at50: [100, 0],
    lp: 100,
    integrality: 100,
  },
  {
    name: 'unbalanced, uneven nodes',
    shares: [40, 30, 20],
    counts: [70, 25, 15],
    at20: [87.2, 18.28],
    at50: [97.39, 46.67],
    lp: 88.08,
    integrality: 87.2,
  },
  {
    name: 'mostly balanced small',
    shares: [1, 2, 2],
    counts: [3, 2, 2],
    at20: [63.33, 16.67],
    at50: [100, 40],
    lp: 88.57,
    integrality: 73.33,
  },
  {
    name: 'mostly balanced medium',
    shares: [15, 20, 12],
    counts: [10, 18, 10],
    at20: [97.1, 10.25],
    at50: [100, 21.28],
    lp: 99.66,
    integrality: 97.1,
  },
  {
    name: 'mostly balanced large',
    shares: [54, 58, 74],
    counts: [80, 90, 105],
    at20: [100, 4.2],
    at50: [100, 4.2],
    lp: 100,
    integrality: 100,
  },
  {
    name: 'perfectly balanced small',
    shares: [3, 2, 1],
    counts: [3, 2, 1],
    at20: [100, 0],
    at50: [100, 0],
    lp: 100,
    integrality: 100,
  },
  {
    name: 'perfectly balanced medium',
    shares: [10, 11, 12],
    counts: [20, 22, 24],
    at20: [100, 0],
    at50: [100, 0],
    lp: 100,
    integrality: 100,
  },
  {
    name: 'perfectly balanced large',
    shares: [50, 60, 70],
    counts: [100, 120, 140],
    at20: [100, 0],
    at50: [100, 0],
    lp: 100,
    integrality: 100,
  },
];

const hintsOf = ({ endpoints }: Plan): Record<string, string> =>
  Object.fromEntries(endpoints.map(({ name, forZones }) => [name, forZones.join('+')]));

const inForce = (endpoints: readonly FlowEndpoint[], plan: Plan): FlowEndpoint[] =>
  endpoints.map((endpoint) => ({
    ...endpoint,
    forZones: plan.endpoints.find(({ name }) => name === endpoint.name)?.forZones ?? [],
  }));

describe('planHints on the named scenarios of the k8s-topology-simulator', () => {
  for (const { name, shares, counts, at20, at50, lp, integrality } of SCENARIOS) {
    it(name, () => {
      for (const [theta, [share, above]] of [
        [0.2, at20],
        [0.5, at50],
      ] as const) {
        const plan = planHints(fairProblem(shares, counts, theta));
        expect(plan.exact, `exact at ${theta}`).to.equal(true);
        expect(plan.overload, `overload at ${theta}`).to.equal(0);
        expect(percent(plan.inZoneShare), `in-zone at ${theta}`).to.equal(share);
        expect(percent(plan.maxUtilization - 1), `busiest at ${theta}`).to.be.closeTo(above, 0.005);
      }
      const { bounds } = planHints(fairProblem(shares, counts, 0.2));
      expect([percent(bounds.lp), percent(bounds.integrality)]).to.deep.equal([lp, integrality]);
    });
  }
});

describe('planHints', () => {
  const hot: PlanInput = {
    endpoints: endpointsIn([2, 2, 2]),
    demand: { a: 2.4, b: 0.4, c: 0.4 },
    targetUtilization: 0.8,
  };

  it('keeps own zones while no endpoint is above the target', () => {
    const plan = planHints({ ...hot, demand: { a: 1.5, b: 0.4, c: 0.4 } });
    expect(hintsOf(plan)).to.deep.equal({
      'a-0000': 'a',
      'a-0001': 'a',
      'b-0000': 'b',
      'b-0001': 'b',
      'c-0000': 'c',
      'c-0001': 'c',
    });
    expect(plan).to.include({ inZoneShare: 1, spread: false, exact: true, overload: 0, changes: 6 });
  });

  it('spills as little as needed, in whole endpoints', () => {
    const plan = planHints(hot);
    // Zone a needs three endpoints at least; one of b or c gives way or is shared.
    expect(plan.zones['a']).to.deep.include({ demand: 2.4, endpoints: 3 });
    expect(plan.inZoneShare).to.be.closeTo(2.4 / 3.2, 1e-12);
    expect(plan.maxUtilization).to.be.at.most(0.8 + 1e-12);
    expect(plan.overload).to.equal(0);
    expect(plan.crossZoneCost).to.be.closeTo(0.8, 1e-12);
    expect(plan.bounds.integrality).to.be.closeTo(plan.inZoneShare, 1e-12);
    expect(plan.bounds.lp).to.be.closeTo(1 - (2.4 - 1.6) / 3.2, 1e-12);
  });

  it('reports demand, endpoints and utilization of each zone', () => {
    const { zones } = planHints({ ...hot, demand: { a: 1, b: 0.5, d: 0 } });
    expect(zones).to.deep.equal({
      a: { demand: 1, endpoints: 2, utilization: 0.5 },
      b: { demand: 0.5, endpoints: 2, utilization: 0.25 },
      c: { demand: 0, endpoints: 2, utilization: 0 },
      d: { demand: 0, endpoints: 6, utilization: 0 },
    });
  });

  it('spills where it is cheapest', () => {
    const cost = (_from: string, to: string): number => (to === 'b' ? 3 : 1);
    const plan = planHints({ ...hot, cost });
    expect(plan.endpoints.filter(({ name, forZones }) => name.startsWith('b') && forZones.includes('a'))).to.deep.equal(
      [],
    );
    expect(plan.crossZoneCost).to.be.closeTo(0.8, 1e-12);
  });

  it('spills to the larger endpoints where small ones cannot carry an equal part', () => {
    const endpoints = [
      ...endpointsIn([2]),
      { name: 'b-small', zone: 'b', capacity: 0.25 },
      { name: 'b-large', zone: 'b', capacity: 2 },
    ];
    const plan = planHints({ endpoints, demand: { a: 2.1, b: 0.2 }, targetUtilization: 0.8 });
    expect(hintsOf(plan)).to.deep.equal({ 'a-0000': 'a', 'a-0001': 'a', 'b-small': 'b', 'b-large': 'a+b' });
    expect(plan).to.include({ overload: 0, exact: true });
  });

  it('gives each zone with clients its minimum of endpoints', () => {
    const plan = planHints({ ...hot, demand: { a: 0.5, b: 0.4, c: 0.4 }, minEndpoints: 3 });
    expect(Object.values(plan.zones).map(({ endpoints }) => endpoints)).to.deep.equal([3, 3, 3]);
    expect(plan.inZoneShare).to.be.closeTo(2 / 3, 1e-12);
    const all = planHints({ ...hot, minEndpoints: 50 });
    expect(all.spread).to.equal(true);
  });

  it('gives a zone without endpoints as few as carry it', () => {
    const plan = planHints({
      endpoints: endpointsIn([2, 2]),
      demand: { a: 0.5, b: 0.5, c: 0.5 },
      targetUtilization: 0.8,
    });
    expect(plan.zones['c']).to.deep.include({ utilization: 0 });
    expect(plan.zones['c']?.endpoints).to.be.greaterThan(0);
    expect(plan.inZoneShare).to.be.closeTo(2 / 3, 1e-12);
  });

  it('leaves endpoints of a zone without clients to their zone, unless others need them', () => {
    const plan = planHints({ endpoints: endpointsIn([1, 1]), demand: { a: 0.5, b: 0 }, targetUtilization: 0.8 });
    expect(hintsOf(plan)).to.deep.equal({ 'a-0000': 'a', 'b-0000': 'b' });
    const needed = planHints({ endpoints: endpointsIn([1, 1]), demand: { a: 1, b: 0 }, targetUtilization: 0.8 });
    expect(needed.zones['a']?.endpoints).to.equal(2);
  });

  it('prefers the least overload where demand is above all capacity, then the least crossing', () => {
    const all = planHints({ ...hot, demand: { a: 4, b: 4, c: 4 } });
    expect(hintsOf(all)).to.include({ 'a-0000': 'a', 'b-0000': 'b', 'c-0000': 'c' });
    expect(all.overload).to.be.closeTo(12 - 4.8, 1e-9);
    expect(all).to.include({ inZoneShare: 1, exact: true });
    const uneven = planHints({ ...hot, demand: { a: 6, b: 0.1, c: 0.1 } });
    expect(uneven.overload).to.be.closeTo(6.2 - 4.8, 1e-9);
    expect(uneven.inZoneShare).to.be.at.most(uneven.bounds.lp + 1e-12);
  });

  it('counts clients outside of any zone: they use every endpoint', () => {
    const plan = planHints({
      endpoints: endpointsIn([1, 1]),
      demand: { a: 0.6, b: 0.2, '': 0.4 },
      targetUtilization: 0.8,
    });
    expect(plan.spread).to.equal(false);
    expect(plan.maxUtilization).to.be.closeTo(0.8, 1e-12);
    expect(plan.inZoneShare).to.be.closeTo(0.8 / 1.2, 1e-12);
    expect(plan.bounds.lp).to.be.closeTo(0.8 / 1.2, 1e-12);
  });

  it('plans without demand and without endpoints', () => {
    expect(hintsOf(planHints({ ...hot, demand: {} }))).to.include({ 'a-0000': 'a', 'c-0001': 'c' });
    expect(planHints({ ...hot, demand: { a: 0 } })).to.include({ inZoneShare: 1, overload: 0 });
    const none = planHints({ ...hot, endpoints: [] });
    expect(none).to.deep.include({ spread: true, endpoints: [], inZoneShare: 0, bounds: { lp: 0, integrality: 0 } });
    expect(none.overload).to.be.closeTo(3.2, 1e-12);
  });
});

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
    expect(hintsOf(plan)).to.include({ 'a-new': 'a' });
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
  const cases: readonly { name: string; wrong: Partial<PlanInput>; message: string }[] = [
    { name: 'negative demand', wrong: { demand: { a: -1 } }, message: 'demand of zone "a" must be 0 or more, got -1' },
    {
      name: 'demand that is no number',
      wrong: { demand: { a: NaN } },
      message: 'demand of zone "a" must be 0 or more, got NaN',
    },
    {
      name: 'no capacity',
      wrong: { endpoints: endpointsIn([1], 0) },
      message: 'capacity of endpoint "a-0000" must be above 0, got 0',
    },
    {
      name: 'a name twice',
      wrong: { endpoints: [...endpointsIn([1]), ...endpointsIn([1])] },
      message: 'endpoint "a-0000" is listed twice',
    },
    { name: 'no target', wrong: { targetUtilization: 0 }, message: 'targetUtilization must be above 0, got 0' },
    {
      name: 'half an endpoint',
      wrong: { minEndpoints: 1.5 },
      message: 'minEndpoints must be a whole number above 0, got 1.5',
    },
    { name: 'negative stickiness', wrong: { stickiness: -0.1 }, message: 'stickiness must be 0 or more, got -0.1' },
    {
      name: 'a negative cost',
      wrong: { cost: () => -1 },
      message: 'cost from zone "a" to "b" must be 0 or more, got -1',
    },
  ];
  for (const { name, wrong, message } of cases) {
    it(name, () => expect(() => planHints({ ...input, ...wrong })).to.throw(RangeError, message));
  }
});
