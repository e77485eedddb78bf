// Tests of what a controller finds too much for the endpoints that stay.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Leave } from '../../../../pkg/evacuation/decide.ts';
import { type Overload, type OverloadInput, overloadOf } from '../../../../pkg/diagnosis/survival/load.ts';
import { endpoint, slice } from '../../../fixtures/core.ts';

const leave = (zone: string, percent = 100): Leave => ({ zone, percent, rounding: 'Up' });
/** `hints` of each endpoint are its own zone. */
const sliceIn = (zones: string, hinted = false) =>
  slice({
    service: 'web',
    endpoints: Array.from(zones, (zone, index) => ({
      ...endpoint({ zone, addresses: [`10.0.0.${index + 1}`] }),
      ...(hinted ? { hints: { forZones: [{ name: zone }] } } : {}),
    })),
  });
const nodes = (a: number, b: number, c = 0) => new Map(Object.entries({ a, b, c }).filter(([, count]) => count > 0));

describe('overload under an evacuation', () => {
  const cases: { name: string; input: Partial<OverloadInput>; want: Overload | undefined }[] = [
    { name: 'is none where two zones take over for the third', input: { slices: [sliceIn('abc')] }, want: undefined },
    { name: 'is none at twice a fair share', input: { slices: [sliceIn('ab')] }, want: undefined },
    {
      name: 'is found where one of four endpoints stays',
      input: { slices: [sliceIn('aaab')] },
      want: { kind: 'overloaded', after: 4, limit: 2 },
    },
    { name: 'is none of a share', input: { slices: [sliceIn('aaab')], wanted: leave('a', 33) }, want: undefined },
    {
      name: 'counts what other evacuations took already',
      input: { slices: [sliceIn('aabbc')], running: [leave('b')] },
      want: { kind: 'overloaded', after: 5, limit: 2 },
    },
    {
      name: 'is not found where nothing of the Service is in the zone, however loaded others make it',
      input: { slices: [sliceIn('bbbc')], running: [leave('b')] },
      want: undefined,
    },
    {
      name: 'is found where clients keep to a zone with few endpoints',
      input: { slices: [sliceIn('aaaaabcccccc', true)], nodes: nodes(4, 4, 1) },
      want: { kind: 'overloaded', after: (4 * 12) / 9 + ((4 / 7) * 12) / 9, limit: 2 },
    },
    {
      name: 'is judged by measured load where that is known, which may be low',
      input: { slices: [sliceIn('aaab')], measured: { demand: new Map([['a', 1]]), utilization: 0.2 } },
      want: undefined,
    },
    {
      name: 'is judged by measured load where that is known, which may be high',
      input: { slices: [sliceIn('abc')], measured: { demand: new Map([['a', 1]]), utilization: 0.8 } },
      want: { kind: 'overloaded', after: 0.8 * 1.5, limit: 1 },
    },
    {
      name: 'is none where no endpoint is elsewhere: the Service stays',
      input: { slices: [sliceIn('aa')] },
      want: undefined,
    },
    {
      name: 'is told apart from two evacuations that together leave no endpoint',
      input: { slices: [sliceIn('ab')], running: [leave('b')] },
      want: { kind: 'together' },
    },
    { name: 'is none of a Service without endpoints', input: { slices: [] }, want: undefined },
  ];
  for (const { name, input, want } of cases)
    it(name, () => {
      const found = overloadOf({
        slices: [],
        running: [],
        wanted: leave('a'),
        nodes: nodes(1, 1, 1),
        measured: undefined,
        ...input,
      });
      const rounded = (one: Overload | undefined) =>
        one?.kind === 'overloaded' ? { ...one, after: Number(one.after.toFixed(6)) } : one;
      expect(rounded(found)).to.deep.equal(rounded(want));
    });
});
