// The numbers of endpoints that get no hints, and why the order of doubles matters.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { MINIMUM_FACTOR, allocate, isOverloaded, zoneShares } from '../../../../pkg/upstream/controller/allocation.ts';
import { nodeOf, nodesOf, zonesNamed } from '../support.ts';

const equal = (zones: number): Map<string, number> =>
  new Map(zonesNamed(zones).map((zone) => [zone, 1000 / (1000 * zones)]));

describe('allocate', () => {
  for (const { zones, refused } of [
    { zones: 2, refused: [3, 5] },
    { zones: 3, refused: [4, 5, 8, 11] },
    { zones: 4, refused: [5, 6, 7, 10, 11, 15] },
    { zones: 5, refused: [6, 7, 8, 9, 12, 13, 14, 19, 24] },
    { zones: 6, refused: [8, 9, 10, 11, 15, 16, 17, 22, 23, 29] },
  ]) {
    it(`${zones} equal zones: no hints for ${refused.join(', ')} endpoints and no other number`, () => {
      const found = Array.from({ length: 200 - zones }, (_, index) => index + zones).filter(
        (count) => allocate(equal(zones), count).kind === 'refused',
      );
      expect(found).to.deep.equal(refused);
    });
  }

  it('multiplies doubles in the order of the original', () => {
    expect(MINIMUM_FACTOR).to.equal(0.8333333333333334);
    // 0.2 * 6 is 1.2000000000000002 and 0.8 * 6 is 4.800000000000001, so the minimums are 2 and 5; exact fractions would give 1 and 4, and hints.
    const shares = new Map(Object.entries({ a: 0.2, b: 0.8 }));
    expect(allocate(shares, 6)).to.include({ reason: 'OverloadThreshold' });
    expect(allocate(shares, 5).kind).to.equal('allocated');
  });

  for (const [name, ratios, endpoints, expected] of [
    ['unknown shares', undefined, 9, { kind: 'refused', reason: 'InsufficientNodeInformation' }],
    ['one zone', equal(1), 9, { kind: 'refused', reason: 'NodesInOneZone', endpoints: 9, zones: 1 }],
    ['no endpoints', equal(3), 0, { kind: 'refused', reason: 'TooFewEndpoints', endpoints: 0, zones: 3 }],
    ['fewer than zones', equal(3), 2, { kind: 'refused', reason: 'TooFewEndpoints', endpoints: 2, zones: 3 }],
    ['overload', equal(3), 4, { kind: 'refused', reason: 'OverloadThreshold', endpoints: 4, zones: 3 }],
  ] as const)
    it(`refuses: ${name}`, () => expect(allocate(ratios, endpoints)).to.deep.equal(expected));

  it('keeps minimum ≤ desired ≤ maximum + 1, and the minimums within the endpoints', () => {
    const weights = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(weights, fc.integer({ min: 0, max: 300 }), (milli, endpoints) => {
        const total = milli.reduce((sum, own) => sum + own, 0);
        const result = allocate(new Map(milli.map((own, index) => [`z${index}`, own / total])), endpoints);
        if (result.kind === 'refused') return;
        const zones = [...result.zones.values()];
        const minimums = zones.reduce((sum, { minimum }) => sum + minimum, 0);
        expect(minimums).to.be.at.most(endpoints);
        for (const { minimum, desired, maximum } of zones) {
          expect(minimum).to.be.at.least(1);
          expect(desired).to.be.at.least(minimum);
          expect(maximum).to.equal(minimum + endpoints - minimums);
        }
      }),
    );
  });
});

const thirds = new Map(Object.entries({ a: 1 / 3, b: 1 / 3, c: 1 / 3 }));

describe('isOverloaded', () => {
  for (const [name, hinted, ratios, overloaded] of [
    ['holds no hints', {}, thirds, false],
    ['holds no hints and shares are unknown', {}, undefined, false],
    ['holds hints and shares are unknown', { a: 1 }, undefined, true],
    ['is even', { a: 2, b: 2, c: 2 }, thirds, false],
    ['has nothing for a zone', { a: 3, b: 3 }, thirds, true],
    ['has one fewer than the minimum', { a: 5, b: 4, c: 3 }, thirds, true],
    ['has just the minimum', { a: 5, b: 5, c: 4, d: 0 }, thirds, false],
    ['holds a zone that is gone', { a: 1, b: 1, gone: 4 }, new Map(Object.entries({ a: 0.5, b: 0.5 })), true],
  ] as const) {
    it(`${overloaded ? 'yes' : 'no'}: a Service that ${name}`, () =>
      expect(isOverloaded(new Map(Object.entries(hinted)), ratios)).to.equal(overloaded));
  }
});

// Which Nodes count for a zone's share, and when shares are unknown.
describe('zoneShares', () => {
  it('shares by allocatable CPU of ready worker nodes', () => {
    const shares = zoneShares([
      nodeOf('n1', 'b', '2.5'),
      nodeOf('n2', 'a', '1'),
      nodeOf('n3', 'a', '500m'),
      nodeOf('n4', 'c', '8', { ready: 'False' }),
      nodeOf('n5', 'c', '8', { ready: 'Unknown' }),
    ]);
    const known = shares.kind === 'known' ? [shares.ratios, shares.milliCpu] : [];
    expect(known.map((of) => [...of].join(' '))).to.deep.equal(['a,0.375 b,0.625', 'a,1500 b,2500']);
  });

  for (const [name, extra] of [
    ['a control-plane node', nodeOf('x', '', '', { labels: { 'node-role.kubernetes.io/control-plane': '' } })],
    ['a master', nodeOf('x', 'a', '9', { labels: { 'node-role.kubernetes.io/master': 'false' } })],
    ['a node that is not ready and has no zone', nodeOf('x', '', '1', { ready: 'False' })],
    ['a node without conditions', { ...nodeOf('x', '', '1'), status: { allocatable: { cpu: '1' } } }],
  ] as const) {
    it(`does not count ${name}`, () =>
      expect(zoneShares([...nodesOf({ a: '1', b: '3' }), extra])).to.deep.equal(
        zoneShares(nodesOf({ a: '1', b: '3' })),
      ));
  }
  it('counts a cordoned and tainted node', () => {
    const cordoned = {
      ...nodeOf('x', 'a', '2'),
      spec: { unschedulable: true, taints: [{ key: 'k', effect: 'NoExecute' }] },
    };
    const shares = zoneShares([...nodesOf({ a: '1', b: '3' }), cordoned]);
    expect(shares.kind === 'known' && shares.ratios.get('a')).to.equal(0.5);
  });

  for (const [name, nodes, cause, at] of [
    ['a node without zone', [...nodesOf({ a: '1', b: '1' }), nodeOf('x', '')], 'NodeWithoutZone', ['x']],
    ['a node without CPU', [...nodesOf({ a: '1', b: '1' }), nodeOf('x', 'a', '')], 'NodeWithoutCpu', ['x']],
    ['a node with zero CPU', [...nodesOf({ a: '1', b: '1' }), nodeOf('x', 'a', '0')], 'NodeWithoutCpu', ['x']],
    ['one zone', nodesOf({ a: '1' }), 'FewerThanTwoZones', []],
    ['no nodes', [], 'FewerThanTwoZones', []],
  ] as const) {
    it(`knows nothing with ${name}, and says so`, () => {
      const shares = zoneShares(nodes);
      expect(shares).to.deep.include({ kind: 'unknown', cause, nodes: at });
      expect(shares.kind === 'unknown' && shares.message).to.include(at[0] ?? 'two are needed');
    });
  }

  it('does not depend on the order of the nodes, and adds up to one', () => {
    const nodes = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: 1, max: 64_000 })), {
      minLength: 2,
      maxLength: 20,
    });
    fc.assert(
      fc.property(nodes, (entries) => {
        const built = entries.map(([zone, cpu], index) => nodeOf(`n${index}`, zone, `${cpu}m`));
        const shares = zoneShares(built);
        expect(zoneShares([...built].reverse())).to.deep.equal(shares);
        if (shares.kind === 'unknown') return;
        expect([...shares.ratios.values()].reduce((sum, ratio) => sum + ratio, 0)).to.be.closeTo(1, 1e-12);
      }),
    );
  });
});
