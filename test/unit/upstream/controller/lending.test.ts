// How many endpoints move between zones.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { planLending } from '../../../../pkg/upstream/controller/proportional.ts';

const desired = (wanted: Readonly<Record<string, number>>) =>
  new Map(Object.entries(wanted).map(([zone, value]) => [zone, { minimum: 0, desired: value, maximum: 99 }]));
const total = (map: ReadonlyMap<string, number>): number => [...map.values()].reduce((sum, value) => sum + value, 0);

describe('planLending', () => {
  for (const { name, wanted, counts, give, receive } of [
    { name: 'nothing when even', wanted: { a: 2, b: 2 }, counts: { a: 2, b: 2 }, give: {}, receive: {} },
    {
      name: 'largest surplus to largest demand',
      wanted: { a: 2, b: 2, c: 2 },
      counts: { a: 6 },
      give: { a: 4 },
      receive: { b: 2, c: 2 },
    },
    {
      name: 'half an endpoint is worthwhile',
      wanted: { a: 2.5, b: 1.5 },
      counts: { a: 3.5, b: 1 },
      give: { a: 1 },
      receive: { b: 1 },
    },
    { name: 'two parts below one are not', wanted: { a: 2.2, b: 1.8 }, counts: { a: 3, b: 1 }, give: {}, receive: {} },
    { name: 'less than half is not', wanted: { a: 2, b: 2.4 }, counts: { a: 4, b: 2 }, give: {}, receive: {} },
    {
      name: 'a zone without allocation neither gives',
      wanted: { a: 2, b: 2 },
      counts: { a: 1, b: 1, other: 2 },
      give: {},
      receive: {},
    },
    {
      name: 'ties by name',
      wanted: { c: 2, b: 2, a: 1 },
      counts: { a: 2, b: 1, c: 1 },
      give: { a: 1 },
      receive: { b: 1 },
    },
  ]) {
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
