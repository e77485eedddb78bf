import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { NodeGroup } from '../../../pkg/apis/core.ts';
import { nameOf } from '../../../pkg/apis/values.ts';
import { groupsOf, isLabelValue, isMember, isTopologyEnabled, mayTakeOver } from '../../../pkg/kubeedge/decide.ts';
import { node } from '../../fixtures/core.ts';
import { nodeGroup } from '../../fixtures/kubeedge.ts';

const edge = node({ zone: '', metadata: { name: 'n1', labels: { site: 'north', arch: 'arm64' } } });

describe('membership of a NodeGroup', () => {
  const cases: { name: string; group: NodeGroup; member: boolean }[] = [
    { name: 'by name', group: nodeGroup('g', { nodes: ['n0', 'n1'] }), member: true },
    { name: 'not by another name', group: nodeGroup('g', { nodes: ['n10'] }), member: false },
    { name: 'by one label', group: nodeGroup('g', { matchLabels: { site: 'north' } }), member: true },
    { name: 'by all labels', group: nodeGroup('g', { matchLabels: { site: 'north', arch: 'arm64' } }), member: true },
    { name: 'not by some', group: nodeGroup('g', { matchLabels: { site: 'north', arch: 'x' } }), member: false },
    {
      name: 'not by a label of another value',
      group: nodeGroup('g', { matchLabels: { site: 'south' } }),
      member: false,
    },
    { name: 'not by what every object has', group: nodeGroup('g', { matchLabels: { toString: 'x' } }), member: false },
    {
      name: 'by name, whatever the labels',
      group: nodeGroup('g', { nodes: ['n1'], matchLabels: { a: 'b' } }),
      member: true,
    },
    { name: 'nobody where nothing is said', group: nodeGroup('g'), member: false },
    { name: 'nobody by no labels', group: nodeGroup('g', { matchLabels: {} }), member: false },
    { name: 'nobody where both are null', group: nodeGroup('g', { nodes: null, matchLabels: null }), member: false },
    { name: 'nobody without a spec', group: { metadata: { name: 'g' } }, member: false },
  ];
  for (const { name, group, member } of cases) it(name, () => expect(isMember(edge, group)).to.equal(member));

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
