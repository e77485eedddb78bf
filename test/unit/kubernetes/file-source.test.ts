// Files are followed, but not read more often than they change.
import { rmSync, statSync, symlinkSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { createFileSource } from '../../../pkg/kubernetes/credentials.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../../fixtures/temporary-folder.ts';

describe('createFileSource', () => {
  let folder: TemporaryFolder;
  let clock: FakeClock;
  beforeEach(() => {
    folder = temporaryFolder();
    clock = createFakeClock();
  });
  afterEach(() => folder.remove());

  it('returns the same buffer until the file changes', async () => {
    const source = createFileSource(folder.write('token', 'one'), clock, 5_000);
    const first = source.read();
    await clock.advance(60_000);
    expect(source.read()).to.equal(first);
    expect(first.toString()).to.equal('one');
  });

  it('does not look again within the interval', async () => {
    const source = createFileSource(folder.write('token', 'one'), clock, 5_000);
    source.read();
    folder.write('token', 'two');
    await clock.advance(4_999);
    expect(source.read().toString()).to.equal('one');
    await clock.advance(1);
    expect(source.read().toString()).to.equal('two');
  });

  it('looks at once after expire', () => {
    const source = createFileSource(folder.write('token', 'one'), clock, 5_000);
    source.read();
    folder.write('token', 'two');
    source.expire();
    expect(source.read().toString()).to.equal('two');
  });

  it('notices a change that kept size and modification time', () => {
    const path = folder.write('token', 'one');
    const source = createFileSource(path, clock, 0);
    source.read();
    const { atime, mtime } = statSync(path);
    folder.write('token', 'two');
    utimesSync(path, atime, mtime);
    expect(source.read().toString()).to.equal('two');
  });

  it('notices a symbolic link that was swapped, as kubelet does it', () => {
    folder.write('v1/token', 'one');
    folder.write('v2/token', 'two');
    symlinkSync('v1', folder.at('..data'));
    symlinkSync('..data/token', folder.at('token'));
    const source = createFileSource(folder.at('token'), clock, 0);
    expect(source.read().toString()).to.equal('one');
    symlinkSync('v2', folder.at('..data_tmp'));
    renameSync(folder.at('..data_tmp'), folder.at('..data'));
    expect(source.read().toString()).to.equal('two');
  });

  it('keeps the last content while the file is missing, and takes the new one', () => {
    const path = folder.write('token', 'one');
    const source = createFileSource(path, clock, 0);
    source.read();
    rmSync(path);
    expect(source.read().toString()).to.equal('one');
    writeFileSync(path, 'two');
    expect(source.read().toString()).to.equal('two');
  });

  it('throws when the file was never there', () => {
    expect(() => createFileSource(folder.at('absent'), clock, 0).read()).to.throw(/ENOENT.*absent/u);
  });
});
