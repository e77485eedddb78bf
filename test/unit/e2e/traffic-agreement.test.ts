// SPDX-License-Identifier: Apache-2.0
// Shows that the comparison of predicted and measured traffic accepts a right model and rejects wrong ones.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { describeDisagreements, disagreements, relativeEntropy } from '../../e2e/traffic-agreement.ts';
import type { Counts, Shares } from '../../e2e/traffic-agreement.ts';

const spread: Shares = { a: { a: 1 / 4, b: 1 / 2, c: 1 / 4 } };
const sameZone: Shares = { a: { a: 1 } };
const halves: Shares = { a: { a: 1 / 2, b: 1 / 2 } };
const measuredSpread: Counts = { a: { a: 104, b: 194, c: 102 } };
const measuredSameZone: Counts = { a: { a: 400 } };

/** Connections that a proxy sends to destinations with these shares, from a generator that can be repeated. */
const simulate = (shares: Readonly<Record<string, number>>, connections: number, random: () => number) => {
  const counts: Record<string, number> = {};
  for (let index = 0; index < connections; index++) {
    let left = random();
    const to = Object.keys(shares).find((zone) => (left -= shares[zone] ?? 0) < 0) ?? Object.keys(shares).at(-1)!;
    counts[to] = (counts[to] ?? 0) + 1;
  }
  return counts;
};

/** mulberry32. */
const randomFrom = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0;
  let value = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
  return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
};

describe('agreement of predicted and measured traffic', () => {
  const cases: readonly { name: string; predicted: Shares; measured: Counts; wrong: readonly string[] }[] = [
    { name: 'all as predicted', predicted: sameZone, measured: measuredSameZone, wrong: [] },
    { name: 'within chance', predicted: spread, measured: measuredSpread, wrong: [] },
    {
      name: 'a single connection where none may go',
      predicted: sameZone,
      measured: { a: { a: 399, b: 1 } },
      wrong: ['a', 'b'],
    },
    {
      name: 'spread where same zone was predicted',
      predicted: sameZone,
      measured: measuredSpread,
      wrong: ['a', 'b', 'c'],
    },
    {
      name: 'same zone where spread was predicted',
      predicted: spread,
      measured: measuredSameZone,
      wrong: ['a', 'b', 'c'],
    },
    {
      name: 'halves where the model knows two Pods in b',
      predicted: halves,
      measured: { a: { a: 130, b: 270 } },
      wrong: ['a', 'b'],
    },
    { name: 'a zone that nothing was predicted for', predicted: {}, measured: measuredSameZone, wrong: ['a'] },
    { name: 'a zone that nothing was measured for', predicted: sameZone, measured: {}, wrong: ['a'] },
    { name: 'three thirds', predicted: { a: { a: 1 - 1e-12 } }, measured: measuredSameZone, wrong: [] },
  ];
  for (const { name, predicted, measured, wrong } of cases) {
    it(`${name}: ${wrong.length === 0 ? 'agrees' : 'disagrees'}`, () => {
      expect(disagreements(predicted, measured).map(({ to }) => to)).to.deep.equal(wrong);
    });
  }

  it('says which cell, with both figures', () => {
    expect(describeDisagreements(disagreements(sameZone, { a: { a: 399, b: 1 } }))).to.equal(
      'a to a: predicted 1.000, measured 0.998 of 400 connections\na to b: predicted 0.000, measured 0.003 of 400 connections',
    );
  });

  it('accepts what the predicted shares produce, for any shares and any mixture of two nodes', () => {
    const shares = fc
      .array(fc.integer({ min: 0, max: 5 }), { minLength: 3, maxLength: 3 })
      .filter((parts) => parts.some((part) => part > 0))
      .map((parts) => {
        const sum = parts.reduce((left, right) => left + right, 0);
        return Object.fromEntries(['a', 'b', 'c'].map((zone, index) => [zone, (parts[index] ?? 0) / sum]));
      });
    fc.assert(
      fc.property(shares, shares, fc.integer(), (one, other, seed) => {
        const random = randomFrom(seed);
        const [first, second] = [simulate(one, 200, random), simulate(other, 200, random)];
        const mixed = ['a', 'b', 'c'].map((zone) => [zone, ((one[zone] ?? 0) + (other[zone] ?? 0)) / 2]);
        const counted = ['a', 'b', 'c'].map((zone) => [zone, (first[zone] ?? 0) + (second[zone] ?? 0)]);
        expect(disagreements({ x: Object.fromEntries(mixed) }, { x: Object.fromEntries(counted) })).to.deep.equal([]);
      }),
      // A statistical claim: one seed, or it is wrong once in some thousand runs.
      { numRuns: 300, seed: 1 },
    );
  });

  it('measures entropy as zero for equal shares, and as infinite for what is excluded', () => {
    expect(relativeEntropy(0.25, 0.25)).to.be.closeTo(0, 1e-12);
    expect(relativeEntropy(1, 1)).to.equal(0);
    expect(relativeEntropy(0.01, 0)).to.equal(Infinity);
    expect(relativeEntropy(0.99, 1)).to.equal(Infinity);
  });
});
