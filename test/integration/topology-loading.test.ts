// SPDX-License-Identifier: Apache-2.0
// Help and commands on files start fast because they never load the client of a cluster.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../fixtures/temporary-folder.ts';
import { clusterFile } from '../fixtures/topology-command.ts';

const run = promisify(execFile);
const main = resolve(import.meta.dirname, '../../cmd/kubectl-topology/main.ts');

describe('kubectl topology, loading', () => {
  let folder: TemporaryFolder;
  before(() => {
    folder = temporaryFolder();
    const hook =
      "import { registerHooks } from 'node:module'; import { appendFileSync } from 'node:fs';" +
      'registerHooks({ load(url, context, next) { appendFileSync(process.env.LOADED, `${url}\\n`); return next(url, context); } });';
    folder.write('hook.mjs', hook);
  });
  after(() => folder.remove());

  const loadedBy = async (...args: string[]): Promise<string[]> => {
    const log = folder.write('loaded', '');
    await run(process.execPath, ['--import', folder.at('hook.mjs'), main, ...args], {
      env: { ...process.env, LOADED: log, KUBECONFIG: folder.at('none') },
    }).catch(() => undefined);
    return readFileSync(log, 'utf8').split('\n');
  };
  const CLIENT = /\/pkg\/kubernetes\/|\/node_modules\/(?:undici|@kubernetes\/client-node)\//;

  const cases: readonly (readonly string[])[] = [
    ['--help'],
    ['audit', '--help'],
    ['audit', '-f', clusterFile('effective'), '--html', '/dev/null'],
    ['explain', 'web', '-f', clusterFile('effective')],
    ['hints', '-f', clusterFile('effective')],
    ['route', '-f', clusterFile('effective'), '--service', 'shop/web'],
    ['simulate', 'web', '-f', clusterFile('effective')],
    ['status', '-f', clusterFile('effective')],
  ];
  for (const args of cases) {
    it(`${args.slice(0, 2).join(' ')}: no client of a cluster`, async () => {
      const loaded = await loadedBy(...args);
      expect(loaded.some((url) => url.endsWith('/cmd/kubectl-topology/main.ts'))).to.equal(true);
      expect(loaded.filter((url) => CLIENT.test(url))).to.deep.equal([]);
    });
  }

  it('a cluster that is asked: the client, so that the pattern above finds it', async () => {
    expect((await loadedBy('audit')).filter((url) => CLIENT.test(url))).not.to.deep.equal([]);
  });
});
