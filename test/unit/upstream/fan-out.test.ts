// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { bytesText, fanOutOf, sliceBytes } from '../../../pkg/upstream/index.ts';
import { slice } from '../../fixtures/core.ts';

describe('the fan-out of slices', () => {
  it('is their size times the proxies', () =>
    expect(fanOutOf([1_000, 500], 2_000)).to.deep.equal({
      slices: 2,
      bytes: 1_500,
      proxies: 2_000,
      fanOutBytes: 3_000_000,
    }));

  it('counts a slice as JSON, whatever fields its writers own', () => {
    const bare = slice();
    const managed = slice({ metadata: { managedFields: [{ manager: 'kube-controller-manager' }] } });
    expect(JSON.stringify(managed).length, 'the fixture').to.be.above(JSON.stringify(bare).length);
    expect(sliceBytes(managed)).to.equal(sliceBytes(bare));
    expect(sliceBytes(bare)).to.equal(JSON.stringify(bare).length);
  });

  const texts: [number, string][] = [
    [0, '0 B'],
    [999, '999 B'],
    [1_500, '1.5 kB'],
    [40_000, '40 kB'],
    [2_000_000_000, '2 GB'],
    [5e15, '5000 TB'],
  ];
  for (const [bytes, text] of texts) it(`${bytes} bytes read ${text}`, () => expect(bytesText(bytes)).to.equal(text));
});
