// SPDX-License-Identifier: Apache-2.0
// How many zones a list really names.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { assessZones, distinctZones } from '../../../pkg/gardener/zones.ts';

describe('assessZones', () => {
  const single = (reason: string, ...zones: string[]): object => ({ kind: 'single', reason, zones });
  const cases: { name: string; zones: string[] | null | undefined; expected: object }[] = [
    { name: 'undefined', zones: undefined, expected: single('SingleZone') },
    { name: 'null', zones: null, expected: single('SingleZone') },
    { name: 'none', zones: [], expected: single('SingleZone') },
    { name: 'one', zones: ['a'], expected: single('SingleZone', 'a') },
    { name: 'only empty names', zones: ['', ''], expected: single('SingleZone') },
    { name: 'one beside an empty name', zones: ['a', ''], expected: single('SingleZone', 'a') },
    { name: 'one named twice', zones: ['a', 'a'], expected: single('DuplicateZones', 'a') },
    { name: 'one named twice beside an empty name', zones: ['a', '', 'a'], expected: single('DuplicateZones', 'a') },
    { name: 'two', zones: ['a', 'b'], expected: { kind: 'multi', zones: ['a', 'b'] } },
    { name: 'two with repetition', zones: ['b', 'a', 'b'], expected: { kind: 'multi', zones: ['b', 'a'] } },
    { name: 'three', zones: ['a', 'b', 'c'], expected: { kind: 'multi', zones: ['a', 'b', 'c'] } },
    { name: 'names that differ in case', zones: ['a', 'A'], expected: { kind: 'multi', zones: ['a', 'A'] } },
    { name: 'a string in place of a list', zones: 'ab' as never, expected: single('SingleZone') },
    { name: 'members that are no strings', zones: [1, 2, null] as never, expected: single('SingleZone') },
  ];
  for (const { name, zones, expected } of cases) {
    it(name, () => expect(assessZones(zones)).to.deep.equal(expected));
  }

  it('is multi exactly when two distinct, non-empty names are in the list, in any order', () => {
    const lists = fc.array(fc.constantFrom('', 'a', 'b', 'c'), { maxLength: 6 });
    fc.assert(
      fc.property(lists, (zones) => {
        const distinct = new Set(zones);
        distinct.delete('');
        expect(assessZones(zones).kind).to.equal(distinct.size > 1 ? 'multi' : 'single');
        expect(new Set(distinctZones(zones))).to.deep.equal(distinct);
        expect(distinctZones([...zones, ...zones])).to.deep.equal(distinctZones(zones));
      }),
    );
  });
});
