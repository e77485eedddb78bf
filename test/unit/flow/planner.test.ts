// Plans for situations with known answers: the named scenarios of the k8s-topology-simulator, capacities, prices, what is in force.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { planHints } from '../../../pkg/flow/planner.ts';
import type { PlanInput } from '../../../pkg/flow/types.ts';
import { endpointsIn, fairProblem, hintsByEndpoint } from './factories.ts';

const percent = (share: number): number => Math.round(share * 10_000) / 100;

/**
 * Shares of clients, numbers of endpoints; in-zone share and load of the busiest endpoint above its fair share, in percent, at theta
 * 0.2 and 0.5; the bounds at theta 0.2, in percent, of the linear program and of whole endpoints.
 */
type Scenario = readonly [
  name: string,
  shares: number[],
  counts: number[],
  at20: [number, number],
  at50: [number, number],
  bounds: [lp: number, integrality: number],
];

/** Where a zone's share of the nodes is what its clients need. All of these are optimal. */
const SCENARIOS: readonly Scenario[] = [
  ['2 zones with no endpoints', [30, 30, 30], [100, 0, 0], [33.33, 0], [33.33, 0], [33.33, 33.33]],
  ['1 zone with no endpoints', [30, 30, 30], [100, 100, 0], [66.67, 0], [66.67, 0], [66.67, 66.67]],
  ['2 zones with few endpoints', [30, 30, 30], [100, 10, 10], [52.94, 17.65], [58.02, 48.15], [53.33, 52.94]],
  ['balanced minimal', [30, 30, 30], [1, 1, 1], [100, 0], [100, 0], [100, 100]],
  ['unbalanced minimal', [30, 30, 30], [2, 1, 0], [66.67, 0], [66.67, 33.33], [66.67, 66.67]],
  ['only 1 endpoint', [30, 30, 30], [1, 0, 0], [33.33, 0], [33.33, 0], [33.33, 33.33]],
  ['only 2 endpoints', [30, 30, 30], [2, 0, 0], [33.33, 0], [33.33, 0], [33.33, 33.33]],
  ['somewhat balanced small', [30, 30, 30], [3, 2, 2], [100, 16.67], [100, 16.67], [100, 100]],
  ['somewhat balanced medium', [30, 30, 30], [10, 9, 12], [100, 14.81], [100, 14.81], [100, 100]],
  ['somewhat balanced large', [30, 30, 30], [60, 65, 55], [100, 9.09], [100, 9.09], [100, 100]],
  ['somewhat balanced huge', [300, 300, 300], [654, 704, 555], [100, 14.89], [100, 14.89], [100, 100]],
  ['balanced, uneven nodes', [40, 30, 20], [40, 30, 20], [100, 0], [100, 0], [100, 100]],
  ['unbalanced, uneven nodes', [40, 30, 20], [70, 25, 15], [87.2, 18.28], [97.39, 46.67], [88.08, 87.2]],
  ['mostly balanced small', [1, 2, 2], [3, 2, 2], [63.33, 16.67], [100, 40], [88.57, 73.33]],
  ['mostly balanced medium', [15, 20, 12], [10, 18, 10], [97.1, 10.25], [100, 21.28], [99.66, 97.1]],
  ['mostly balanced large', [54, 58, 74], [80, 90, 105], [100, 4.2], [100, 4.2], [100, 100]],
  ['perfectly balanced small', [3, 2, 1], [3, 2, 1], [100, 0], [100, 0], [100, 100]],
  ['perfectly balanced medium', [10, 11, 12], [20, 22, 24], [100, 0], [100, 0], [100, 100]],
  ['perfectly balanced large', [50, 60, 70], [100, 120, 140], [100, 0], [100, 0], [100, 100]],
];

describe('planHints on the named scenarios of the k8s-topology-simulator', () => {
  for (const [name, shares, counts, at20, at50, limits] of SCENARIOS) {
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
      expect([percent(bounds.lp), percent(bounds.integrality)]).to.deep.equal(limits);
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
    expect(hintsByEndpoint(plan)).to.deep.equal({
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

  it('gives each zone with clients its minimum of endpoints', () => {
    const plan = planHints({ ...hot, demand: { a: 0.5, b: 0.4, c: 0.4 }, minEndpoints: 3 });
    expect(Object.values(plan.zones).map(({ endpoints }) => endpoints)).to.deep.equal([3, 3, 3]);
    expect(plan.inZoneShare).to.be.closeTo(2 / 3, 1e-12);
    const all = planHints({ ...hot, minEndpoints: 50 });
    expect(all.spread).to.equal(true);
  });

  it('leaves endpoints of a zone without clients to their zone, unless others need them', () => {
    const plan = planHints({ endpoints: endpointsIn([1, 1]), demand: { a: 0.5, b: 0 }, targetUtilization: 0.8 });
    expect(hintsByEndpoint(plan)).to.deep.equal({ 'a-0000': 'a', 'b-0000': 'b' });
    const needed = planHints({ endpoints: endpointsIn([1, 1]), demand: { a: 1, b: 0 }, targetUtilization: 0.8 });
    expect(needed.zones['a']?.endpoints).to.equal(2);
  });

  it('prefers the least overload where demand is above all capacity, then the least crossing', () => {
    const all = planHints({ ...hot, demand: { a: 4, b: 4, c: 4 } });
    expect(hintsByEndpoint(all)).to.include({ 'a-0000': 'a', 'b-0000': 'b', 'c-0000': 'c' });
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
    expect(hintsByEndpoint(planHints({ ...hot, demand: {} }))).to.include({ 'a-0000': 'a', 'c-0001': 'c' });
    expect(planHints({ ...hot, demand: { a: 0 } })).to.include({ inZoneShare: 1, overload: 0 });
    const none = planHints({ ...hot, endpoints: [] });
    expect(none).to.deep.include({ spread: true, endpoints: [], inZoneShare: 0, bounds: { lp: 0, integrality: 0 } });
    expect(none.overload).to.be.closeTo(3.2, 1e-12);
  });
});
