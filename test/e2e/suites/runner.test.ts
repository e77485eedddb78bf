// SPDX-License-Identifier: Apache-2.0
// Shows that the runner counts what it cannot run as skipped and says why, and that it refuses what it does not know.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

const runner = fileURLToPath(new URL('../run.ts', import.meta.url));

describe('test/e2e/run', () => {
  let empty: string;
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [runner, ...args], {
      encoding: 'utf8',
      // A machine with nothing but Node.
      env: { ...process.env, PATH: empty, XDG_CACHE_HOME: empty },
    });

  before(() => {
    empty = mkdtempSync(join(tmpdir(), 'empty-'));
  });
  after(() => rmSync(empty, { recursive: true, force: true }));

  it('says what is missing, counts every test as skipped and succeeds', () => {
    const { status, stdout } = run('bed', 'hints');
    expect(stdout).to.contain('Skipped; this machine misses: not on PATH: ip, nft, nsenter');
    expect(stdout).to.contain('apt-get install iproute2 nftables');
    expect(stdout).to.contain('Go 1.26 or newer, to build Kubernetes 1.36');
    const [, passed, failed, skipped] = /^(\d+) passed, (\d+) failed, (\d+) skipped\n$/m.exec(stdout) ?? [];
    expect([passed, failed, status]).to.deep.equal(['0', '0', 0]);
    // Both suites: more than either has alone.
    expect(Number(skipped)).to.be.above(20);
  });

  it('counts only what the arguments of mocha select', () => {
    expect(run('bed', '--', '--grep', 'answers a missing object with 404').stdout).to.match(/0 failed, 1 skipped\n$/);
  });

  it('refuses an unknown suite and names those there are', () => {
    const { status, stderr } = run('bed', 'nonsense');
    expect(status).to.equal(1);
    expect(stderr).to.match(/^test\/e2e\/run: no suite nonsense; suites: bed, build, .*hints.*\n$/);
  });
});
