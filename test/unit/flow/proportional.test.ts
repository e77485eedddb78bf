import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { planProportional } from '../../../pkg/flow/planner.ts';
import type { Plan } from '../../../pkg/flow/types.ts';
import { allocate } from '../../../pkg/upstream/index.ts';
import { zoneWeights } from '../../../pkg/flow/evaluate.ts';
import { node } from '../../fixtures/core.ts';
import { ZONES, endpointsIn } from './factories.ts';

const weightsOf = (shares: readonly number[]): Record<string, number> =>
  Object.fromEntries(shares.map((share, zone) => [ZONES[zone]!, share]));

const plan = (shares: readonly number[], counts: readonly number[], maxOverload?: number): Plan =>
  planProportional({
    weights: weightsOf(shares),
    endpoints: endpointsIn(counts),
    ...(maxOverload === undefined ? {} : { maxOverload }),
  });

const hintsOf = ({ endpoints }: Plan): string[] =>
  endpoints.map(({ name, forZones }) => `${name}: ${forZones.join('+')}`);

/** What upstream's algorithm would do with so many endpoints. */
const upstream = (shares: readonly number[], endpoints: number): string => {
  const total = shares.reduce((sum, share) => sum + share, 0);
  return allocate(new Map(shares.map((share, zone) => [ZONES[zone]!, share / total])), endpoints).kind;
};

describe('planProportional', () => {
  it('keeps the 20 % that upstream’s own output breaks: shares 1:6:10, endpoints 1, 1 and 4', () => {
    expect(upstream([1, 6, 10], 6)).to.equal('allocated');
    const { maxUtilization, overload, inZoneShare, exact, endpoints } = plan([1, 6, 10], [1, 1, 4]);
    expect(maxUtilization).to.be.at.most(1.2 + 1e-9);
    expect({ overload, exact }).to.deep.equal({ overload: 0, exact: true });
    expect(inZoneShare).to.be.greaterThan(0.6);
    expect(endpoints.every(({ forZones }) => forZones.length > 0)).to.equal(true);
  });

  it('keeps it for shares 1:2:2, endpoints 0, 4 and 5', () => {
    const { maxUtilization, exact, inZoneShare } = plan([1, 2, 2], [0, 4, 5]);
    expect(maxUtilization).to.be.at.most(1.2 + 1e-9);
    expect(exact).to.equal(true);
    expect(inZoneShare).to.be.at.least(0.7);
  });

  const refused = [4, 5, 8, 11];
  for (const count of refused) {
    it(`hints ${count} endpoints in three equal zones, for which upstream has none, where 20 % allow it`, () => {
      expect(upstream([1, 1, 1], count)).to.equal('refused');
      const counts = [0, 1, 2].map((zone) => Math.floor((count + 2 - zone) / 3));
      const found = plan([1, 1, 1], counts);
      const spread = count / 3 / count;
      expect(found.maxUtilization).to.be.at.most(1.2 + 1e-9);
      expect(found.inZoneShare).to.be.greaterThan(spread);
    });
  }

  it('is pure locality where that is even', () => {
    expect(hintsOf(plan([3, 2, 1], [3, 2, 1]))).to.deep.equal([
      'a-0000: a',
      'a-0001: a',
      'a-0002: a',
      'b-0000: b',
      'b-0001: b',
      'c-0000: c',
    ]);
  });

  it('gives way in name order, not at random', () => {
    expect(hintsOf(plan([2, 1], [2, 4]))).to.deep.equal(hintsOf(plan([200, 100], [2, 4])));
    const lent = plan([2, 1], [2, 4]).endpoints.filter(
      ({ name, forZones }) => name.startsWith('b') && forZones.includes('a'),
    );
    expect(lent.map(({ name }) => name)).to.deep.equal(['b-0000', 'b-0001']);
  });

  it('allows more or less overload where asked to', () => {
    expect(plan([1, 2, 2], [3, 2, 2], 0.5).inZoneShare).to.equal(1);
    expect(plan([1, 2, 2], [3, 2, 2], 0).maxUtilization).to.be.closeTo(1, 1e-9);
  });

  it('keeps hints in force that are as good', () => {
    const first = plan([1, 6, 10], [1, 1, 4]);
    const inForce = endpointsIn([1, 1, 4]).map((endpoint, index) => ({
      ...endpoint,
      forZones: first.endpoints[index]!.forZones,
    }));
    expect(planProportional({ weights: weightsOf([1, 6, 10]), endpoints: inForce }).changes).to.equal(0);
  });

  it('refuses a negative limit and negative weights', () => {
    expect(() => plan([1, 1], [1, 1], -0.1)).to.throw(RangeError, 'maxOverload must be 0 or more, got -0.1');
    expect(() => plan([1, -0.5], [1, 1])).to.throw(RangeError, 'demand of zone "b"');
  });

  it('never lets an endpoint above its limit, for any weights', () => {
    const shares = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 3, maxLength: 3 });
    const counts = fc
      .array(fc.nat({ max: 12 }), { minLength: 3, maxLength: 3 })
      .filter((list) => list.some((count) => count > 0));
    fc.assert(
      fc.property(shares, counts, (weights, endpoints) => {
        const found = plan(weights, endpoints);
        expect(found.overload).to.equal(0);
        expect(found.maxUtilization).to.be.at.most(1.2 + 1e-8);
      }),
    );
  });
});

const worker = (name: string, zone: string, cpu: string) =>
  node({ zone, metadata: { name }, status: { allocatable: { cpu }, conditions: [{ type: 'Ready', status: 'True' }] } });

describe('zoneWeights', () => {
  const nodes = [worker('n1', 'b', '4'), worker('n2', 'a', '1500m'), worker('n3', 'a', '2')];

  it('counts allocatable CPU in millicores, as upstream does', () => {
    expect(zoneWeights({ nodes, by: 'cpu' })).to.deep.equal({ kind: 'known', weights: { a: 3500, b: 4000 } });
  });

  it('counts Nodes', () => {
    expect(zoneWeights({ nodes, by: 'nodes' })).to.deep.equal({ kind: 'known', weights: { a: 2, b: 1 } });
  });

  it('says why CPU is unknown, where the number of Nodes still is known', () => {
    const broken = [...nodes, worker('n4', 'b', '0')];
    expect(zoneWeights({ nodes: broken, by: 'cpu' }))
      .to.have.property('message')
      .that.contains('n4');
    expect(zoneWeights({ nodes: broken, by: 'nodes' })).to.deep.equal({ kind: 'known', weights: { a: 2, b: 2 } });
  });

  it('needs two zones', () => {
    const one = [worker('n1', 'a', '4'), worker('n2', 'a', '4')];
    expect(zoneWeights({ nodes: one, by: 'cpu' })).to.have.property('kind', 'unknown');
    expect(zoneWeights({ nodes: one, by: 'nodes' })).to.deep.equal({
      kind: 'unknown',
      message: 'Nodes are in 1 zones, and two are needed',
    });
  });
});
