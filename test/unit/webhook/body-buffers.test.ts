// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createBodyBuffers } from '../../../pkg/webhook/body-buffers.ts';

const KIB = 1024;

describe('buffers for bodies', () => {
  it('lends none for a body that comes in one chunk', () => {
    const buffers = createBodyBuffers();
    expect(buffers.take(0)).to.equal(undefined);
    expect(buffers.take(64 * KIB)).to.equal(undefined);
    expect(buffers.take(64 * KIB + 1)).to.have.length.greaterThan(64 * KIB);
  });

  it('lends a buffer again once it is back, and never before', () => {
    const buffers = createBodyBuffers();
    const first = buffers.take(100 * KIB);
    const second = buffers.take(100 * KIB);
    expect(second).not.to.equal(first);
    if (first === undefined) throw new Error('no buffer lent');
    buffers.giveBack(first);
    expect(buffers.take(900 * KIB)).to.equal(first);
  });

  it('fits the largest body, and keeps no buffer of that size', () => {
    const buffers = createBodyBuffers();
    const large = buffers.take(7 * KIB * KIB);
    expect(large).to.have.lengthOf(7 * KIB * KIB);
    if (large !== undefined) buffers.giveBack(large);
    expect(buffers.idle).to.equal(0);
  });

  for (const [bytes, cost] of [
    [0, 0],
    [64 * KIB, 64 * KIB],
    [64 * KIB + 1, KIB * KIB],
    [KIB * KIB, KIB * KIB],
    [KIB * KIB + 1, KIB * KIB + 1],
    [7 * KIB * KIB, 7 * KIB * KIB],
  ] as const) {
    it(`counts ${cost} bytes for a body of ${bytes}, the size of its buffer if it has one`, () => {
      const buffers = createBodyBuffers();
      expect(buffers.cost(bytes)).to.equal(cost);
      const lent = buffers.take(bytes);
      if (lent !== undefined) expect(lent).to.have.lengthOf(cost);
    });
  }

  it('keeps at most as many as it was told to', () => {
    const buffers = createBodyBuffers(2);
    const lent = [1, 2, 3].map(() => buffers.take(100 * KIB));
    for (const buffer of lent) if (buffer !== undefined) buffers.giveBack(buffer);
    expect(buffers.idle).to.equal(2);
  });
});
