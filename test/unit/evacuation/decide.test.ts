// SPDX-License-Identifier: Apache-2.0
// Tests of what an evacuation makes of one Service: tables for the decision, and the model of kube-proxy as the judge of properties.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint, EndpointSlice } from '../../../pkg/apis/core.ts';
import { ANNOTATION_EVACUATED, NOWHERE } from '../../../pkg/apis/names.ts';
import { decideEvacuated, decideJoining } from '../../../pkg/evacuation/admit.ts';
import { joiningOf } from '../../../pkg/evacuation/active.ts';
import { decideInOrder, markOf } from '../../../pkg/evacuation/decide.ts';
import type { Leave } from '../../../pkg/evacuation/decide.ts';
import { evacuationPatch } from '../../../pkg/evacuation/slice.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import { routeFor } from '../../../pkg/upstream/index.ts';
import { endpoint, node, service, slice } from '../../fixtures/core.ts';
import { applyJsonPatch } from '../../fixtures/json-patch.ts';

const ZONES = ['a', 'b', 'c'];
const ALL: Leave = { zone: 'a', percent: 100, rounding: 'Up' };
const hintsFor = (...zones: string[]) => ({ forZones: zones.map((name) => ({ name })) });

let counter = 0;
const at = (zone: string | undefined, more: Partial<Endpoint> = {}): Endpoint => {
  counter += 1;
  const { zone: _zone, ...rest } = endpoint({ addresses: [`198.18.${counter >> 8}.${counter & 255}`], ...more });
  return zone === undefined ? rest : { ...rest, zone };
};
const routed = (zone: string, ...zones: string[]): Endpoint =>
  at(zone, { hints: hintsFor(...(zones.length === 0 ? [zone] : zones)) });
const sliceOf = (...endpoints: Endpoint[]): EndpointSlice => slice({ endpoints });

const decide = (slices: EndpointSlice[], leaves: Leave[] = [ALL], clientZones: string[] = ZONES) =>
  decideInOrder({ slices, clientZones, leaves }).decision;

/** The slices as an evacuation leaves them; undefined `leaves`: as its end leaves them. */
const moved = (slices: EndpointSlice[], leaves: Leave[] | undefined): EndpointSlice[] => {
  const decision = leaves === undefined ? undefined : decide(slices, leaves);
  if (decision !== undefined && decision.kind !== 'moved') return slices;
  return slices.map((one) => {
    const content = { endpoints: one.endpoints ?? [], annotations: one.metadata?.annotations };
    return applyJsonPatch(one, evacuationPatch(content, markOf(one), decision));
  });
};

const hintsIn = (slices: EndpointSlice[]): unknown[] =>
  slices.flatMap(({ endpoints }) => (endpoints ?? []).map(({ hints }) => hints?.forZones?.map(({ name }) => name)));

/** Addresses that a client in the zone may get, by kube-proxy's rules. */
const usedFrom = (zone: string, slices: EndpointSlice[]): string[] => {
  const input = { node: node({ zone }), service: service(), slices, version: { major: 1, minor: 36 } };
  return routeFor(input, { kind: 'kube-proxy' }).used.map(({ key }) => key.split(':')[0] ?? '');
};

describe('what an evacuation makes of a Service', () => {
  const cases: { name: string; endpoints: Endpoint[]; leaves?: Leave[]; want: unknown }[] = [
    {
      name: 'routed by zone: the others keep their zone and take over the one that is left',
      endpoints: [routed('a'), routed('b'), routed('c')],
      want: [[NOWHERE], ['a', 'b'], ['a', 'c']],
    },
    {
      name: 'not routed by zone: the others serve all zones, as before',
      endpoints: [at('a'), at('b'), at('c')],
      want: [[NOWHERE], ZONES, ZONES],
    },
    {
      name: 'an endpoint without zone stays and serves all zones',
      endpoints: [at('a'), at(undefined)],
      want: [[NOWHERE], ZONES],
    },
    {
      name: 'a zone that only fell back to all endpoints is covered too',
      endpoints: [routed('a'), routed('b')],
      want: [[NOWHERE], ZONES],
    },
    {
      name: 'a plan stays where it does not lead into the zone',
      endpoints: [routed('a', 'b'), routed('b', 'a', 'b'), routed('c')],
      want: [[NOWHERE], ['a', 'b'], ['c']],
    },
    {
      name: 'half of four leave, the others go on',
      endpoints: [...[1, 2, 3, 4].map(() => routed('a')), routed('b'), routed('c')],
      leaves: [{ zone: 'a', percent: 50, rounding: 'Up' }],
      want: 2,
    },
    {
      name: 'a third of two, rounded up, is one',
      endpoints: [routed('a'), routed('a'), routed('b'), routed('c')],
      leaves: [{ zone: 'a', percent: 33, rounding: 'Up' }],
      want: 1,
    },
  ];

  for (const { name, endpoints, leaves = [ALL], want } of cases) {
    it(name, () => {
      const hints = hintsIn(moved([sliceOf(...endpoints)], leaves));
      const leaving = hints.filter((zones) => JSON.stringify(zones) === JSON.stringify([NOWHERE])).length;
      expect(typeof want === 'number' ? leaving : hints).to.deep.equal(want);
    });
  }

  const refused: { name: string; slices: EndpointSlice[]; leaves?: Leave[]; clientZones?: string[]; want: string }[] = [
    { name: 'whose endpoints are all there stays', slices: [sliceOf(routed('a'))], want: 'NoEndpointElsewhere' },
    {
      name: 'whose other endpoints are not ready stays',
      slices: [sliceOf(routed('a'), at('b', { conditions: { ready: false } }))],
      want: 'NoEndpointElsewhere',
    },
    {
      name: 'of which one port is served there alone stays',
      slices: [sliceOf(at('a'), at('b')), slice({ ports: [{ name: 'admin', port: 9 }], endpoints: [at('a')] })],
      want: 'NoEndpointElsewhere',
    },
    {
      name: 'of which less than one leaves, rounded down, stays',
      slices: [sliceOf(routed('a'), routed('b'))],
      leaves: [{ zone: 'a', percent: 50, rounding: 'Down' }],
      want: 'LessThanOne',
    },
    {
      name: 'with more zones than hints can name stays',
      slices: [sliceOf(at('a'), at('b'))],
      clientZones: 'abcdefghi'.split(''),
      want: 'TooManyZones',
    },
  ];

  for (const { name, slices, leaves, clientZones, want } of refused) {
    it(`a Service ${name}`, () =>
      expect(decide(slices, leaves, clientZones)).to.include({ kind: 'left', reason: want }));
  }

  it('is nothing where no endpoint is in the zone', () =>
    expect(decide([sliceOf(at('b'), at('c'))])).to.deep.equal({ kind: 'untouched' }));

  it('follows the first of two evacuations that together would leave it nothing', () => {
    const second = { ...ALL, zone: 'b' };
    const slices = [sliceOf(routed('a'), routed('b'))];
    const ordered = decideInOrder({ slices, clientZones: ZONES, leaves: [ALL, second] });
    expect(ordered.decision.kind === 'moved' && [...ordered.decision.out.keys()]).to.deep.equal(['a']);
    expect([...ordered.refused].map(([zone, { reason }]) => [zone, reason])).to.deep.equal([
      ['b', 'NoEndpointElsewhere'],
    ]);
  });

  it('takes both families of a Pod', () => {
    const pods = ['one', 'two', 'three', 'four'];
    const family = (addressType: string): EndpointSlice =>
      slice({
        addressType,
        endpoints: [...pods.map((name) => at('a', { targetRef: { kind: 'Pod', name } })), at('b')],
      });
    const after = moved([family('IPv4'), family('IPv6')], [{ zone: 'a', percent: 50, rounding: 'Up' }]);
    const leaving = after.map(({ endpoints }) =>
      endpoints!.filter(({ hints }) => hints?.forZones?.[0]?.name === NOWHERE).map(({ targetRef }) => targetRef?.name),
    );
    expect(leaving[0]).to.have.lengthOf(2);
    expect(leaving[1]).to.deep.equal(leaving[0]);
  });
});

const zoneArbitrary = fc.constantFrom<string | undefined>('a', 'a', 'b', 'c', undefined);
const hintsArbitrary = fc.oneof(
  fc.constant('none' as const),
  fc.constant('own' as const),
  fc.subarray(ZONES, { minLength: 1 }),
);
const endpointArbitrary = fc.record({ zone: zoneArbitrary, ready: fc.boolean(), hints: hintsArbitrary });
const serviceArbitrary = fc.record({
  endpoints: fc.array(endpointArbitrary, { minLength: 1, maxLength: 12 }),
  uniform: fc.option(fc.constantFrom('none' as const, 'own' as const)),
  percent: fc.constantFrom(1, 25, 50, 99, 100),
  rounding: fc.constantFrom('Up' as const, 'Down' as const),
  cut: fc.nat(12),
});
type Generated = ReturnType<typeof serviceArbitrary.generate>['value'];

/** The Service in one or two slices. */
const built = ({ endpoints, uniform, cut }: Generated): EndpointSlice[] => {
  const list = endpoints.map(({ zone, ready, hints }) => {
    const asked = uniform ?? hints;
    const own = asked === 'own' ? (zone === undefined ? undefined : hintsFor(zone)) : undefined;
    const given = typeof asked === 'string' ? own : hintsFor(...asked);
    return at(zone, { conditions: { ready }, ...(given && { hints: given }) });
  });
  const parts = [list.slice(0, cut), list.slice(cut)].filter((part) => part.length > 0);
  return parts.map((part) => sliceOf(...part));
};

const endpointsOf = (slices: EndpointSlice[]): Endpoint[] => slices.flatMap((one) => one.endpoints ?? []);

describe('an evacuation of any Service', () => {
  it('sends no client to what leaves, and leaves every client an endpoint', () =>
    fc.assert(
      fc.property(serviceArbitrary, (generated) => {
        const slices = built(generated);
        const leaves = [{ zone: 'a', percent: generated.percent, rounding: generated.rounding }];
        const after = moved(slices, leaves);
        if (decide(slices, leaves).kind !== 'moved') return;
        const gone = endpointsOf(after).filter(({ hints }) => hints?.forZones?.[0]?.name === NOWHERE);
        for (const zone of ZONES) {
          const used = usedFrom(zone, after);
          expect(used, `clients in ${zone}`).to.be.an('array').and.not.empty;
          for (const { addresses } of gone) expect(used, `clients in ${zone}`).not.to.include(addresses[0]);
        }
        const inZone = endpointsOf(slices).filter(({ zone, conditions }) => zone === 'a' && conditions?.ready === true);
        const readyGone = gone.filter(({ conditions }) => conditions?.ready === true).length;
        expect(Math.abs(readyGone - (inZone.length * generated.percent) / 100)).to.be.lessThan(1);
      }),
    ));

  it('changes nothing more the second time, and its end restores what was', () =>
    fc.assert(
      fc.property(serviceArbitrary, (generated) => {
        const slices = built(generated);
        const leaves = [{ zone: 'a', percent: generated.percent, rounding: generated.rounding }];
        const after = moved(slices, leaves);
        expect(moved(after, leaves)).to.deep.equal(after);
        const back = moved(after, undefined);
        expect(endpointsOf(back)).to.deep.equal(endpointsOf(slices));
        expect(back.every(({ metadata }) => metadata?.annotations?.[ANNOTATION_EVACUATED] === undefined)).to.equal(
          true,
        );
      }),
    ));

  it('is kept by admission when its controller writes its own hints, and ended by it when nothing runs any more', () =>
    fc.assert(
      fc.property(serviceArbitrary, (generated) => {
        const slices = built(generated);
        const after = moved(slices, [{ zone: 'a', percent: 100, rounding: 'Up' }]);
        for (const [index, one] of after.entries()) {
          const original = slices[index]!;
          // The controller writes the hints that it wants, and leaves the annotations.
          const written = { ...one, endpoints: original.endpoints ?? [] };
          const answer = (isLeft: boolean, object: EndpointSlice): EndpointSlice => {
            const decision = decideEvacuated(object, () => isLeft);
            return applyJsonPatch(object, decision.kind === 'patch' ? decision.operations : []);
          };
          expect(answer(true, written)).to.deep.equal(one);
          expect(answer(true, one)).to.deep.equal(one);
          expect(answer(false, one).endpoints).to.deep.equal(original.endpoints);
          expect(answer(false, written).endpoints).to.deep.equal(original.endpoints);
        }
      }),
    ));
});

describe('admission of an evacuated slice', () => {
  const hostile = [
    'no JSON',
    '[]',
    '{"out":{},"cover":[],"was":"own"}',
    '{"out":{"a":1},"cover":[],"was":"own"}',
    '{"out":{"a b":true},"cover":[],"was":"own"}',
    '{"out":{"a":true},"cover":["a b"],"was":"own"}',
    '{"out":{"a":true},"cover":[],"was":"both"}',
    '{"out":{"a":true},"cover":[],"was":"own","except":{"198.18.0.1":"a b"}}',
    '{"out":{"a":true},"cover":[],"was":"own","except":{"198.18.0.1":1}}',
    JSON.stringify({ out: { a: true }, cover: 'abcdefghi'.split(''), was: 'own' }),
  ];
  for (const text of hostile) {
    it(`leaves a slice alone whose annotation is ${text}`, () => {
      const object = slice({ metadata: { annotations: { [ANNOTATION_EVACUATED]: text } } });
      expect(decideEvacuated(object, () => true)).to.deep.equal({ kind: 'unchanged' });
    });
  }

  it('lets a Pod that is new in the zone begin evacuated, and one elsewhere serve the zone', () => {
    const [one] = moved([sliceOf(routed('a'), routed('b'), routed('c'))], [ALL]);
    const grown = { ...one!, endpoints: [...one!.endpoints!, routed('a'), routed('b')] };
    const decision = decideEvacuated(grown, () => true);
    const operations = decision.kind === 'patch' ? decision.operations : [];
    expect(hintsIn([applyJsonPatch(grown, operations)]).slice(3)).to.deep.equal([[NOWHERE], ['a', 'b']]);
  });

  it('returns one of two zones when only its evacuation has ended', () => {
    const leaves = [ALL, { ...ALL, zone: 'b' }];
    const [one] = moved([sliceOf(routed('a'), routed('b'), routed('c'))], leaves);
    const decision = decideEvacuated(one, (zone) => zone === 'a');
    const after = applyJsonPatch(one!, decision.kind === 'patch' ? decision.operations : []);
    expect(hintsIn([after])).to.deep.equal([[NOWHERE], ['a', 'b'], ['a', 'b', 'c']]);
  });

  it('takes a plan that the flow controller writes with what is covered for the plan alone', () => {
    const before = [sliceOf(routed('a'), routed('b'), routed('c'))];
    const [one] = moved(before, [ALL]);
    const [leaving, , other] = one!.endpoints!;
    const planned = {
      ...one!,
      endpoints: [leaving!, { ...one!.endpoints![1]!, hints: hintsFor('a', 'b', 'c') }, other!],
    };
    const kept = decideEvacuated(planned, () => true);
    const stored = applyJsonPatch(planned, kept.kind === 'patch' ? kept.operations : []);
    expect(hintsIn([stored])).to.deep.equal([[NOWHERE], ['a', 'b', 'c'], ['a', 'c']]);
    expect(moved([stored], [ALL]), 'the leader agrees').to.deep.equal([stored]);
  });

  it('keeps hints for nodes of those that stay, and names no node for those that leave', () => {
    const onNode = (zone: string) => at(zone, { hints: { ...hintsFor(zone), forNodes: [{ name: `node-${zone}` }] } });
    const before = [sliceOf(onNode('a'), onNode('b'))];
    const after = moved(before, [ALL]);
    expect(endpointsOf(after).map(({ hints }) => hints?.forNodes)).to.deep.equal([
      [{ name: NOWHERE }],
      [{ name: 'node-b' }],
    ]);
    expect(endpointsOf(moved(after, undefined))).to.deep.equal(endpointsOf(before));
  });
});

const accepted = (
  spec: Partial<ZoneEvacuation['spec']> = {},
  status: ZoneEvacuation['status'] = {},
): ZoneEvacuation => ({
  metadata: { name: 'a' },
  spec: { zone: 'a', duration: '1h', percent: 100, rounding: 'Up', capacityCheck: 'Refuse', force: false, ...spec },
  status: {
    clientZones: ZONES,
    conditions: [{ type: 'Accepted', status: 'True', reason: 'Accepted', message: '', lastTransitionTime: '' }],
    ...status,
  },
});

/** The slice as admission stores it before any leader has seen it. */
const joined = (one: EndpointSlice, created: boolean, running: ZoneEvacuation[] = [accepted()]): EndpointSlice => {
  const decision = decideJoining({ object: one, created, joiningOf: (subject) => joiningOf(running, subject) });
  return decision.kind === 'patch' ? applyJsonPatch(one, decision.operations) : one;
};

describe('admission of a slice without a mark while a zone is evacuated', () => {
  const both = () => sliceOf(routed('a'), routed('b'), routed('c'));
  const hinted: { name: string; one: EndpointSlice; created: boolean; want: unknown }[] = [
    { name: 'a new slice with others', one: both(), created: true, want: [[NOWHERE], ['a', 'b'], ['a', 'c']] },
    { name: 'a new one without hints', one: sliceOf(at('a'), at('b')), created: true, want: [[NOWHERE], ZONES] },
    {
      name: 'a new one that is all there, beside other slices',
      one: sliceOf(at('a')),
      created: true,
      want: [[NOWHERE]],
    },
    {
      name: 'a known one that a Pod of the zone joins',
      one: both(),
      created: false,
      want: [[NOWHERE], ['a', 'b'], ['a', 'c']],
    },
  ];
  for (const { name, one, created, want } of hinted) {
    it(`evacuates ${name}`, () => expect(hintsIn([joined(one, created)])).to.deep.equal(want));
  }

  const alone = () => sliceOf(routed('a'));
  const untouched: { name: string; one: EndpointSlice; created?: boolean; running?: ZoneEvacuation[] }[] = [
    { name: 'a known one that has nothing else: its leader left it', one: alone() },
    { name: 'one whose others are not ready', one: sliceOf(at('a'), at('b', { conditions: { ready: false } })) },
    { name: 'one without endpoints there', one: sliceOf(at('b')) },
    {
      name: 'one that is all there where it was forced',
      one: alone(),
      created: true,
      running: [accepted({ force: true })],
    },
    { name: 'one of a share: the leader chooses', one: both(), running: [accepted({ percent: 50 })] },
    { name: 'one while the evacuation is not accepted', one: both(), running: [accepted({}, { conditions: [] })] },
    {
      name: 'one out of scope',
      one: both(),
      running: [accepted({ serviceSelector: { matchLabels: { other: 'yes' } } })],
    },
    {
      name: 'one whose namespace would have to be read',
      one: both(),
      running: [accepted({ namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] } })],
    },
    { name: 'one of host names', one: { ...both(), addressType: 'FQDN' } },
    { name: 'one of no Service', one: { ...both(), metadata: { namespace: 'shop', name: 'x' } } },
    {
      name: 'one whose owner wrote the annotation',
      one: { ...both(), metadata: { ...both().metadata, annotations: { [ANNOTATION_EVACUATED]: '{' } } },
    },
  ];
  for (const { name, one, created = false, running } of untouched) {
    it(`leaves ${name}`, () => expect(joined(one, created, running)).to.equal(one));
  }

  it('follows a selector of namespaces by name, and the labels that the controller copies from the Service', () => {
    const one = both();
    const { namespace = '', labels = {} } = one.metadata!;
    const byName = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
    expect(joined(one, false, [accepted({ namespaceSelector: byName })])).not.to.equal(one);
    expect(joined(one, false, [accepted({ serviceSelector: { matchLabels: labels } })])).not.to.equal(one);
  });

  it('agrees with the leader about every Service of one slice, and leaves every client an endpoint', () =>
    fc.assert(
      fc.property(serviceArbitrary, fc.boolean(), (generated, created) => {
        const [one] = built({ ...generated, cut: 0 });
        const stored = joined(one!, created);
        for (const zone of ZONES)
          if (usedFrom(zone, [one!]).length > 0) expect(usedFrom(zone, [stored]), `clients in ${zone}`).not.to.be.empty;
        const byLeader = moved([one!], [ALL]);
        if (decide([one!]).kind === 'moved') expect([stored]).to.deep.equal(byLeader);
        else if (!created) expect(stored).to.equal(one);
        const { decision } = decideInOrder({ slices: [stored], clientZones: ZONES, leaves: [ALL] });
        expect(decision.kind, 'the leader sees the same Service behind the mark').to.equal(decide([one!]).kind);
      }),
    ));
});

describe('slices of one Service that are written one after the other', () => {
  it('leave every client an endpoint at each moment, on the way there and back', () =>
    fc.assert(
      fc.property(serviceArbitrary, fc.boolean(), (generated, back) => {
        const before = built(generated);
        const after = moved(before, [{ zone: 'a', percent: generated.percent, rounding: generated.rounding }]);
        const [from, to] = back ? [after, before] : [before, after];
        for (const zone of ZONES) {
          if (usedFrom(zone, before).length === 0) continue;
          for (const written of [0, 1]) {
            const between = from.map((one, index) => (index === written ? to[index]! : one));
            expect(usedFrom(zone, between), `clients in ${zone}`).not.to.be.empty;
          }
        }
      }),
    ));
});
