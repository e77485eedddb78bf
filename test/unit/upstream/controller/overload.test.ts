// SPDX-License-Identifier: Apache-2.0
// When a hinted Service is looked at again.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { isOverloaded } from '../../../../pkg/upstream/controller/overload.ts';

const thirds = new Map([
  ['a', 1 / 3],
  ['b', 1 / 3],
  ['c', 1 / 3],
]);

describe('isOverloaded', () => {
  for (const { name, hinted, ratios, overloaded } of [
    { name: 'holds no hints', hinted: {}, ratios: thirds, overloaded: false },
    { name: 'holds no hints and shares are unknown', hinted: {}, ratios: undefined, overloaded: false },
    { name: 'holds hints and shares are unknown', hinted: { a: 1 }, ratios: undefined, overloaded: true },
    { name: 'is even', hinted: { a: 2, b: 2, c: 2 }, ratios: thirds, overloaded: false },
    { name: 'has nothing for a zone', hinted: { a: 3, b: 3 }, ratios: thirds, overloaded: true },
    { name: 'has one fewer than the minimum', hinted: { a: 5, b: 4, c: 3 }, ratios: thirds, overloaded: true },
    { name: 'has just the minimum', hinted: { a: 5, b: 5, c: 4, d: 0 }, ratios: thirds, overloaded: false },
    {
      name: 'holds a zone that is gone',
      hinted: { a: 1, b: 1, gone: 4 },
      ratios: new Map([
        ['a', 0.5],
        ['b', 0.5],
      ]),
      overloaded: true,
    },
  ]) {
    it(`${overloaded ? 'yes' : 'no'}: a Service that ${name}`, () =>
      expect(isOverloaded(new Map(Object.entries(hinted)), ratios)).to.equal(overloaded));
  }
});
