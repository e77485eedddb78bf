import { expect } from 'chai';
import { describe, it } from 'mocha';
import { countText, overloadText, percentText, rateText, threeDigits } from '../../../pkg/report/figures.ts';

describe('report: figures', () => {
  const percentages: readonly (readonly [number | null, string])[] = [
    [null, '-'],
    [0, '0 %'],
    [1, '100 %'],
    [2 / 3, '67 %'],
    [0.1, '10 %'],
    [0.034, '3.4 %'],
    [0.03, '3 %'],
    [0.0004, '0 %'],
  ];
  for (const [share, text] of percentages)
    it(`${String(share)} is ${text}`, () => expect(percentText(share)).to.equal(text));

  const overloads: readonly (readonly [number | null, string])[] = [
    [null, '-'],
    [0, '0 %'],
    [0.001, '0 %'],
    [0.05, '+5 %'],
    [1 / 3, '+33 %'],
    [2, '+200 %'],
  ];
  for (const [overload, text] of overloads)
    it(`${String(overload)} above the fair share is ${text}`, () => expect(overloadText(overload)).to.equal(text));

  const volumes: readonly (readonly [number, string, string])[] = [
    [0.04, '0.04', '0.04 B/s'],
    [812, '812', '812 B/s'],
    [1_250_000, '1,250,000', '1.25 MB/s'],
    [1e18, '1.00e+18', '1,000,000 TB/s'],
    [1e308, '1.00e+308', '1.00e+296 TB/s'],
    [Infinity, 'Infinity', 'Infinity TB/s'],
  ];
  for (const [amount, volume, rate] of volumes) {
    it(`${amount} is ${volume} GB, ${rate}`, () =>
      expect([threeDigits(amount), rateText(amount)]).to.deep.equal([volume, rate]));
  }

  it('counts', () => {
    expect([1, 0, 1204].map((count) => countText(count, 'Service'))).to.deep.equal([
      '1 Service',
      '0 Services',
      '1,204 Services',
    ]);
  });
});
