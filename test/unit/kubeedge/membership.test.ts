import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { NodeGroup } from '../../../pkg/apis/core.ts';
import { nameOf } from '../../../pkg/apis/values.ts';
import { groupsOf, isLabelValue, isMember, isTopologyEnabled, mayTakeOver } from '../../../pkg/kubeedge/decide.ts';
import { node } from '../../fixtures/core.ts';
import { nodeGroup } from '../../fixtures/kubeedge.ts';

const edge = node({ zone: '', metadata: { name: 'n1', labels: { site: 'north', arch: 'arm64' } } });

describe('membership of a NodeGroup', () => {
  const cases: (readonly [name: string, group: NodeGroup, member: boolean])[] = [
    ['by name', nodeGroup('g', { nodes: ['n0', 'n1'] }), true],
    ['not by another name', nodeGroup('g', { nodes: ['n10'] }), false],
    ['by one label', nodeGroup('g', { matchLabels: { site: 'north' } }), true],
    ['by all labels', nodeGroup('g', { matchLabels: { site: 'north', arch: 'arm64' } }), true],
    ['not by some', nodeGroup('g', { matchLabels: { site: 'north', arch: 'x' } }), false],
    ['not by a label of another value', nodeGroup('g', { matchLabels: { site: 'south' } }), false],
    ['not by what every object has', nodeGroup('g', { matchLabels: { toString: 'x' } }), false],
    ['by name, whatever the labels', nodeGroup('g', { nodes: ['n1'], matchLabels: { a: 'b' } }), true],
    ['nobody where nothing is said', nodeGroup('g'), false],
    ['nobody by no labels', nodeGroup('g', { matchLabels: {} }), false],
    ['nobody where both are null', nodeGroup('g', { nodes: null, matchLabels: null }), false],
    ['nobody without a spec', { metadata: { name: 'g' } }, false],
  ];
  for (const [name, group, member] of cases) it(name, () => expect(isMember(edge, group)).to.equal(member));

  it('lists groups by name, without those on their way out', () => {
    const groups = [
      nodeGroup('b', { nodes: ['n1'] }),
      nodeGroup('gone', { nodes: ['n1'], deletionTimestamp: '2026-01-01T00:00:00Z' }),
      nodeGroup('other', { nodes: ['n2'] }),
      nodeGroup('a', { matchLabels: { site: 'north' }, topologyEnabled: false }),
    ];
    expect(groupsOf(edge, groups).map(nameOf)).to.deep.equal(['a', 'b']);
  });
});

describe('what a NodeGroup says about zones', () => {
  it('is on only where it says true', () => {
    expect(isTopologyEnabled(nodeGroup('g'))).to.equal(true);
    expect(isTopologyEnabled(nodeGroup('g', { topologyEnabled: false }))).to.equal(false);
    expect(isTopologyEnabled({ metadata: { name: 'g' }, spec: {} })).to.equal(false);
    expect(isTopologyEnabled({ metadata: { name: 'g' } })).to.equal(false);
  });

  it('may take over only where it says "true"', () => {
    const annotation = 'topology.extensions.gardener.cloud/takeover';
    expect(mayTakeOver(nodeGroup('g', { takeover: true }))).to.equal(true);
    expect(mayTakeOver(nodeGroup('g'))).to.equal(false);
    expect(mayTakeOver(nodeGroup('g', { annotations: { [annotation]: 'false' } }))).to.equal(false);
    expect(mayTakeOver({ metadata: { name: 'g' } })).to.equal(false);
  });

  for (const { name, value, valid } of [
    { name: 'a short name', value: 'north', valid: true },
    { name: 'dots and dashes', value: 'site-1.north', valid: true },
    { name: '63 characters', value: 'x'.repeat(63), valid: true },
    { name: '64 characters', value: 'x'.repeat(64), valid: false },
    { name: 'one character', value: 'x', valid: true },
    { name: 'nothing', value: '', valid: false },
    { name: 'a dash at the end', value: 'north-', valid: false },
  ])
    it(`${valid ? 'can' : 'cannot'} be a zone: ${name}`, () => expect(isLabelValue(value)).to.equal(valid));
});
