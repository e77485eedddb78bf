// Which Nodes count for a zone's share, and when shares are unknown.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { zoneShares } from '../../../../pkg/upstream/controller/allocation.ts';
import { nodeOf, nodesOf } from '../support.ts';

describe('zoneShares', () => {
  it('shares by allocatable CPU of ready worker nodes', () => {
    const shares = zoneShares([
      nodeOf('n1', 'b', '2.5'),
      nodeOf('n2', 'a', '1'),
      nodeOf('n3', 'a', '500m'),
      nodeOf('n4', 'c', '8', { ready: 'False' }),
      nodeOf('n5', 'c', '8', { ready: 'Unknown' }),
    ]);
    expect(shares.kind === 'known' && [...shares.ratios]).to.deep.equal([
      ['a', 0.375],
      ['b', 0.625],
    ]);
    expect(shares.kind === 'known' && [...shares.milliCpu]).to.deep.equal([
      ['a', 1500],
      ['b', 2500],
    ]);
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
