// Lines come out whole, however the bytes arrive.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { createLineSplitter } from '../../../pkg/kubernetes/watch.ts';
import { createGrowingBuffer } from '../../../pkg/kubernetes/exchange.ts';

const LIMIT = 1_000;
const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

describe('createLineSplitter', () => {
  it('hands out a line when its newline arrives', () => {
    const splitter = createLineSplitter(LIMIT);
    expect(splitter.push(bytes('{"a"'))).to.deep.equal([]);
    expect(splitter.pendingBytes).to.equal(4);
    expect(splitter.push(bytes(':1}\n{"b'))).to.deep.equal(['{"a":1}']);
    expect(splitter.push(bytes('":2}\n'))).to.deep.equal(['{"b":2}']);
    expect(splitter.pendingBytes).to.equal(0);
  });
  it('reads a view into a larger buffer, as undici hands them out', () => {
    const pool = bytes('xxa\nyy');
    expect(createLineSplitter(LIMIT).push(new Uint8Array(pool.buffer, pool.byteOffset + 2, 2))).to.deep.equal(['a']);
  });
  for (const [name, chunks] of [
    ['complete in one chunk', [`${'x'.repeat(LIMIT + 1)}\n`]],
    ['complete in two chunks', ['x'.repeat(LIMIT), 'x\n']],
    ['without its newline yet', ['x'.repeat(LIMIT), 'x']],
  ] as const) {
    it(`refuses a line over the limit, ${name}`, () => {
      const splitter = createLineSplitter(LIMIT);
      expect(() => chunks.forEach((chunk) => splitter.push(bytes(chunk)))).to.throw(RangeError, '1000');
    });
  }
  for (const [name, chunks] of [
    ['in one chunk', [`a\n${'x'.repeat(LIMIT + 1)}\nb\n`]],
    ['in many chunks', ['a\n', 'x'.repeat(LIMIT), 'xx', 'x'.repeat(LIMIT), 'x\nb', '\n']],
  ] as const) {
    it(`leaves out a line over the limit where that is asked for, ${name}`, () => {
      let tooLong = 0;
      const splitter = createLineSplitter(LIMIT, () => void (tooLong += 1));
      expect(chunks.flatMap((chunk) => splitter.push(bytes(chunk)))).to.deep.equal(['a', 'b']);
      expect([tooLong, splitter.pendingBytes]).to.deep.equal([1, 0]);
    });
  }
  it('is independent of where the stream is cut', () => {
    const line = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).map((text) => text.replaceAll('\n', ' '));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), fc.array(fc.nat(400), { maxLength: 30 }), (lines, cuts) => {
        const whole = bytes(lines.map((text) => `${text}\n`).join(''));
        const at = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length];
        const splitter = createLineSplitter(LIMIT);
        const got = at.slice(1).flatMap((end, index) => splitter.push(whole.subarray(at[index], end)));
        expect(got).to.deep.equal(lines);
        expect(splitter.pendingBytes).to.equal(0);
      }),
    );
  });
});

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
