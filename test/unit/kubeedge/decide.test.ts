// The zone of a Node in a NodeGroup: a table for each case.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import fc from 'fast-check';
import { ANNOTATION_GROUP_ZONE, LABEL_ZONE } from '../../../pkg/apis/names.ts';
import {
  type GroupNode,
  type ZoneDecision,
  type ZoneRecord,
  decideZone,
  formatRecord,
} from '../../../pkg/kubeedge/decide.ts';
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

/** The parts of a decision that act. */
const brief = (decision: ZoneDecision): object => {
  if (decision.kind === 'none') return { kind: 'none' };
  const { kind, reason, groups } = decision;
  if (decision.kind !== 'write') return { kind, reason, groups };
  const { zone, record, moves } = decision;
  return { kind, reason, groups, zone, record, moves };
};

const writes = (reason: string, zone: string | undefined, record: ZoneRecord | undefined, moves = true) => ({
  kind: 'write',
  reason,
  groups: ['north'],
  zone,
  record,
  moves,
});

const refused = (reason: string, groups = ['north']) => ({ kind: 'refused', reason, groups });

const settled = (reason: string) => ({ kind: 'settled', reason, groups: ['north'] });

/** `says`: what the message must name. */
type Case = readonly [name: string, given: { node?: NodeState; groups?: NodeGroup[] }, expected: object, says?: RegExp];

const assignment: Case[] = [
  ['no group', { groups: [] }, { kind: 'none' }],
  ['a group without topology', { groups: [north({ topologyEnabled: false })] }, { kind: 'none' }],
  ['another group', { groups: [nodeGroup('south', { nodes: ['s1'] })] }, { kind: 'none' }],
  ['a Node without zone', {}, writes('Assigned', 'north', ours), /Node n1 .*NodeGroup north.*no value to "north"/],
  [
    'by labels',
    { groups: [nodeGroup('north', { matchLabels: { site: 'north' } })] },
    writes('Assigned', 'north', ours),
  ],
  ['a zone that is ours', { node: { zone: 'north', record: ours } }, settled('Assigned')],
  ['a zone that happens to be the same', { node: { zone: 'north' } }, settled('AlreadyInZone')],
  [
    'a name that no label can hold',
    { groups: [nodeGroup('x'.repeat(70), { nodes: ['n1'] })] },
    refused('InvalidZoneName', ['x'.repeat(70)]),
    /63 characters/,
  ],
  [
    'another group by now',
    {
      node: { zone: 'south', record: { zone: 'south', previous: 'eu-1a', losses: 1, lostAt: NOW } },
      groups: [north({ takeover: true })],
    },
    writes('Assigned', 'north', overCloud),
  ],
  [
    'another group by now, where somebody was faster',
    {
      node: { zone: 'north', record: { zone: 'south', previous: 'eu-1a', losses: 0 } },
      groups: [north({ takeover: true })],
    },
    writes('Adopted', 'north', overCloud, false),
  ],
  [
    'a record that says nothing',
    { node: { zone: 'eu-1a', record: { zone: 'a b', losses: 0 } } },
    refused('ForeignZone'),
  ],
];

const takeover: Case[] = [
  ['a zone of a cloud', { node: { zone: 'eu-1a' } }, refused('ForeignZone'), /"eu-1a".*takeover: "true"/],
  [
    'the same with takeover',
    { node: { zone: 'eu-1a' }, groups: [north({ takeover: true })] },
    writes('Assigned', 'north', overCloud),
  ],
  [
    'taken over',
    { node: { zone: 'north', record: overCloud }, groups: [north({ takeover: true })] },
    settled('Assigned'),
  ],
  [
    'takeover withdrawn',
    { node: { zone: 'north', record: overCloud } },
    writes('Restored', 'eu-1a', undefined),
    /may not take it over any more/,
  ],
  [
    'takeover by the old group only',
    { node: { zone: 'south', record: { zone: 'south', previous: 'eu-1a', losses: 0 } } },
    writes('Restored', 'eu-1a', undefined),
  ],
];

const restoration: Case[] = [
  [
    'no topology any more',
    { node: { zone: 'north', record: ours }, groups: [north({ topologyEnabled: false })] },
    { ...writes('Restored', undefined, undefined), groups: [] },
  ],
  [
    'no group any more',
    { node: { zone: 'north', record: overCloud }, groups: [] },
    { ...writes('Restored', 'eu-1a', undefined), groups: [] },
    /"north" to "eu-1a", as before/,
  ],
  [
    'a group on its way out',
    { node: { zone: 'north', record: ours }, groups: [north({ deletionTimestamp: '2026-01-01T00:00:00Z' })] },
    { ...writes('Restored', undefined, undefined), groups: [] },
  ],
  [
    'a zone that the cloud has set since',
    { node: { zone: 'eu-1b', record: overCloud }, groups: [] },
    { ...writes('Released', 'eu-1b', undefined, false), groups: [] },
  ],
  [
    'a label that is gone and was ours alone',
    { node: { record: ours }, groups: [] },
    { ...writes('Released', undefined, undefined, false), groups: [] },
  ],
  [
    "a label that is gone and was a cloud's",
    { node: { record: overCloud }, groups: [] },
    refused('LabelTakenAway', []),
    /before the group it was "eu-1a".*by hand/,
  ],
  ["a zone that is nobody's business", { node: { zone: 'eu-1a' }, groups: [] }, { kind: 'none' }],
  [
    "a zone that KubeEdge's controller wrote again, and will remove itself",
    { node: { zone: 'north', record: ours, zoneManagers: ['controllermanager'] }, groups: [] },
    { ...writes('Released', 'north', undefined, false), groups: [] },
  ],
  [
    "the same, where a cloud's was before",
    { node: { zone: 'north', record: overCloud, zoneManagers: ['controllermanager'] }, groups: [] },
    refused('ManagedByKubeEdge', []),
    /before the group it was "eu-1a"/,
  ],
];

const severalGroups: Case[] = [
  [
    'both with topology',
    { groups: [nodeGroup('west', { nodes: ['n1'] }), north()] },
    refused('InSeveralGroups', ['north', 'west']),
    /NodeGroups north, west/,
  ],
  [
    'one with topology',
    { groups: [nodeGroup('west', { nodes: ['n1'], topologyEnabled: false }), north()] },
    refused('InSeveralGroups', ['north', 'west']),
  ],
  [
    'none with topology',
    { groups: [nodeGroup('west', { nodes: ['n1'], topologyEnabled: false }), north({ topologyEnabled: false })] },
    { kind: 'none' },
  ],
  [
    'a zone of ours stays',
    {
      node: { zone: 'north', record: ours },
      groups: [north({ topologyEnabled: false }), nodeGroup('west', { nodes: ['n1'], topologyEnabled: false })],
    },
    refused('InSeveralGroups', ['north', 'west']),
  ],
  [
    'with takeover as well',
    {
      node: { zone: 'eu-1a' },
      groups: [north({ takeover: true }), nodeGroup('west', { nodes: ['n1'], takeover: true })],
    },
    refused('InSeveralGroups', ['north', 'west']),
  ],
];

const rivals: Case[] = [
  [
    "KubeEdge's controller wrote it",
    { node: { zone: 'north', zoneManagers: ['controllermanager'] } },
    refused('ManagedByKubeEdge'),
    /KubeEdge's own controller wrote/,
  ],
  [
    'over ours',
    { node: { zone: 'north', record: ours, zoneManagers: ['controllermanager'] } },
    refused('ManagedByKubeEdge'),
  ],
  [
    'another value',
    { node: { zone: 'south', zoneManagers: ['controllermanager'] }, groups: [north({ takeover: true })] },
    refused('ManagedByKubeEdge'),
  ],
  [
    'another value after ours',
    { node: { zone: 'south', record: ours, zoneManagers: ['controllermanager'] }, groups: [north({ takeover: true })] },
    refused('ManagedByKubeEdge'),
  ],
  [
    'by another name, known from its own label',
    { node: { zone: 'north', zoneManagers: ['edge-apps'], memberManagers: ['edge-apps'] } },
    refused('ManagedByKubeEdge'),
  ],
  [
    'a person wrote both',
    { node: { zone: 'north', zoneManagers: ['kubectl-label'], memberManagers: ['kubectl-label'] } },
    settled('AlreadyInZone'),
  ],
  [
    'we wrote both',
    { node: { zone: 'north', record: ours, zoneManagers: ['flow-controller'], memberManagers: ['flow-controller'] } },
    settled('Assigned'),
  ],
  [
    'a cloud wrote it',
    { node: { zone: 'eu-1a', zoneManagers: ['cloud-controller-manager'], memberManagers: ['controllermanager'] } },
    refused('ForeignZone'),
  ],
  ['gone once', { node: { record: ours } }, writes('Reasserted', 'north', { zone: 'north', losses: 1, lostAt: NOW })],
  [
    "gone once, and a cloud's before",
    { node: { record: overCloud }, groups: [north({ takeover: true })] },
    writes('Reasserted', 'north', { ...overCloud, losses: 1, lostAt: NOW }),
  ],
  [
    'gone twice',
    { node: { record: { ...ours, losses: 1, lostAt: NOW - 60 } } },
    writes('Reasserted', 'north', { zone: 'north', losses: 2, lostAt: NOW }),
  ],
  [
    'gone three times',
    { node: { record: { ...ours, losses: 2, lostAt: NOW - 60 } } },
    refused('LabelTakenAway'),
    /remove the annotation .*node-group-zone/,
  ],
  [
    'gone three times, long ago',
    { node: { record: { ...ours, losses: 2, lostAt: NOW - DAY - 1 } } },
    writes('Reasserted', 'north', { zone: 'north', losses: 1, lostAt: NOW }),
  ],
  ['replaced by a cloud', { node: { zone: 'eu-1b', record: ours } }, refused('ForeignZone')],
  [
    'replaced by a cloud, with takeover',
    { node: { zone: 'eu-1b', record: overCloud }, groups: [north({ takeover: true })] },
    writes('Reasserted', 'north', { zone: 'north', previous: 'eu-1b', losses: 1, lostAt: NOW }),
  ],
];

describe('the zone of a Node', () => {
  for (const [title, cases] of Object.entries({
    assignment,
    takeover,
    restoration,
    'several groups': severalGroups,
    rivals,
  })) {
    describe(title, () => {
      for (const [name, { node, groups = [north()] }, expected, says] of cases) {
        it(name, () => {
          const decision = decideZone(edge(node), groups, NOW);
          expect(brief(decision)).to.deep.equal(expected);
          if (says !== undefined) expect(decision.kind === 'none' ? '' : decision.message).to.match(says);
        });
      }
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
