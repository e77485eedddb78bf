import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { type Reports, createReports } from '../../../../pkg/controllers/node-groups/zones.ts';
import type { ZoneDecision, ZoneRefusal, ZoneWrite } from '../../../../pkg/kubeedge/decide.ts';
import { node } from '../../../fixtures/core.ts';
import { nodeGroup } from '../../../fixtures/kubeedge.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../../../fixtures/recording-logger.ts';
import { eventLog } from './support.ts';

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

describe('reports about zones', () => {
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
