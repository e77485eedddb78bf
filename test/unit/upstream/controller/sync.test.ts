// A whole sync: stored hints, events and reasons for real objects.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { EVENT_SOURCE, controllerEvent, storedHints, syncHints } from '../../../../pkg/upstream/controller/sync.ts';
import type { Occurrence } from '../../../../pkg/upstream/controller/sync.ts';
import { zoneShares } from '../../../../pkg/upstream/controller/allocation.ts';
import { MODE, aService, aSlice, at, hintCounts, minor, nodeOf, nodesOf } from '../support.ts';

const AUTO = { [MODE]: 'Auto' };
const NODES = nodesOf({ a: '4', b: '4', c: '4' });
const sliceOf = (zones: string) => aSlice(Array.from(zones, (zone, index) => at(zone, index + 1)));
const store = (input: Partial<Parameters<typeof storedHints>[0]>) => {
  const defaults = { service: aService(AUTO), slices: [sliceOf('abc')], nodes: NODES, version: minor(36) };
  return storedHints({ ...defaults, ...input });
};

describe('storedHints', () => {
  it('reports hints of a dual-stack Service once, in the first family', () => {
    const slices = ['IPv6', 'IPv4'].map((addressType) => ({
      ...aSlice(
        Array.from('abc', (zone, index) => at(zone, index + 1)),
        `server-${addressType}`,
      ),
      addressType,
    }));
    const results = store({ slices });
    expect(results.map(({ family, events }) => [family, events.map(({ message }) => message)])).to.deep.equal([
      ['IPv4', ['Topology Aware Hints has been enabled, addressType: IPv4']],
      ['IPv6', []],
    ]);
    expect(results.map((result) => hintCounts(result.slices))).to.deep.equal([
      { a: 1, b: 1, c: 1 },
      { a: 1, b: 1, c: 1 },
    ]);
  });

  const syncs: (readonly [
    name: string,
    input: Parameters<typeof store>[0],
    reason: string,
    hints: Record<string, number>,
    message?: string,
  ])[] = [
    [
      'Auto, one endpoint a zone',
      {},
      'ProportionalHints',
      { a: 1, b: 1, c: 1 },
      'Topology Aware Hints has been enabled',
    ],
    [
      'Auto, four endpoints in three equal zones',
      { slices: [sliceOf('abca')] },
      'OverloadThreshold',
      { none: 4 },
      'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (4 endpoints, 3 zones)',
    ],
    [
      'Auto, two endpoints',
      { slices: [sliceOf('ab')] },
      'TooFewEndpoints',
      { none: 2 },
      'Insufficient number of endpoints (2 endpoints, 3 zones)',
    ],
    [
      'Auto, nodes in one zone',
      { nodes: nodesOf({ a: '4' }) },
      'InsufficientNodeInformation',
      { none: 3 },
      'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes',
    ],
    [
      'Auto, an endpoint without zone',
      { slices: [aSlice([at('a', 1), at('b', 2), at(undefined, 3)])] },
      'EndpointWithoutZone',
      { none: 3 },
      'One or more endpoints do not have a zone specified',
    ],
    [
      'PreferClose, four endpoints',
      { service: aService({}, 'PreferClose'), slices: [sliceOf('abca')] },
      'SameZoneRequested',
      { a: 2, b: 1, c: 1 },
    ],
    [
      'nothing asked, hints found',
      { service: aService(), slices: [aSlice([at('a', 1, { hints: ['a'] })])] },
      'NotRequested',
      { none: 1 },
    ],
    [
      'no selector',
      { service: aService(AUTO, undefined, { selector: {} }), slices: [aSlice([at('a', 1, { hints: ['x'] })])] },
      'NotManaged',
      { x: 1 },
    ],
    ['ExternalName', { service: aService(AUTO, undefined, { type: 'ExternalName' }) }, 'NotManaged', { none: 3 }],
  ];
  for (const [name, input, reason, hints, message] of syncs) {
    it(`${name}: ${reason}`, () => {
      const [result, ...others] = store(input);
      expect(others).to.deep.equal([]);
      expect(result).to.include({ reason, family: 'IPv4' });
      expect(result?.message)
        .to.include('default/server')
        .and.to.not.match(/\{\w+\}/);
      expect(hintCounts(result?.slices ?? [])).to.deep.equal(hints);
      const messages = result?.events.map((event) => event.message);
      expect(messages).to.deep.equal(message === undefined ? [] : [`${message}, addressType: IPv4`]);
    });
  }

  it('names the node that makes shares unknown', () => {
    const [result] = store({ nodes: [...NODES, nodeOf('lost', '')] });
    expect(result?.message).to.include('lost');
  });
  it('judges each family by itself, in name order', () => {
    const six = { ...aSlice([at('a', 1), at('b', 2)], 'six'), addressType: 'IPv6' };
    const results = store({ slices: [six, sliceOf('abc')] });
    expect(results.map(({ family, reason }) => [family, reason])).to.deep.equal([
      ['IPv4', 'ProportionalHints'],
      ['IPv6', 'TooFewEndpoints'],
    ]);
    expect(results[1]?.events[0]?.message).to.match(/, addressType: IPv6$/);
  });
  const authors: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['another author', { 'endpointslice.kubernetes.io/managed-by': 'by-hand' }],
    ['no author, whose label is missing', {}],
  ];
  for (const [author, labels] of authors) {
    it(`leaves slices of ${author} alone and does not count them`, () => {
      const foreign = aSlice([at('a', 9, { hints: ['x'] })], 'foreign');
      const [result] = store({ slices: [sliceOf('abc'), { ...foreign, metadata: { ...foreign.metadata, labels } }] });
      expect(hintCounts(result?.slices ?? [])).to.deep.equal({ a: 1, b: 1, c: 1, x: 1 });
    });
  }

  it('hints every ready endpoint or none, keeps every endpoint, and does not depend on the order of its input', () => {
    const world = fc.record({
      endpoints: fc.array(
        fc.tuple(fc.constantFrom('a', 'b', 'c', undefined), fc.boolean(), fc.constantFrom(undefined, 'a', 'x')),
        { minLength: 1, maxLength: 24 },
      ),
      cpu: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 9 })), {
        minLength: 1,
        maxLength: 8,
      }),
      version: fc.integer({ min: 24, max: 36 }),
    });
    fc.assert(
      fc.property(world, ({ endpoints, cpu, version }) => {
        const built = endpoints.map(([zone, ready, hint], index) =>
          at(zone, index, { conditions: { ready }, ...(hint === undefined ? {} : { hints: [hint] }) }),
        );
        const slices = [
          aSlice(built.slice(0, 8), 's1'),
          aSlice(built.slice(8, 16), 's2'),
          aSlice(built.slice(16), 's3'),
        ];
        const nodes = cpu.map(([zone, amount], index) => nodeOf(`n${index}`, zone, String(amount)));
        const key = version < 27 ? 'service.kubernetes.io/topology-aware-hints' : MODE;
        const input = { service: aService({ [key]: 'Auto' }), slices, nodes, version: minor(version) };
        const [result] = storedHints(input);
        const stored = result?.slices.flatMap((slice) => slice.endpoints ?? []) ?? [];
        expect(stored.map(({ addresses }) => addresses[0])).to.have.members(built.map(({ addresses }) => addresses[0]));
        const ready = stored.filter(({ conditions }) => conditions?.ready);
        const hinted = ready.filter(({ hints }) => hints?.forZones?.length === 1).length;
        expect(hinted).to.equal(result?.hinted ? ready.length : 0);
        const other = storedHints({ ...input, slices: [...slices].reverse(), nodes: [...nodes].reverse() });
        expect(other).to.deep.equal([result]);
        const again = storedHints({ ...input, slices: result?.slices ?? [] })[0];
        expect(again?.reason, 'a second sync agrees').to.equal(result?.reason);
      }),
    );
  });
});

describe('syncHints', () => {
  const input = {
    plan: { create: [sliceOf('abc')], update: [], unchanged: [] },
    family: 'IPv4',
    shares: zoneShares(NODES),
    version: minor(36),
  };
  it('reports enabling once', () => {
    const first = syncHints({ ...input, service: aService(AUTO) });
    expect(first).to.include({ hinted: true });
    expect(first.events).to.have.length(1);
    expect(syncHints({ ...input, service: aService(AUTO), wasHinted: true }).events).to.deep.equal([]);
  });
  for (const { name, service } of [
    { name: 'nothing', service: aService() },
    { name: 'the field', service: aService({}, 'PreferClose') },
  ]) {
    it(`warns once that the annotation is gone, with ${name} instead`, () =>
      expect(syncHints({ ...input, service, wasHinted: true })).to.deep.include({
        hinted: false,
        events: [
          {
            type: 'Warning',
            reason: 'TopologyAwareHintsDisabled',
            message: 'Topology Aware Hints has been disabled, addressType: IPv4',
          },
        ],
      }));
  }
  it('repeats a warning on every sync and forgets that it hinted', () => {
    const refused = syncHints({
      ...input,
      plan: { ...input.plan, create: [sliceOf('ab')] },
      service: aService(AUTO),
      wasHinted: true,
    });
    expect(refused).to.include({ hinted: false, reason: 'TooFewEndpoints' });
    expect(refused.events).to.have.length(1);
  });
  it('gives the allocation where there is one', () => {
    const { zones } = syncHints({ ...input, service: aService(AUTO) });
    expect(zones?.get('a')).to.deep.equal({ minimum: 1, desired: 1, maximum: 1 });
  });
});

// The messages of events, word for word.
const figures = { kind: 'refused', endpoints: 4, zones: 3 } as const;

describe('controllerEvent', () => {
  const cases: (readonly [occurrence: Occurrence, message: string])[] = [
    [{ reason: 'ProportionalHints' }, 'Topology Aware Hints has been enabled'],
    [
      { kind: 'refused', reason: 'InsufficientNodeInformation' },
      'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes',
    ],
    [{ ...figures, reason: 'NodesInOneZone' }, 'Nodes only ready in one zone'],
    [{ ...figures, reason: 'TooFewEndpoints' }, 'Insufficient number of endpoints (4 endpoints, 3 zones)'],
    [
      { ...figures, reason: 'OverloadThreshold' },
      'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (4 endpoints, 3 zones)',
    ],
    [{ reason: 'EndpointWithoutZone' }, 'One or more endpoints do not have a zone specified'],
    [{ reason: 'AnnotationRemoved' }, 'Topology Aware Hints has been disabled'],
  ];
  for (const [occurrence, message] of cases) {
    it(occurrence.reason, () => {
      const enabled = occurrence.reason === 'ProportionalHints';
      expect(controllerEvent(occurrence, 'IPv6')).to.deep.equal({
        type: enabled ? 'Normal' : 'Warning',
        reason: enabled ? 'TopologyAwareHintsEnabled' : 'TopologyAwareHintsDisabled',
        message: `${message}, addressType: IPv6`,
      });
    });
  }
  it('is recorded by the controller', () => expect(EVENT_SOURCE).to.equal('endpoint-slice-controller'));
});
