// Tests of what an evacuation makes of one Service: tables for the decision, and the model of kube-proxy as the judge of properties.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint, EndpointSlice } from '../../../pkg/apis/core.ts';
import { ANNOTATION_EVACUATED, NOWHERE } from '../../../pkg/apis/names.ts';
import { decideEvacuated } from '../../../pkg/evacuation/admit.ts';
import { type ZoneRequest } from '../../../pkg/evacuation/decide.ts';
import { slice } from '../../fixtures/core.ts';
import { applyJsonPatch } from '../../sandbox/patch-json.ts';
import {
  ALL,
  ZONES,
  at,
  built,
  decide,
  endpointsOf,
  hintsIn,
  moved,
  routed,
  serviceArbitrary,
  sliceOf,
  usedFrom,
} from './support.ts';

describe('what an evacuation makes of a Service', () => {
  const cases: (readonly [name: string, endpoints: Endpoint[], want: unknown, requests?: ZoneRequest[]])[] = [
    [
      'routed by zone: the others keep their zone and take over the one that is left',
      [routed('a'), routed('b'), routed('c')],
      [[NOWHERE], ['a', 'b'], ['a', 'c']],
    ],
    [
      'not routed by zone: the others serve all zones, as before',
      [at('a'), at('b'), at('c')],
      [[NOWHERE], ZONES, ZONES],
    ],
    ['an endpoint without zone stays and serves all zones', [at('a'), at(undefined)], [[NOWHERE], ZONES]],
    ['a zone that only fell back to all endpoints is covered too', [routed('a'), routed('b')], [[NOWHERE], ZONES]],
    [
      'a plan stays where it does not lead into the zone',
      [routed('a', 'b'), routed('b', 'a', 'b'), routed('c')],
      [[NOWHERE], ['a', 'b'], ['c']],
    ],
    [
      'half of four leave, the others go on',
      [...[1, 2, 3, 4].map(() => routed('a')), routed('b'), routed('c')],
      2,
      [{ zone: 'a', percent: 50, rounding: 'Up' }],
    ],
    [
      'a third of two, rounded up, is one',
      [routed('a'), routed('a'), routed('b'), routed('c')],
      1,
      [{ zone: 'a', percent: 33, rounding: 'Up' }],
    ],
  ];

  for (const [name, endpoints, want, requests = [ALL]] of cases) {
    it(name, () => {
      const hints = hintsIn(moved([sliceOf(...endpoints)], requests));
      const leaving = hints.filter((zones) => JSON.stringify(zones) === JSON.stringify([NOWHERE])).length;
      expect(typeof want === 'number' ? leaving : hints).to.deep.equal(want);
    });
  }

  const refused: {
    name: string;
    slices: EndpointSlice[];
    requests?: ZoneRequest[];
    clientZones?: string[];
    want: string;
  }[] = [
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
      requests: [{ zone: 'a', percent: 50, rounding: 'Down' }],
      want: 'LessThanOne',
    },
    {
      name: 'with more zones than hints can name stays',
      slices: [sliceOf(at('a'), at('b'))],
      clientZones: 'abcdefghi'.split(''),
      want: 'TooManyZones',
    },
  ];

  for (const { name, slices, requests, clientZones, want } of refused) {
    it(`a Service ${name}`, () =>
      expect(decide(slices, requests, clientZones)).to.include({ kind: 'stays', reason: want }));
  }

  it('is nothing where no endpoint is in the zone', () =>
    expect(decide([sliceOf(at('b'), at('c'))])).to.deep.equal({ kind: 'untouched' }));
});

describe('an evacuation of any Service', () => {
  it('sends no client to what leaves, and leaves every client an endpoint', () =>
    fc.assert(
      fc.property(serviceArbitrary, (generated) => {
        const slices = built(generated);
        const requests = [{ zone: 'a', percent: generated.percent, rounding: generated.rounding }];
        const after = moved(slices, requests);
        if (decide(slices, requests).kind !== 'moved') return;
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
        const requests = [{ zone: 'a', percent: generated.percent, rounding: generated.rounding }];
        const after = moved(slices, requests);
        expect(moved(after, requests)).to.deep.equal(after);
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
          const answer = (isEvacuating: boolean, object: EndpointSlice): EndpointSlice => {
            const decision = decideEvacuated(object, () => isEvacuating);
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
