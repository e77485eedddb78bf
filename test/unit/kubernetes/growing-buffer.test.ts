import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { createGrowingBuffer } from '../../../pkg/kubernetes/exchange.ts';

describe('growing buffer', () => {
  it('holds what was pushed, however it was cut', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 9_000 }), { maxLength: 8 }), (chunks) => {
        const buffer = createGrowingBuffer(100_000);
        for (const chunk of chunks) buffer.push(chunk);
        const whole = Buffer.concat(chunks);
        expect(buffer.length).to.equal(whole.length);
        expect(buffer.take().equals(whole), 'the same bytes').to.equal(true);
        expect(buffer.length, 'after it was taken').to.equal(0);
      }),
    );
  });

  it('takes as many bytes as its limit, and keeps what it has where one more is refused', () => {
    const buffer = createGrowingBuffer(3);
    buffer.push(Buffer.from('abc'));
    expect(() => buffer.push(Buffer.from('d'))).to.throw(RangeError, 'more than 3 bytes');
    expect(buffer.take().toString()).to.equal('abc');
  });

  it('costs a million one-byte chunks no more than their bytes', () => {
    const one = Buffer.from('x');
    const before = process.memoryUsage();
    const buffer = createGrowingBuffer(2_000_000);
    for (let count = 0; count < 1_000_000; count += 1) buffer.push(one);
    const after = process.memoryUsage();
    // A list of Buffers took 210 bytes for each: 210 MB.
    expect(after.arrayBuffers - before.arrayBuffers, 'bytes outside the heap').to.be.at.most(4_000_000);
    expect(buffer.take().length).to.equal(1_000_000);
  });
});
