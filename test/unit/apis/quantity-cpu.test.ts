// CPU quantities in every notation.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { milliFromNano, nanoCpu, unitsOf } from '../../../pkg/apis/quantity.ts';

describe('nanoCpu', () => {
  for (const { quantity, milli } of [
    { quantity: '2', milli: 2000 },
    { quantity: '1930m', milli: 1930 },
    { quantity: '0.5', milli: 500 },
    { quantity: '.5', milli: 500 },
    { quantity: '1.', milli: 1000 },
    { quantity: '1k', milli: 1_000_000 },
    { quantity: '1Ki', milli: 1_024_000 },
    { quantity: '1e1', milli: 10_000 },
    { quantity: '25E-1', milli: 2500 },
    { quantity: '1n', milli: 1 },
    { quantity: '0.00000000001', milli: 1 },
    { quantity: '100u', milli: 1 },
    { quantity: 4, milli: 4000 },
    { quantity: '0', milli: 0 },
    { quantity: '', milli: 0 },
    { quantity: '.', milli: 0 },
    { quantity: '-1', milli: 0 },
    { quantity: 'two', milli: 0 },
    { quantity: undefined, milli: 0 },
    { quantity: { cpu: 1 }, milli: 0 },
  ]) {
    it(`${JSON.stringify(quantity) ?? 'nothing'} is ${milli} millicores`, () =>
      expect(milliFromNano(nanoCpu(quantity))).to.equal(milli));
  }
  for (const quantity of ['', '-1', 'two', undefined, { cpu: 1 }]) {
    it(`${JSON.stringify(quantity) ?? 'nothing'} is no figure`, () => expect(unitsOf(quantity)).to.equal(undefined));
  }
  it('figures are in units, in every notation', () =>
    expect(['1500m', '0.5', '1e3', '1k', 2].map(unitsOf)).to.deep.equal([1.5, 0.5, 1000, 1000, 2]));
  it('rounds sums, not summands', () =>
    expect(milliFromNano(nanoCpu('400u') + nanoCpu('400u') + nanoCpu('200u'))).to.equal(1));
});
