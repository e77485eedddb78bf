import { expect } from 'chai';
import { describe, it } from 'mocha';
import { fewestEndpoints, integralityBounds, transportationBound, zoneCostAt } from '../../../pkg/flow/bounds.ts';
import { type EndpointClass, type Problem, createProblem } from '../../../pkg/flow/problem.ts';

const kind = (zone: number, count: number, limit: number): EndpointClass => ({ zone, count, limit, idle: false });

const problem = (demand: readonly number[], classes: readonly EndpointClass[], minEndpoints = 1): Problem =>
  createProblem({ demand, classes, minEndpoints });

describe('flow/bounds', () => {
  it('reaches Envoy’s zone-aware figures where traffic can be divided at will: clients 40/40/20, hosts 25/50/25', () => {
    const envoy = problem([0.4, 0.4, 0.2], [kind(0, 1, 0.25), kind(1, 2, 0.25), kind(2, 1, 0.25)]);
    expect(1 - transportationBound(envoy, 0)).to.be.closeTo(0.85, 1e-12);
  });

  it('counts overload as demand that need not leave: at the least overload, all capacity is used', () => {
    const tight = problem([0.8, 0.2], [kind(0, 2, 0.2), kind(1, 2, 0.2)]);
    // Room for 0.8 of the demand: 0.2 is overload, and zone b has room for 0.2 of zone a's.
    expect(transportationBound(tight, 0)).to.be.closeTo(0.4, 1e-12);
    expect(transportationBound(tight, 0.2)).to.be.closeTo(0.2, 1e-12);
    expect(transportationBound(tight, 1)).to.equal(0);
  });

  it('takes whole endpoints: three where two and a half would do', () => {
    const spill = problem([0.5, 0.5], [kind(0, 2, 0.2), kind(1, 4, 0.2)]);
    expect(fewestEndpoints(spill, 0)).to.equal(3);
    expect(transportationBound(spill, 0)).to.be.closeTo(0.1, 1e-12);
    expect(integralityBounds(spill)).to.deep.equal({ crossing: 0.5 / 3, cost: 0.5 / 3 });
  });

  it('leaves out endpoints that cannot carry an equal part', () => {
    const mixed = problem([0.6, 0.4], [kind(0, 1, 0.5), kind(0, 1, 0.1), kind(1, 4, 0.4)]);
    expect(zoneCostAt(mixed, 0, 1)).to.equal(Infinity);
    // Two of them carry 0.3 each: one is the large own one, the other is remote.
    expect(zoneCostAt(mixed, 0, 2)).to.be.closeTo(0.3, 1e-12);
    // Six carry 0.1 each: now the small one takes part.
    expect(zoneCostAt(mixed, 0, 6)).to.be.closeTo(0.4, 1e-12);
  });

  it('adds what the least suitable endpoint costs: it too must serve some zone', () => {
    // The small endpoint can carry 0.05: of its own zone's demand only if twelve share it, eight of them remote. It is cheapest
    // beside all twenty of zone b.
    const straggler = problem([0.6, 0.4], [kind(0, 3, 0.3), kind(0, 1, 0.05), kind(1, 20, 0.3)]);
    const { crossing } = integralityBounds(straggler);
    expect(crossing).to.be.closeTo(0.4 / 21, 1e-12);
  });

  it('asks nothing of an endpoint whose zone has no clients', () => {
    const idle = problem([1], [kind(0, 3, 0.4), { zone: -1, count: 1, limit: 0.01, idle: true }]);
    expect(integralityBounds(idle).crossing).to.equal(0);
  });

  it('is nothing without clients in any zone', () => {
    const homeless = problem([], [{ zone: -1, count: 1, limit: 0.5, idle: false }]);
    expect(integralityBounds(homeless)).to.deep.equal({ crossing: 0, cost: 0 });
  });

  it('counts a minimum of endpoints', () => {
    const wanted = problem([0.5, 0.5], [kind(0, 2, 1), kind(1, 4, 1)], 4);
    expect(integralityBounds(wanted).crossing).to.be.closeTo(0.25, 1e-12);
  });

  it('says that nothing fits where no number of endpoints carries a zone', () => {
    expect(integralityBounds(problem([0.9, 0.1], [kind(0, 2, 0.2), kind(1, 2, 0.2)])).crossing).to.equal(Infinity);
  });

  it('bounds prices apart from shares', () => {
    const classes = [kind(0, 1, 0.3), kind(1, 2, 0.3), kind(2, 2, 0.3)];
    const cost = [
      [0, 5, 2],
      [1, 0, 1],
      [1, 1, 0],
    ];
    const priced = createProblem({ demand: [0.6, 0.2, 0.2], classes, minEndpoints: 1, cost });
    const { crossing, cost: paid } = integralityBounds(priced);
    expect(crossing).to.be.closeTo(0.3, 1e-12);
    expect(paid).to.be.closeTo(0.6, 1e-12);
  });
});
