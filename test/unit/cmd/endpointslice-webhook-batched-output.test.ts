import { Writable } from 'node:stream';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createBatchedOutput } from '../../../cmd/endpointslice-webhook/app.ts';

const target = () => {
  const writes: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      writes.push(chunk.toString());
      done();
    },
  });
  return { stream, writes };
};
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('createBatchedOutput', () => {
  it('writes the lines of one turn at once, in order', async () => {
    const { stream, writes } = target();
    const output = createBatchedOutput(stream);
    for (const line of ['a\n', 'b\n', 'c\n']) output.stream.write(line);
    expect(writes).to.deep.equal([]);
    await turn();
    expect(writes).to.deep.equal(['a\nb\nc\n']);
    output.stream.write('d\n');
    await turn();
    expect(writes).to.deep.equal(['a\nb\nc\n', 'd\n']);
  });

  it('does not collect without bound', () => {
    const { stream, writes } = target();
    const output = createBatchedOutput(stream);
    for (let index = 0; index < 100; index += 1) output.stream.write('x'.repeat(10_000));
    expect(writes.length).to.be.above(10);
  });

  it('flushes what is left, once', async () => {
    const { stream, writes } = target();
    const output = createBatchedOutput(stream);
    output.stream.write('last\n');
    output.flush();
    output.flush();
    await turn();
    expect(writes).to.deep.equal(['last\n']);
  });

  it('loses no line, whatever their sizes', async () => {
    const { stream, writes } = target();
    const output = createBatchedOutput(stream);
    const lines = Array.from({ length: 500 }, (_, index) => `${index} ${'y'.repeat((index * 37) % 900)} ä\n`);
    for (const line of lines) output.stream.write(line);
    await turn();
    expect(writes.join('')).to.equal(lines.join(''));
  });
});
