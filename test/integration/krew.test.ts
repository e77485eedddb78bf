// krew's manifest of the plug-in is valid, and the release fills in the checksum of an archive that holds what it names.
import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { parse } from 'yaml';
import { type Release, krewRelease } from '../../hack/krew.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const source = readFileSync(join(root, 'hack/krew/topology.yaml'), 'utf8');

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: {
    version: string;
    homepage: string;
    shortDescription: string;
    description: string;
    platforms: {
      selector: { matchExpressions: { key: string; operator: string; values: string[] }[] };
      uri: string;
      sha256: string;
      bin: string;
      files: { from: string; to: string }[];
    }[];
  };
}

/** What krew checks of a manifest before it installs. */
const problemsOf = ({ apiVersion, kind, metadata, spec }: Manifest): string[] => [
  ...(apiVersion === 'krew.googlecontainertools.github.com/v1alpha2' && kind === 'Plugin' ? [] : ['type']),
  ...(/^[\w-]+$/.test(metadata.name) ? [] : ['name']),
  ...(/^v\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(spec.version) ? [] : ['version']),
  ...(spec.shortDescription !== '' && !/[\n\r]/.test(spec.shortDescription) ? [] : ['shortDescription']),
  ...(spec.platforms.length > 0 ? [] : ['platforms']),
  ...spec.platforms.flatMap(({ uri, sha256, bin, files }) => [
    ...(uri.startsWith('https://') && uri.includes(spec.version) && /\.(?:tar\.gz|zip)$/.test(uri) ? [] : ['uri']),
    ...(/^[0-9a-f]{64}$/.test(sha256) ? [] : ['sha256']),
    ...(bin !== '' && files.some(({ from }) => from === bin) ? [] : ['bin']),
    ...(files.every(({ from, to }) => !/^\/|\.\./.test(from + to)) ? [] : ['files']),
  ]),
];

/** A bundle as `npm run bundle` leaves it: a chunk for the plug-in, one more behind that, and one of another command. */
const BUNDLE: Readonly<Record<string, string>> = {
  'kubectl-topology':
    '#!/usr/bin/env node\nimport{a}from"./chunks/chunk-AAAAAAAA.js";const{b}=await import("./chunks/late-BBBBBBBB.js");console.log(a,b,process.argv[2]);\n',
  'kubectl_complete-topology': '#!/bin/sh\n',
  'chunks/chunk-AAAAAAAA.js': 'export const a="eager";const text=\'require("./lib/none.js")\';\n',
  'chunks/late-BBBBBBBB.js': 'export{a as b}from"./chunk-CCCCCCCC.js";\n',
  'chunks/chunk-CCCCCCCC.js': `export const a="late";${'// long'.repeat(200)}\n`,
  'chunks/chunk-DDDDDDDD.js': 'export const other=1;\n',
  'package.json': '{"type":"module"}\n',
  'LICENSES.txt': 'licences\n',
};

describe('krew', () => {
  const folder = temporaryFolder();
  let release: Release;
  let manifest: Manifest;

  before(async () => {
    for (const [name, text] of Object.entries(BUNDLE)) folder.write(`bundle/${name}`, text);
    release = await krewRelease(folder.at('bundle'), source, Buffer.from('licence of the project\n'));
    manifest = parse(release.manifest) as Manifest;
  });

  it('has a valid manifest here, with a checksum still to come', () => {
    const here = parse(source) as Manifest;
    expect(problemsOf(here)).to.deep.equal([]);
    expect(here.spec.platforms.map(({ sha256 }) => sha256)).to.deep.equal(['0'.repeat(64)]);
  });

  it('has a valid manifest in a release, with the checksum of its archive and nothing else changed', () => {
    expect(problemsOf(manifest)).to.deep.equal([]);
    const [platform] = manifest.spec.platforms;
    expect(platform?.sha256).to.equal(createHash('sha256').update(release.archive).digest('hex'));
    expect(
      release.manifest
        .replaceAll(platform?.sha256 ?? '', '0'.repeat(64))
        .split('\n')
        .slice(2),
    ).to.deep.equal(source.split('\n').slice(2));
  });

  it('makes the same archive of the same files, and another of others', async () => {
    const license = Buffer.from('licence of the project\n');
    expect((await krewRelease(folder.at('bundle'), source, license)).archive.equals(release.archive)).to.equal(true);
    expect((await krewRelease(folder.at('bundle'), source, Buffer.from('x'))).archive.equals(release.archive)).to.equal(
      false,
    );
  });

  it('packs what the manifest names, and of the chunks those that the plug-in loads', async () => {
    const archive = folder.at('archive.tar.gz');
    folder.write('archive.tar.gz', release.archive);
    const names = (await run('tar', ['-tzf', archive])).stdout.trim().split('\n').sort();
    expect(names).to.deep.equal(
      [...Object.keys(BUNDLE).filter((name) => !name.includes('DDDDDDDD')), 'LICENSE'].sort(),
    );
    const installed = folder.at('installed');
    mkdirSync(installed);
    await run('tar', ['-xzf', archive, '-C', installed]);
    for (const { from } of manifest.spec.platforms[0]?.files ?? [])
      expect(existsSync(join(installed, from.replace('/*', ''))), from).to.equal(true);
    expect(statSync(join(installed, 'kubectl-topology')).mode & 0o111).to.equal(0o111);
    const { stdout } = await run(process.execPath, [join(installed, 'kubectl-topology'), 'explain']);
    expect(stdout).to.equal('eager late explain\n');
  });
});
