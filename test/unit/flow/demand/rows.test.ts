// SPDX-License-Identifier: Apache-2.0
// Tests of rows: samples that say the same thing are averaged.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rowsOf } from '../../../../pkg/flow/demand/rows.ts';

const own = [0.5, 0];
const both = [0.5, 1];

describe('rows of samples', () => {
  it('average samples with the same shares', () => {
    const rows = rowsOf([
      { load: 0.4, capacity: 1, shares: own },
      { load: 0.6, capacity: 1, shares: own },
      { load: 0.9, capacity: 1, shares: both },
    ]);
    expect(rows).to.deep.equal([
      { load: 0.5, capacity: 1, shares: own, count: 2, saturated: false },
      { load: 0.9, capacity: 1, shares: both, count: 1, saturated: false },
    ]);
  });

  it('keep endpoints of another capacity apart: they are saturated at another load', () => {
    const rows = rowsOf([
      { load: 1, capacity: 1, shares: own },
      { load: 1, capacity: 2, shares: own },
    ]);
    expect(rows.map(({ saturated }) => saturated)).to.deep.equal([true, false]);
  });

  const saturation = [
    { name: 'just below', load: 0.949, saturated: false },
    { name: 'at 95 %', load: 0.95, saturated: true },
    { name: 'above its capacity, as a burst may be', load: 1.2, saturated: true },
  ];
  for (const { name, load, saturated } of saturation) {
    it(`${saturated ? 'are' : 'are not'} saturated ${name}`, () => {
      expect(rowsOf([{ load, capacity: 1, shares: own }])[0]?.saturated).to.equal(saturated);
    });
  }

  it('are none without samples', () => {
    expect(rowsOf([])).to.deep.equal([]);
  });
});
