// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { gunzipBounded } from '../../../../cmd/kubectl-topology/bundle/gzip.ts';
import { BLOCK_BYTES, tar } from '../../../../cmd/kubectl-topology/bundle/tar.ts';
import { entriesOf } from '../../../../cmd/kubectl-topology/bundle/untar.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../../../fixtures/temporary-folder.ts';

const NOW = Date.UTC(2026, 10, 21);
const entry = (name: string, text: string) => ({ name, content: Buffer.from(text) });

describe('tar archives', () => {
  let folder: TemporaryFolder;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => folder.remove());

  it('tar unpacks what is written: content, time, and rights for the owner alone', () => {
    const long = `logs/${'n'.repeat(63)}/${'p'.repeat(63)}.previous.log`;
    const files = [entry('a/README.txt', 'hello\n'), entry('a/empty', ''), entry(long, 'x'.repeat(BLOCK_BYTES))];
    const archive = folder.write('a.tar', tar(files, NOW));
    execFileSync('tar', ['xf', archive, '-C', folder.path]);
    for (const { name, content } of files) {
      expect(readFileSync(folder.at(name)).equals(content), name).to.equal(true);
      expect(statSync(folder.at(name)).mtimeMs).to.equal(NOW);
      expect(statSync(folder.at(name)).mode & 0o777).to.equal(0o600);
    }
  });

  it('reads what tar packs, in either of its formats, and only files', () => {
    folder.write('in/one.json', '{}');
    folder.write('in/two.yaml', 'a: 1\n');
    for (const format of ['ustar', 'gnu']) {
      execFileSync('tar', ['cf', folder.at('b.tar'), `--format=${format}`, '-C', folder.path, 'in']);
      const found = entriesOf(readFileSync(folder.at('b.tar'))).map(({ name, content }) => [name, String(content)]);
      expect(found, format).to.have.deep.members([
        ['in/one.json', '{}'],
        ['in/two.yaml', 'a: 1\n'],
      ]);
    }
  });

  it('what is written is read again, whatever it is', () => {
    const name = fc.stringMatching(/^[a-z0-9]{1,20}\/[a-z0-9.-]{1,99}$/);
    const files = fc.uniqueArray(fc.record({ name, content: fc.uint8Array({ maxLength: 1_500 }).map(Buffer.from) }), {
      selector: (file) => file.name,
      maxLength: 5,
    });
    fc.assert(
      fc.property(files, (written) => {
        const found = entriesOf(tar(written, NOW));
        expect(found.map((file) => file.name)).to.deep.equal(written.map((file) => file.name));
        found.forEach((file, index) => expect(file.content.equals(written[index]!.content)).to.equal(true));
      }),
    );
  });

  it('refuses names that do not fit', () => {
    expect(() => tar([entry('n'.repeat(101), '')], NOW)).to.throw(RangeError, 'too long for a tar archive');
    expect(() => tar([entry(`${'n'.repeat(200)}/a`, '')], NOW)).to.throw(RangeError);
  });

  it('says what is wrong with an archive, and reads no byte beyond it', () => {
    expect(() => entriesOf(Buffer.alloc(BLOCK_BYTES, 'x'))).to.throw('not a tar archive: a size is no number');
    const whole = tar([entry('a.json', 'x'.repeat(2_000))], NOW);
    expect(() => entriesOf(whole.subarray(0, 1_024))).to.throw('not a tar archive: it is cut off');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3_000 }), (bytes) => {
        try {
          entriesOf(Buffer.from(bytes));
        } catch (error) {
          expect(String(error)).to.contain('not a tar archive');
        }
      }),
    );
  });

  it('unpacks no more than it is allowed to', () => {
    const bomb = gzipSync(Buffer.alloc(100_000));
    expect(gunzipBounded(bomb).length).to.equal(100_000);
    expect(() => gunzipBounded(bomb, 10_000)).to.throw(RangeError);
  });
});
