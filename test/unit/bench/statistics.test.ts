// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { formatMegabytes, formatNumber, median, percentile } from '../../bench/statistics.ts';

const samples = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 200 });

describe('bench/statistics', () => {
  describe('median', () => {
    const cases = [
      { name: 'one value', values: [7], expected: 7 },
      { name: 'an odd number, unsorted', values: [9, 1, 5], expected: 5 },
      { name: 'an even number: the mean of both middle values', values: [4, 1, 3, 2], expected: 2.5 },
      { name: 'numbers, not strings', values: [10, 9, 100], expected: 10 },
    ];
    for (const { name, values, expected } of cases) {
      it(name, () => expect(median(values)).to.equal(expected));
    }

    it('refuses to make a figure out of nothing', () => {
      expect(() => median([])).to.throw(RangeError, 'median of no values');
    });

    it('leaves its input as it was', () => {
      const values = [3, 1, 2];
      median(values);
      expect(values).to.deep.equal([3, 1, 2]);
    });
  });

  describe('percentile', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    const cases = [
      { name: 'p50 of 1..100', values: hundred, percent: 50, expected: 50 },
      { name: 'p99 of 1..100', values: hundred, percent: 99, expected: 99 },
      { name: 'p100 is the largest', values: hundred, percent: 100, expected: 100 },
      { name: 'p99 of ten samples is the largest', values: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], percent: 99, expected: 10 },
      { name: 'any percentile of one sample is that sample', values: [4], percent: 1, expected: 4 },
    ];
    for (const { name, values, percent, expected } of cases) {
      it(name, () => expect(percentile(values, percent)).to.equal(expected));
    }

    it('is a sample that at least that share does not exceed, and no smaller one is', () => {
      fc.assert(
        fc.property(samples, fc.integer({ min: 1, max: 100 }), (values, percent) => {
          const result = percentile(values, percent);
          expect(values).to.include(result);
          const share = (limit: (value: number) => boolean) => (values.filter(limit).length / values.length) * 100;
          expect(share((value) => value <= result)).to.be.at.least(percent - 1e-9);
          expect(share((value) => value < result)).to.be.below(percent + 1e-9);
        }),
      );
    });

    for (const percent of [0, -1, 101, Number.NaN]) {
      it(`refuses ${percent} %`, () => {
        expect(() => percentile([1], percent)).to.throw(RangeError, 'within (0, 100]');
      });
    }

    it('refuses to make a figure out of nothing', () => {
      expect(() => percentile([], 50)).to.throw(RangeError, 'percentile of no values');
    });
  });

  describe('formatNumber', () => {
    const cases = [
      { value: 20_563, digits: 3, text: '20,600' },
      { value: 20_563, digits: 5, text: '20,563' },
      { value: 4.0349, digits: 3, text: '4.03' },
      { value: 0.000_123_4, digits: 2, text: '0.00012' },
      { value: 0, digits: 3, text: '0' },
    ];
    for (const { value, digits, text } of cases) {
      it(`writes ${value} with ${digits} digits as ${text}`, () => expect(formatNumber(value, digits)).to.equal(text));
    }

    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
      it(`never writes ${value} into a table`, () =>
        expect(() => formatNumber(value)).to.throw(RangeError, String(value)));
    }
  });

  it('writes bytes as whole megabytes', () => {
    expect(formatMegabytes(119.6 * 1024 * 1024)).to.equal('120 MB');
  });
});
