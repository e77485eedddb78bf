// A Node, or an endpoint, whose zone is named as the hint that sends nowhere has no zone: evacuated endpoints would be in it.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { NOWHERE } from '../../../pkg/apis/names.ts';
import { zoneOfNode, zonesOfNodes } from '../../../pkg/apis/core.ts';
import { readyZones } from '../../../pkg/controllers/effectiveness/reconciler.ts';
import { createCollector } from '../../../pkg/diagnosis/project/collect.ts';
import { itemsOf } from '../../../pkg/diagnosis/snapshot.ts';
import { baseOf } from '../../../pkg/evacuation/slice.ts';
import { clientZonesOf, createSliceProjection } from '../../../pkg/flow/assemble/slice.ts';
import { zoneWeights } from '../../../pkg/flow/evaluate.ts';
import { createDirectory } from '../../../pkg/traffic/directory.ts';
import { node, slice } from '../../fixtures/core.ts';

describe('a zone named as the hint for nowhere', () => {
  const nodes = [
    node({ zone: NOWHERE, metadata: { name: 'n' } }),
    node({ zone: 'a', metadata: { name: 'a' } }),
    node({ zone: 'b', metadata: { name: 'b' } }),
    node({ zone: '', metadata: { name: 'c' } }),
  ];
  const endpoint = { addresses: ['10.0.0.1'], zone: NOWHERE, conditions: { ready: true } };
  const placed = slice({ endpoints: [endpoint] });
  const directory = createDirectory();
  for (const each of nodes) directory.setNode(each);

  const rows: readonly (readonly [string, unknown, unknown])[] = [
    ['zone of each Node', nodes.map(zoneOfNode), ['', 'a', 'b', '']],
    ['zones of all Nodes', zonesOfNodes(nodes), ['a', 'b']],
    ['zones of ready Nodes', readyZones(nodes), ['a', 'b']],
    ['zones of clients', clientZonesOf(nodes).zones, ['a', 'b']],
    ['weights of zones', zoneWeights({ nodes, by: 'nodes' }), { kind: 'known', weights: { a: 1, b: 1 } }],
    ['zone in the planner', createSliceProjection()(placed).endpoints.map(({ zone }) => zone), ['']],
    ['zones of a meter', ['n', 'a'].map((name) => directory.zoneOfNode(name)), ['', 'a']],
    // What is stored during an evacuation is still read as it stands.
    ['hints that are stored', baseOf({ forZones: [{ name: NOWHERE }] }).zones, [NOWHERE]],
  ];
  for (const [name, found, expected] of rows) it(name, () => expect(found).to.deep.equal(expected));

  it('is no zone of a diagnosis', () => {
    const collector = createCollector();
    collector.add(placed);
    const [read] = itemsOf(collector.snapshot(new Map()).slices);
    expect(read?.endpoints?.map(({ zone }) => zone)).to.deep.equal([undefined]);
  });
});
