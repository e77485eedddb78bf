import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Node, NodeGroup } from '../../../../pkg/apis/core.ts';
import type { StringMap } from '../../../../pkg/apis/meta.ts';
import { type NodeGroupCaches, nodeWatches, touchWatches } from '../../../../pkg/controllers/node-groups/controller.ts';
import { type GroupNode, projectGroupNode } from '../../../../pkg/kubeedge/decide.ts';
import { projectPlaces } from '../../../../pkg/kubeedge/stale.ts';
import type { PlacedSlice } from '../../../../pkg/kubeedge/stale.ts';
import { endpoint, node, slice } from '../../../fixtures/core.ts';
import { fakeCache, startWatches } from '../../../fixtures/fake-cache.ts';
import type { FakeCache } from '../../../fixtures/fake-cache.ts';
import { nodeGroup } from '../../../fixtures/kubeedge.ts';

describe('what a change concerns', () => {
  const edge = (zone: string, labels: StringMap = {}, ready = 'True'): GroupNode =>
    projectGroupNode(
      node({
        zone,
        metadata: { name: 'n1', labels },
        status: { conditions: [{ type: 'Ready', status: ready }] },
      } as Node),
    );

  let groups: FakeCache<NodeGroup>;
  let nodes: FakeCache<GroupNode>;
  let slices: FakeCache<PlacedSlice>;
  let told: string[];
  let atStart: string[];
  beforeEach(() => {
    const onNode = projectPlaces(slice({ service: 'web', endpoints: [endpoint({ nodeName: 'n1' })] }));
    groups = fakeCache<NodeGroup>();
    nodes = fakeCache([edge('')]);
    slices = fakeCache([onNode], (value) => (value === 'n1' ? [onNode] : []));
    told = [];
    const caches = { groups, nodes, slices } as unknown as NodeGroupCaches;
    const concerned = (key: string): boolean => key !== 'default/settled';
    const parts = {
      node: nodeWatches(caches),
      touch: touchWatches(caches, concerned),
    };
    atStart = Object.entries(parts).flatMap(([part, watches]) => {
      const keys: string[] = [];
      keys.push = (...added) => told.push(...added.map((key) => `${part} ${key}`));
      return startWatches(watches, keys).map((key) => `${part} ${key}`);
    });
  });

  const cases: { name: string; act: () => void; expected: string[] }[] = [
    {
      name: 'a new group',
      act: () => groups.change(nodeGroup('g'), undefined),
      expected: ['node n1'],
    },
    {
      name: 'a group that says something else',
      act: () => groups.change(nodeGroup('g', { topologyEnabled: false }), nodeGroup('g')),
      expected: ['node n1'],
    },
    { name: 'a group that says the same', act: () => groups.change(nodeGroup('g'), nodeGroup('g')), expected: [] },
    {
      name: 'a group that is gone',
      act: () => groups.change(nodeGroup('g'), nodeGroup('g'), true),
      expected: ['node n1'],
    },
    {
      name: 'a Node with another zone',
      act: () => nodes.change(edge('b'), edge('a')),
      expected: ['node n1', 'touch default/web'],
    },
    {
      name: 'a Node with another label',
      act: () => nodes.change(edge('a', { site: 'x' }), edge('a')),
      expected: ['node n1'],
    },
    { name: 'a heartbeat', act: () => nodes.change(edge('a', {}, 'False'), edge('a')), expected: [] },
    { name: 'a new Node', act: () => nodes.change(edge('a'), undefined), expected: ['node n1', 'touch default/web'] },
    { name: 'a Node that is gone', act: () => nodes.change(edge('a'), edge('a'), true), expected: ['node n1'] },
    {
      name: 'a slice',
      act: () => slices.change(projectPlaces(slice({ service: 'web' })), undefined),
      expected: ['touch default/web'],
    },
    { name: 'a slice without Service', act: () => slices.change(projectPlaces({}), undefined), expected: [] },
  ];
  for (const { name, act, expected } of cases)
    it(name, () => {
      act();
      expect(told).to.deep.equal(expected);
    });

  it('is nothing for a Service whose zones are settled', () => {
    slices.change(projectPlaces(slice({ service: 'settled' })), undefined);
    expect(told).to.deep.equal([]);
  });

  it('is everything at the start', () => expect(atStart).to.deep.equal(['node n1', 'touch default/web']));
});
