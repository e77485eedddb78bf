// What holds for every decision about the zone of a Node.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { NodeGroup } from '../../../pkg/apis/core.ts';
import { type ZoneDecision, type ZoneRecord, decideZone } from '../../../pkg/kubeedge/decide.ts';
import { nodeGroup } from '../../fixtures/kubeedge.ts';
import { NOW, type NodeState, edge } from './support.ts';

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
