// SPDX-License-Identifier: Apache-2.0
// The table of measured traffic: one line a mode, the prediction only where chance makes it differ.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { formatMatrices, shareInZone } from '../../e2e/matrix.ts';

describe('table of measured traffic', () => {
  it('shows measured shares, the prediction where it differs, and Pods without zone last', () => {
    const measurements = [
      { mode: 'stays', measured: { a: { a: 400 }, b: { b: 400 } }, predicted: { a: { a: 1 }, b: { b: 1 } } },
      {
        mode: 'spreads',
        measured: { a: { a: 190, b: 0, '-': 210 }, b: { a: 200, '-': 200 } },
        predicted: { a: { a: 0.5, '-': 0.5 }, b: { a: 0.5, '-': 0.5 } },
      },
    ];
    expect(formatMatrices(measurements).split('\n')).to.deep.equal([
      '| the Service | from a | from b |',
      '| --- | --- | --- |',
      '| stays | 100 / 0 | 0 / 100 |',
      '| spreads | 48 / 0 / 53 (50 / 0 / 50) | 50 / 0 / 50 |',
    ]);
  });

  it('counts the share that stays', () => {
    expect(shareInZone({ a: { a: 300, b: 100 } }, 'a')).to.equal(0.75);
    expect(shareInZone({ a: { b: 100 } }, 'a')).to.equal(0);
  });
});
