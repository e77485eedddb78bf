import { expect } from 'chai';
import { describe, it } from 'mocha';
import { moneyText } from '../../../pkg/report/figures.ts';

describe('moneyText', () => {
  const cases: readonly [number, string][] = [
    [0, '0.00 USD'],
    [0.004, '0.00 USD'],
    [187.874, '187.87 USD'],
    [1000, '1,000.00 USD'],
    [1234567.891, '1,234,567.89 USD'],
    [-1234.5, '-1,234.50 USD'],
  ];
  for (const [amount, text] of cases) {
    it(text, () => {
      expect(moneyText(amount, 'USD')).to.equal(text);
    });
  }
});
