// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createBodyBuffers } from '../../../pkg/webhook/body-buffers.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

describe('buffers for bodies', () => {
  for (const [bytes, capacity] of [
    [1, 64 * KIB],
    [64 * KIB, 64 * KIB],
    [64 * KIB + 1, MIB],
    [MIB, MIB],
    [MIB + 1, 7 * MIB],
  ] as const) {
    it(`holds ${bytes} bytes of a body of 7 MiB in a buffer of ${capacity}`, () => {
      const buffers = createBodyBuffers();
      expect(buffers.capacity(bytes, 7 * MIB)).to.equal(capacity);
      expect(buffers.take(capacity)).to.have.lengthOf(capacity);
    });
  }

  for (const capacity of [64 * KIB, MIB]) {
    it(`lends a buffer of ${capacity} bytes again once it is back, and never before`, () => {
      const buffers = createBodyBuffers();
      const first = buffers.take(capacity);
      expect(buffers.take(capacity)).not.to.equal(first);
      buffers.giveBack(first);
      expect(buffers.take(capacity)).to.equal(first);
    });
  }

  it('keeps no buffer of another size', () => {
    const buffers = createBodyBuffers();
    buffers.giveBack(buffers.take(7 * MIB));
    expect(buffers.idle).to.equal(0);
  });

  it('keeps at most as many of a size as it was told to', () => {
    const buffers = createBodyBuffers(2);
    for (const buffer of [1, 2, 3].map(() => buffers.take(MIB))) buffers.giveBack(buffer);
    buffers.giveBack(buffers.take(64 * KIB));
    expect(buffers.idle).to.equal(3);
  });
});
