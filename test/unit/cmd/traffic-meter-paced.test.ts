import { PassThrough, Readable } from 'node:stream';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readInBatches, restOf, withoutReadAhead } from '../../../cmd/traffic-meter/conntrack.ts';

describe('traffic-meter: reading in batches', () => {
  const rows: readonly (readonly [name: string, bytes: number, elapsedMs: number, rest: number])[] = [
    ['nothing came', 0, 20, 100],
    ['400 lines a second: as long as may be', 10_000, 100, 82],
    ['100 lines a second', 2_500, 100, 100],
    ['10,000 lines a second, read after 20 ms: no rest', 50_000, 20, 0],
    ['a burst after a long rest: a shorter one', 65_536, 100, 13],
  ];
  for (const [name, bytes, elapsed, rest] of rows) {
    it(`rests ${rest} ms where ${name}`, () => {
      expect(Math.round(restOf(bytes, elapsed))).to.equal(rest);
    });
  }

  it('hands over all of a stream, in order, and what came before its end', async () => {
    const stream = withoutReadAhead(() => new PassThrough());
    const wanted = Array.from({ length: 500 }, (_, index) => `line ${index}\n`);
    let text = '';
    readInBatches(stream, (chunk) => void (text += chunk.toString()));
    const closed = new Promise((resolve) => stream.once('close', resolve));
    Readable.from(wanted).pipe(stream);
    await closed;
    expect(text).to.equal(wanted.join(''));
  });

  it('reads no more than a chunk ahead while it rests', async () => {
    const stream = withoutReadAhead(() => new PassThrough());
    let chunks = 0;
    readInBatches(stream, () => void (chunks += 1));
    await new Promise<void>((resolve) => {
      stream.once('pause', resolve);
    });
    stream.write('one');
    expect([chunks, stream.readableHighWaterMark, stream.write('two')]).to.deep.equal([0, 1, false]);
    stream.destroy();
  });
});
