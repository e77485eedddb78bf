// A folder may be another person's pull request: what is found in it is read only where it is in it.
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, symlinkSync } from 'node:fs';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { readToEnd } from '../../../../cmd/kubectl-topology/input/files.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
import { runTopology } from '../../../fixtures/topology-command.ts';

const SERVICE = 'apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n';
const SECRET = 'eyJhbGciOiJSUzI1NiJ9.s3cr3t';

describe('kubectl topology, files of a folder', () => {
  const folder = temporaryFolder();
  before(() => {
    folder.write('token', SECRET);
    folder.write('outside.yaml', SERVICE);
  });

  const check = (path: string) => runTopology(['check', '-f', path, '--fail-on', 'none']);

  const links: readonly (readonly [name: string, make: (path: string) => void, message: RegExp])[] = [
    ['a token', (path) => symlinkSync(folder.at('token'), path), /a\.yaml: is a link that leads out of the folder/],
    ['a manifest beside it', (path) => symlinkSync('../outside.yaml', path), /leads out of the folder/],
    ['the environment', (path) => symlinkSync('/proc/self/environ', path), /leads out of the folder/],
    ['a device', (path) => symlinkSync('/dev/zero', path), /leads out of the folder/],
    ['nothing', (path) => symlinkSync('/nowhere', path), /no such file or folder/],
    ['itself', (path) => symlinkSync('a.yaml', path), /ELOOP/],
    ['a pipe', (path) => execFileSync('mkfifo', [path]), /is no regular file/],
    ['a folder', (path) => mkdirSync(path), /is no regular file/],
  ];
  for (const [name, make, message] of links) {
    it(`does not read what leads to ${name}`, async () => {
      const path = folder.at(name.replaceAll(' ', '-'));
      mkdirSync(path);
      make(`${path}/a.yaml`);
      const { code, err } = await check(path);
      expect(code).to.equal(2);
      expect(err).to.match(message).and.not.contain('s3cr3t');
    });
  }

  it('reads a link within it, as mounted ConfigMaps have them, and through one that leads to it', async () => {
    mkdirSync(folder.at('mounted/..data'), { recursive: true });
    folder.write('mounted/..data/a.yaml', SERVICE);
    symlinkSync('..data/a.yaml', folder.at('mounted/a.yaml'));
    linkSync(folder.at('mounted/..data/a.yaml'), folder.at('mounted/b.yaml'));
    symlinkSync('mounted', folder.at('link'));
    expect((await check(folder.at('link'))).code).to.equal(0);
  });

  it('reads a link that a person names, and quotes nothing of what is no manifest', async () => {
    symlinkSync(folder.at('token'), folder.at('named.yaml'));
    const { code, err } = await check(folder.at('named.yaml'));
    expect([code, err]).to.deep.equal([
      2,
      `error: ${folder.at('named.yaml')}:1: expected a Kubernetes object (apiVersion, kind, metadata), found a string\n`,
    ]);
    for (const args of [
      ['audit', '-f', folder.at('outside.yaml'), '--gb-per-day', '1', '--prices'],
      ['replay', '--policy'],
    ]) {
      const other = await runTopology([...args, folder.at('named.yaml')], { stdin: '' });
      expect(other.code).to.equal(2);
      expect(other.err).to.contain('named.yaml').and.not.contain('s3cr3t');
    }
  });

  it('gives up a device or pipe without end', async () => {
    let given = 0;
    const endless = Readable.from(
      (function* () {
        for (const chunk = Buffer.alloc(32 * 1024 * 1024); ; given += 1) yield chunk;
      })(),
      { highWaterMark: 1 },
    );
    const error: unknown = await readToEnd(endless, 'standard input').catch((thrown: unknown) => thrown);
    expect(error).to.have.property('message', 'standard input: holds more than 256 MiB: split it');
    expect(given).to.be.below(16);
  });
});
