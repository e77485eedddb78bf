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
import { type Reports, createReports } from '../../../../pkg/controllers/node-groups/zones.ts';
import type { ZoneDecision, ZoneRefusal, ZoneWrite } from '../../../../pkg/kubeedge/decide.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../../../fixtures/recording-logger.ts';
import { eventLog } from './support.ts';

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

describe('reports about zones', () => {
  const edge = (name = 'n1') => node({ zone: '', metadata: { name, uid: `uid-${name}` } });

  const refused = (reason: ZoneRefusal, ...groups: string[]): ZoneDecision => ({
    kind: 'refused',
    reason,
    groups,
    message: `because of ${reason}`,
  });

  const written = (reason: ZoneWrite, ...groups: string[]): ZoneDecision => ({
    kind: 'write',
    reason,
    groups,
    zone: 'north',
    record: undefined,
    moves: true,
    message: `because it is ${reason}`,
  });

  const settled: ZoneDecision = { kind: 'settled', reason: 'Assigned', groups: ['north'], message: 'is in place' };
  let events: ReturnType<typeof eventLog>;
  let logger: RecordingLogger;
  let reports: Reports;
  beforeEach(() => {
    events = eventLog();
    logger = recordingLogger();
    reports = createReports({ events, logger, group: (name) => nodeGroup(name) });
  });

  it('report a refusal on the Node and on its group, once', () => {
    for (let turn = 0; turn < 3; turn += 1) reports.report(edge(), refused('ForeignZone', 'north'));
    expect(events.lines).to.deep.equal([
      'Warning ForeignZone Node/n1: because of ForeignZone',
      'Warning ForeignZone NodeGroup/north: because of ForeignZone',
    ]);
    expect(logger.entries.map(({ level, fields }) => [level, fields['reason']])).to.deep.equal([
      ['warn', 'ForeignZone'],
    ]);
  });

  it('report again when the reason or the group is another, or it was well meanwhile', () => {
    reports.report(edge(), refused('ForeignZone', 'north'));
    reports.report(edge(), refused('ZoneBoundVolumes', 'north'));
    reports.report(edge(), refused('ZoneBoundVolumes', 'south'));
    reports.report(edge(), settled);
    reports.report(edge(), refused('ZoneBoundVolumes', 'south'));
    expect(events.lines.filter((line) => line.includes('Node/n1'))).to.have.length(4);
  });

  it('count Nodes by group and state, and not those without a group any more', () => {
    reports.report(edge('n1'), settled);
    reports.report(edge('n2'), written('Assigned', 'north'));
    reports.report(edge('n3'), refused('ForeignZone', 'north'));
    reports.report(edge('n4'), refused('LabelTakenAway'));
    reports.report(edge('n5'), settled);
    reports.report(edge('n5'), written('Restored'));
    reports.report(edge('n6'), settled);
    reports.report(edge('n6'), { kind: 'none' });
    reports.report(edge('n7'), settled);
    reports.forget('n7');
    expect(reports.counts()).to.deep.equal([
      { group: 'north', state: 'Assigned', nodes: 2 },
      { group: 'north', state: 'ForeignZone', nodes: 1 },
      { group: '', state: 'LabelTakenAway', nodes: 1 },
    ]);
  });
});
