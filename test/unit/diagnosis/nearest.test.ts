import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { editDistance, nearest } from '../../../pkg/diagnosis/models/lookup.ts';

describe('diagnosis: nearest name', () => {
  const distances: readonly (readonly [string, string, number])[] = [
    ['', '', 0],
    ['web', 'web', 0],
    ['web', '', 3],
    ['web', 'wbe', 1],
    ['web', 'webs', 1],
    ['kitten', 'sitting', 3],
    ['ca', 'abc', 3],
  ];
  for (const [left, right, distance] of distances) {
    it(`"${left}" and "${right}" are ${distance} apart`, () => {
      expect(editDistance(left, right)).to.equal(distance);
    });
  }

  it('is a distance: symmetric, at least the difference of lengths, 0 for equal texts only', () => {
    const text = fc.string({ maxLength: 8 });
    fc.assert(
      fc.property(text, text, (left, right) => {
        const distance = editDistance(left, right);
        expect(distance).to.equal(editDistance(right, left));
        expect(distance).to.be.at.least(Math.abs(left.length - right.length));
        expect(distance === 0).to.equal(left === right);
      }),
    );
  });

  const choices: readonly (readonly [string, readonly string[], string | undefined])[] = [
    ['wbe', ['db', 'web'], 'web'],
    ['WEB', ['web'], 'web'],
    ['kube-apisrver', ['kube-apiserver', 'kube-dns'], 'kube-apiserver'],
    ['catalog', ['catalog-db-primary', 'orders'], 'catalog-db-primary'],
    ['payments', ['web', 'db'], undefined],
    ['web', [], undefined],
    ['wea', ['web', 'wed'], 'web'],
  ];
  for (const [wanted, candidates, found] of choices) {
    it(`for "${wanted}" among ${JSON.stringify(candidates)} it is ${String(found)}`, () => {
      expect(nearest(wanted, candidates)).to.equal(found);
      expect(nearest(wanted, [...candidates].reverse())).to.equal(found);
    });
  }
});
