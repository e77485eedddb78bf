import { Writable } from 'node:stream';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { batchTurns } from '../../../cmd/endpointslice-webhook/app.ts';

const open = () => {
  const writes: string[] = [];
  const target = new Writable({
    decodeStrings: false,
    writev(chunks, done) {
      writes.push(chunks.map(({ chunk }) => String(chunk)).join(''));
      done();
    },
  });
  return { target, stream: batchTurns(target), writes };
};
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('batchTurns', () => {
  it('writes the lines of one turn at once, in order', async () => {
    const { stream, writes } = open();
    for (const line of ['a\n', 'b\n', 'c\n']) stream.write(line);
    expect(writes).to.deep.equal([]);
    await turn();
    expect(writes).to.deep.equal(['a\nb\nc\n']);
    stream.write('d\n');
    await turn();
    expect(writes).to.deep.equal(['a\nb\nc\n', 'd\n']);
  });

  it('writes what is left at the end, once', async () => {
    const { target, stream, writes } = open();
    stream.write('last\n');
    target.uncork();
    target.uncork();
    await turn();
    expect(writes).to.deep.equal(['last\n']);
  });

  it('does not collect without bound, and loses no line whatever their sizes', async () => {
    const { stream, writes } = open();
    const lines = Array.from({ length: 500 }, (_, index) => `${index} ${'y'.repeat((index * 37) % 900)} ä\n`);
    for (const line of lines) stream.write(line);
    expect(writes.length, 'before the turn ends').to.be.above(2);
    await turn();
    expect(writes.join('')).to.equal(lines.join(''));
  });
});
