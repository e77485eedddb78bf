// The zone of a Node in a NodeGroup: a table for each case.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import fc from 'fast-check';
import { ANNOTATION_GROUP_ZONE, LABEL_ZONE } from '../../../pkg/apis/names.ts';
import { decideZone, formatRecord } from '../../../pkg/kubeedge/decide.ts';
import type { GroupNode, ZoneDecision, ZoneRecord } from '../../../pkg/kubeedge/decide.ts';
import type { NodeGroup } from '../../../pkg/apis/core.ts';
import { nodeGroup } from '../../fixtures/kubeedge.ts';

const NOW = 1_800_000_000;

interface NodeState {
  readonly zone?: string | undefined;
  readonly record?: ZoneRecord | undefined;
  readonly zoneManagers?: readonly string[];
  readonly memberManagers?: readonly string[];
}

const edge = ({ zone, record, zoneManagers = [], memberManagers = [] }: NodeState = {}): GroupNode => ({
  metadata: {
    name: 'n1',
    labels: { site: 'north', ...(zone === undefined ? {} : { [LABEL_ZONE]: zone }) },
    annotations: record === undefined ? {} : { [ANNOTATION_GROUP_ZONE]: formatRecord(record) },
  },
  zoneManagers,
  memberManagers,
});

const DAY = 86_400;

const north = (options: Parameters<typeof nodeGroup>[1] = {}): NodeGroup =>
  nodeGroup('north', { nodes: ['n1'], ...options });

const ours: ZoneRecord = { zone: 'north', losses: 0 };

const overCloud: ZoneRecord = { ...ours, previous: 'eu-1a' };

/** The parts of a decision that act: kind, reason and groups; of a write also zone and record, and whether the label changes. */
const brief = (decision: ZoneDecision): string => {
  if (decision.kind === 'none') return 'none';
  const { kind, reason, groups } = decision;
  const about = `${kind} ${reason} [${groups.join()}]`;
  if (decision.kind !== 'write') return about;
  const { zone = 'no zone', record, moves } = decision;
  return `${about} ${moves ? zone : `stays ${zone}`} ${record === undefined ? 'no record' : formatRecord(record)}`;
};

const HELD = { zone: 'north', record: ours };
const TAKEN = { zone: 'north', record: overCloud };
const TAKES = [north({ takeover: true })];
const OFF = [north({ topologyEnabled: false })];
const NONE = 'no zone no record';
const gone = [north({ deletionTimestamp: '2026-01-01T00:00:00Z' })];
const westOff = [nodeGroup('west', { nodes: ['n1'], topologyEnabled: false })];
const both = (...managers: string[]) => ({ zoneManagers: managers, memberManagers: managers });
const west = (options: Parameters<typeof nodeGroup>[1] = {}) => nodeGroup('west', { nodes: ['n1'], ...options });
const KUBEEDGE = ['controllermanager'];
const OURS = 'write Assigned [north] north {"zone":"north"}';
const OVER_CLOUD = 'north {"zone":"north","previous":"eu-1a"}';
const FOREIGN = 'refused ForeignZone [north]';
const SEVERAL = 'refused InSeveralGroups [north,west]';
const MANAGED = 'refused ManagedByKubeEdge [north]';
const long = 'x'.repeat(70);
const south = (record: Partial<ZoneRecord> = {}): ZoneRecord => ({
  zone: 'south',
  previous: 'eu-1a',
  losses: 0,
  ...record,
});
const lost = (losses: number, agoSeconds = 60): ZoneRecord => ({ ...ours, losses, lostAt: NOW - agoSeconds });
const again = (losses: number, previous = ''): string =>
  `write Reasserted [north] north {"zone":"north",${previous}"losses":${losses},"lostAt":${NOW}}`;

/** `says`: what the message must name. Without groups, the Node is in the group north. */
type Case = readonly [name: string, given: NodeState & { groups?: NodeGroup[] }, expected: string, says?: RegExp];

const tables: Record<string, Case[]> = {
  assignment: [
    ['no group', { groups: [] }, 'none'],
    ['a group without topology', { groups: OFF }, 'none'],
    ['another group', { groups: [nodeGroup('south', { nodes: ['s1'] })] }, 'none'],
    ['a Node without zone', {}, OURS, /Node n1 .*NodeGroup north.*no value to "north"/],
    ['by labels', { groups: [nodeGroup('north', { matchLabels: { site: 'north' } })] }, OURS],
    ['a zone that is ours', HELD, 'settled Assigned [north]'],
    ['a zone that happens to be the same', { zone: 'north' }, 'settled AlreadyInZone [north]'],
    [
      'no name of a label',
      { groups: [nodeGroup(long, { nodes: ['n1'] })] },
      `refused InvalidZoneName [${long}]`,
      /63 char/,
    ],
    [
      'another group by now',
      { zone: 'south', record: south({ losses: 1, lostAt: NOW }), groups: TAKES },
      `write Assigned [north] ${OVER_CLOUD}`,
    ],
    [
      'another group by now, written by another',
      { zone: 'north', record: south(), groups: TAKES },
      `write Adopted [north] stays ${OVER_CLOUD}`,
    ],
    ['a record that says nothing', { zone: 'eu-1a', record: { zone: 'a b', losses: 0 } }, FOREIGN],
  ],
  takeover: [
    ['a zone of a cloud', { zone: 'eu-1a' }, FOREIGN, /"eu-1a".*takeover: "true"/],
    ['the same with takeover', { zone: 'eu-1a', groups: TAKES }, `write Assigned [north] ${OVER_CLOUD}`],
    ['taken over', { ...TAKEN, groups: TAKES }, 'settled Assigned [north]'],
    ['withdrawn', TAKEN, 'write Restored [north] eu-1a no record', /may not take it over any more/],
    ['by the old group only', { zone: 'south', record: south() }, 'write Restored [north] eu-1a no record'],
  ],
  restoration: [
    ['no topology any more', { ...HELD, groups: OFF }, `write Restored [] ${NONE}`],
    [
      'no group any more',
      { ...TAKEN, groups: [] },
      'write Restored [] eu-1a no record',
      /"north" to "eu-1a", as before/,
    ],
    ['a group on its way out', { ...HELD, groups: gone }, `write Restored [] ${NONE}`],
    [
      'a zone that the cloud has set since',
      { zone: 'eu-1b', record: overCloud, groups: [] },
      'write Released [] stays eu-1b no record',
    ],
    ['a label that is gone and was ours alone', { record: ours, groups: [] }, `write Released [] stays ${NONE}`],
    [
      "a label that is gone and was a cloud's",
      { record: overCloud, groups: [] },
      'refused LabelTakenAway []',
      /before the group it was "eu-1a".*by hand/,
    ],
    ['a zone of another writer', { zone: 'eu-1a', groups: [] }, 'none'],
    [
      'a zone that KubeEdge wrote again',
      { ...HELD, zoneManagers: KUBEEDGE, groups: [] },
      'write Released [] stays north no record',
    ],
    [
      "the same, where a cloud's was before",
      { ...TAKEN, zoneManagers: KUBEEDGE, groups: [] },
      'refused ManagedByKubeEdge []',
      /before the group it was "eu-1a"/,
    ],
  ],
  'several groups': [
    ['both with topology', { groups: [west(), north()] }, SEVERAL, /NodeGroups north, west/],
    ['one with topology', { groups: [...westOff, north()] }, SEVERAL],
    ['none with topology', { groups: [...westOff, ...OFF] }, 'none'],
    ['a zone of ours stays', { ...HELD, groups: [...OFF, ...westOff] }, SEVERAL],
    ['with takeover as well', { zone: 'eu-1a', groups: [...TAKES, west({ takeover: true })] }, SEVERAL],
  ],
  rivals: [
    [
      "KubeEdge's controller wrote it",
      { zone: 'north', zoneManagers: KUBEEDGE },
      MANAGED,
      /KubeEdge's own controller wrote/,
    ],
    ['over ours', { ...HELD, zoneManagers: KUBEEDGE }, MANAGED],
    ['another value', { zone: 'south', zoneManagers: KUBEEDGE, groups: TAKES }, MANAGED],
    ['another value after ours', { zone: 'south', record: ours, zoneManagers: KUBEEDGE, groups: TAKES }, MANAGED],
    ['another name, known from its own label', { zone: 'north', ...both('edge-apps') }, MANAGED],
    ['a person wrote both', { zone: 'north', ...both('kubectl-label') }, 'settled AlreadyInZone [north]'],
    ['we wrote both', { ...HELD, ...both('flow-controller') }, 'settled Assigned [north]'],
    [
      'a cloud wrote it',
      { zone: 'eu-1a', zoneManagers: ['cloud-controller-manager'], memberManagers: KUBEEDGE },
      FOREIGN,
    ],
    ['gone once', { record: ours }, again(1)],
    ["gone once, and a cloud's before", { record: overCloud, groups: TAKES }, again(1, '"previous":"eu-1a",')],
    ['gone twice', { record: lost(1) }, again(2)],
    [
      'gone three times',
      { record: lost(2) },
      'refused LabelTakenAway [north]',
      /remove the annotation .*node-group-zone/,
    ],
    ['gone three times, long ago', { record: lost(2, DAY + 1) }, again(1)],
    ['replaced by a cloud', { zone: 'eu-1b', record: ours }, FOREIGN],
    [
      'replaced by a cloud, with takeover',
      { zone: 'eu-1b', record: overCloud, groups: TAKES },
      again(1, '"previous":"eu-1b",'),
    ],
  ],
};

describe('the zone of a Node', () => {
  for (const [title, cases] of Object.entries(tables)) {
    for (const [name, { groups = [north()], ...node }, expected, says = /^/] of cases)
      it(`${title}: ${name}`, () => {
        const decision = decideZone(edge(node), groups, NOW);
        expect(brief(decision)).to.equal(expected);
        expect(decision.kind === 'none' ? '' : decision.message).to.match(says);
      });
  }
});

// What holds for every decision about the zone of a Node.
const zones = ['north', 'south', 'eu-1a', 'eu-1b'];

const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });

const states: fc.Arbitrary<NodeState> = fc.record({
  zone: maybe(fc.constantFrom(...zones)),
  record: maybe(
    fc
      .record({
        zone: fc.constantFrom('north', 'south'),
        previous: maybe(fc.constantFrom('eu-1a', 'eu-1b')),
        losses: fc.nat(3),
      })
      .map(({ zone, previous, losses }): ZoneRecord => ({
        zone,
        ...(previous === undefined ? {} : { previous }),
        losses,
        ...(losses === 0 ? {} : { lostAt: NOW - 60 }),
      })),
  ),
  zoneManagers: fc.constantFrom<readonly string[]>([], ['controllermanager'], ['flow-controller']),
});

const someGroups: fc.Arbitrary<NodeGroup[]> = fc
  .uniqueArray(
    fc.record({
      name: fc.constantFrom('north', 'south'),
      member: fc.boolean(),
      topologyEnabled: fc.boolean(),
      takeover: fc.boolean(),
    }),
    { selector: ({ name }) => name, maxLength: 2 },
  )
  .map((all) =>
    all.map(({ name, member, ...options }) => nodeGroup(name, { ...options, nodes: member ? ['n1'] : ['other'] })),
  );

/** What the Node is after the decision. */
const applied = (state: NodeState, decision: ZoneDecision): NodeState => {
  if (decision.kind !== 'write') return state;
  const { zone, record, moves } = decision;
  return {
    zone,
    record,
    ...(moves ? { zoneManagers: ['flow-controller'] } : { zoneManagers: state.zoneManagers ?? [] }),
  };
};

describe('every decision about a zone', () => {
  const property = (check: (state: NodeState, groups: NodeGroup[], decision: ZoneDecision) => void): void =>
    fc.assert(
      fc.property(states, someGroups, (state, groups) => check(state, groups, decideZone(edge(state), groups, NOW))),
    );

  it('needs no second one after at most two', () => {
    property((state, groups) => {
      let now = state;
      for (let turn = 0; turn < 2; turn += 1) now = applied(now, decideZone(edge(now), groups, NOW));
      expect(decideZone(edge(now), groups, NOW).kind).not.to.equal('write');
    });
  });

  it("never overwrites or removes another writer's zone without takeover", () => {
    property(({ zone, record }, groups, decision) => {
      if (decision.kind !== 'write' || !decision.moves || zone === undefined || zone === record?.zone) return;
      expect(decision.zone).not.to.equal(undefined);
      const group = groups.find(({ spec }) => spec?.nodes?.includes('n1'));
      expect(group?.metadata?.annotations).to.have.property('topology.extensions.gardener.cloud/takeover', 'true');
    });
  });

  it('remembers the zone that it replaces', () => {
    property(({ zone, record }, _groups, decision) => {
      if (decision.kind !== 'write' || decision.record === undefined || zone === undefined) return;
      if (zone === record?.zone || !decision.moves) expect(decision.record.previous).to.equal(record?.previous);
      else expect(decision.record.previous).to.equal(zone);
    });
  });

  it("never changes a zone that is KubeEdge's", () => {
    property((state, _groups, decision) => {
      if (state.zone === undefined || !state.zoneManagers?.includes('controllermanager')) return;
      expect(decision).not.to.include({ kind: 'write', moves: true });
    });
  });
});
