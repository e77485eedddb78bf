// SPDX-License-Identifier: Apache-2.0
import { chmodSync, existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { checkFree, writeWhole } from '../../../../cmd/kubectl-topology/bundle/bundle.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../../../fixtures/temporary-folder.ts';

const content = 'content';

describe('writing a bundle', () => {
  let folder: TemporaryFolder;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => folder.remove());

  const failure = (writing: Promise<void>): Promise<string> =>
    writing.then(
      () => 'written',
      ({ message }: Error) => message,
    );

  it('leaves the file and nothing else, for its owner alone, whatever the one before allowed', async () => {
    const file = folder.at('a.json');
    await writeWhole(file, content, false);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    chmodSync(file, 0o666);
    await writeWhole(file, 'more', true);
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).to.deep.equal(['more', 0o600]);
    expect(readdirSync(folder.path)).to.deep.equal(['a.json']);
  });

  it('replaces nothing that came meanwhile', async () => {
    const file = folder.write('a.json', 'mine');
    const refusal = `--bundle ${file}: the file exists; choose another name, or replace it with --force`;
    expect(await failure(checkFree(file, false))).to.equal(refusal);
    expect(await failure(writeWhole(file, content, false))).to.equal(refusal);
    expect(await failure(checkFree(file, true))).to.equal('written');
    expect(readFileSync(file, 'utf8')).to.equal('mine');
    expect(readdirSync(folder.path)).to.deep.equal(['a.json']);
  });

  it('leaves nothing behind where it cannot', async () => {
    folder.write('folder/x', '');
    expect(await failure(writeWhole(folder.at('folder'), content, true))).to.match(/^--bundle .*folder: /);
    expect(await failure(writeWhole(folder.at('none/a'), content, false))).to.contain('no such file or folder');
    expect(readdirSync(folder.path)).to.deep.equal(['folder']);
    expect(existsSync(folder.at('folder/x'))).to.equal(true);
  });
});
