// How many endpoints move between zones.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { planLending } from '../../../../pkg/upstream/controller/proportional.ts';

const desired = (wanted: Readonly<Record<string, number>>) =>
  new Map(Object.entries(wanted).map(([zone, value]) => [zone, { minimum: 0, desired: value, maximum: 99 }]));
const total = (map: ReadonlyMap<string, number>): number => [...map.values()].reduce((sum, value) => sum + value, 0);

describe('planLending', () => {
  for (const [name, wanted, counts, give, receive] of [
    ['nothing when even', { a: 2, b: 2 }, { a: 2, b: 2 }, {}, {}],
    ['largest surplus to largest demand', { a: 2, b: 2, c: 2 }, { a: 6 }, { a: 4 }, { b: 2, c: 2 }],
    ['half an endpoint is worthwhile', { a: 2.5, b: 1.5 }, { a: 3.5, b: 1 }, { a: 1 }, { b: 1 }],
    ['two parts below one are not', { a: 2.2, b: 1.8 }, { a: 3, b: 1 }, {}, {}],
    ['less than half is not', { a: 2, b: 2.4 }, { a: 4, b: 2 }, {}, {}],
    ['a zone without allocation neither gives', { a: 2, b: 2 }, { a: 1, b: 1, other: 2 }, {}, {}],
    ['ties by name', { c: 2, b: 2, a: 1 }, { a: 2, b: 1, c: 1 }, { a: 1 }, { b: 1 }],
  ] as const) {
    it(name, () => {
      const result = planLending(desired(wanted), new Map(Object.entries(counts)));
      expect(Object.fromEntries(result.give)).to.deep.equal(give);
      expect(Object.fromEntries(result.receive)).to.deep.equal(receive);
    });
  }

  it('gives as much as it receives, never more than there is, and does not depend on order', () => {
    const zones = fc.array(fc.tuple(fc.double({ min: 0, max: 9, noNaN: true }), fc.integer({ min: 0, max: 9 })), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(zones, (entries) => {
        const allocation = entries.map(
          ([value], index) => [`z${index}`, { minimum: 0, desired: value, maximum: 9 }] as const,
        );
        const counts = entries.map(([, count], index): [string, number] => [`z${index}`, count]);
        const result = planLending(new Map(allocation), new Map(counts));
        expect(total(result.give)).to.equal(total(result.receive));
        for (const [zone, amount] of result.give) expect(amount).to.be.at.most(new Map(counts).get(zone) ?? 0);
        const other = planLending(new Map([...allocation].reverse()), new Map([...counts].reverse()));
        expect(Object.fromEntries(other.give)).to.deep.equal(Object.fromEntries(result.give));
        expect(Object.fromEntries(other.receive)).to.deep.equal(Object.fromEntries(result.receive));
      }),
    );
  });
});
