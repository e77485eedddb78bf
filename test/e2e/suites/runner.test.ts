// SPDX-License-Identifier: Apache-2.0
// Shows that the runner counts what it cannot run as skipped and says why, and that it refuses what it does not know.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { runInPlace } from '../bed/isolate.ts';
import { waitFor } from '../bed/wait-for.ts';
import { formatUnstable, runSuites, settle, totalOf } from '../runner.ts';
import type { SuiteResult } from '../runner.ts';

const runner = fileURLToPath(new URL('../run.ts', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));
const soak = fileURLToPath(new URL('../soak.ts', import.meta.url));

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

  it('says which program of a suite is not built and how to build it, and counts its tests as skipped', () => {
    const { status, stdout } = run('gardener-routing');
    expect(stdout).to.contain(
      'owner, not built (hack/gardener/build owner owner; make soak builds it), for the suite gardener-routing',
    );
    expect(stdout).to.match(/\n0 passed, 0 failed, 1 skipped\n$/);
    expect(status).to.equal(0);
  });

  it('counts only what the arguments of mocha select', () => {
    expect(run('bed', '--', '--grep', 'answers a missing object with 404').stdout).to.match(/0 failed, 1 skipped\n$/);
  });

  it('ends with a table of the suites and then the counts', () => {
    const lines = run('bed', 'hints').stdout.trimEnd().split('\n');
    expect(lines.filter((line) => /^(bed|hints|all) +0 +0 +\d+ +0 s$/.test(line))).to.have.lengthOf(3);
    expect(lines.at(-1)).to.match(/^0 passed, 0 failed, \d+ skipped$/);
  });

  it('lists the suites and what each shows, and explains itself', () => {
    expect(run('--list').stdout).to.match(/^versions +The mechanism chosen for each Kubernetes version/m);
    expect(run('--help').stdout).to.contain('Usage: test/e2e/run [suite …] [-- mocha arguments]');
  });

  it('builds nothing where something is missing, and says what', () => {
    const { status, stdout } = run('--prepare');
    expect(stdout).to.contain('Not built; this machine misses: not on PATH: ip, nft, nsenter');
    expect(status).to.equal(0);
  });

  it('refuses an unknown suite and names those there are', () => {
    const { status, stderr } = run('bed', 'nonsense');
    expect(status).to.equal(1);
    expect(stderr).to.match(/^test\/e2e\/run: no suite nonsense; suites: .*\bbed, build, .*hints.*\n$/);
  });
});

describe('a suite that failed beside others', () => {
  const result = (suite: string, failed: number): SuiteResult => ({
    suite,
    counts: { passed: 2, failed, skipped: 0 },
    failures: failed === 0 ? [] : [`FAILED ${suite} is late`],
    seconds: 1,
  });
  const settled = async (first: readonly SuiteResult[], second: readonly SuiteResult[], jobs = 3) => {
    const asked: string[] = [];
    const { results, unstable } = await settle(first, jobs, (suites) => {
      asked.push(...suites);
      return Promise.resolve(second);
    });
    return { asked, failed: totalOf(results).failed, printed: formatUnstable(unstable) };
  };

  it('runs once more alone, which decides, and is named where it then passes', async () => {
    const first = [result('bed', 0), result('hints', 1), result('flow', 1)];
    const second = [result('hints', 0), result('flow', 1)];
    expect(await settled(first, second)).to.deep.equal({
      asked: ['hints', 'flow'],
      failed: 1,
      printed: 'UNSTABLE hints is late\n',
    });
  });

  for (const [what, first, jobs] of [
    ['where it ran alone', [result('scale', 1)], 3],
    ['where one ran after the other', [result('hints', 1)], 1],
    ['where many failed', ['bed', 'hints', 'flow', 'status'].map((suite) => result(suite, 1)), 3],
  ] as const)
    it(`does not run again ${what}`, async () => {
      expect(await settled(first, [], jobs)).to.deep.equal({ asked: [], failed: first.length, printed: '' });
    });
});

describe('a suite that does not end', () => {
  it('is ended at its limit and counts as failed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'limit-'));
    after(() => rmSync(folder, { recursive: true, force: true }));
    const options = { suites: ['completion'], folder, limitMs: 1, signal: new AbortController().signal };
    const [result] = await runSuites({ ...options, jobs: 2 });
    expect(result?.counts).to.deep.equal({ passed: 0, failed: 1, skipped: 0 });
    expect(result?.failures).to.deep.equal(['FAILED completion: still running after 0 s; ended']);
  });

  it('is killed where it does not heed SIGTERM', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'stubborn-'));
    after(() => rmSync(folder, { recursive: true, force: true }));
    const deaf = join(folder, 'deaf');
    const stubborn =
      "process.on('SIGTERM', () => {}); require('fs').writeFileSync(process.argv[1], ''); setInterval(() => {}, 1_000)";
    const stop = new AbortController();
    const ended = runInPlace([process.execPath, '-e', stubborn, deaf], { signal: stop.signal, graceMs: 500 });
    await waitFor('a program that does not hear SIGTERM', () => existsSync(deaf), Boolean);
    stop.abort();
    expect(await ended).to.equal(128);
  });
});

describe('a suite that fails', () => {
  it('leaves a line a failed test, with what was compared and where', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'failing-'));
    after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'failing.test.ts');
    const chai = import.meta.resolve('chai');
    writeFileSync(
      file,
      `import { expect } from '${chai}';\n` +
        "describe('sums', () => { it('agree', () => {}); it('differ', () => expect([1, 2]).to.deep.equal([3])); });\n",
    );
    const outcome = join(folder, 'outcome.json');
    const args = ['--no-config', '--no-package', `--reporter=${join(root, 'test/e2e/reporter.ts')}`, file];
    const { status } = spawnSync(process.execPath, [join(root, 'node_modules/mocha/bin/mocha.js'), ...args], {
      env: { ...process.env, E2E_OUTCOME: outcome },
    });
    expect(status).to.equal(1);
    expect(JSON.parse(readFileSync(outcome, 'utf8'))).to.deep.equal({
      counts: { passed: 1, failed: 1, skipped: 0 },
      failures: ['FAILED sums differ: expected [ 1, 2 ] to deeply equal [ 3 ]; actual [ 1 2 ]; expected [ 3 ]'],
    });
  });
});

describe('test/e2e/soak', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [soak, ...args], {
      encoding: 'utf8',
      env: { ...process.env, PATH: '/nonexistent', XDG_CACHE_HOME: '/nonexistent' },
    });

  it('counts the long forms as skipped where something is missing', () => {
    const { status, stdout } = run('--versions', '1.31,1.33');
    expect(stdout).to.match(/^Skipped; this machine misses: not on PATH: ip, nft/);
    const [, skipped] = /\n0 passed, 0 failed, (\d+) skipped\n$/.exec(stdout) ?? [];
    expect(status).to.equal(0);
    // Two versions and the old proxy.
    expect(Number(skipped)).to.be.above(15);
  });

  it('explains itself', () => {
    expect(run('--help').stdout).to.contain('make soak VERSIONS=all');
  });

  for (const { name, args, message } of [
    {
      name: 'a suite without a long form',
      args: ['--suites', 'day,bed'],
      message: 'no long form of bed; suites: closed-loop, chaos, ',
    },
    { name: 'an unknown version', args: ['--versions', '1.32'], message: 'no version 1.32; versions: 1.30, ' },
    { name: 'an unknown option', args: ['--version'], message: "Unknown option '--version'" },
  ]) {
    it(`refuses ${name}`, () => {
      const { status, stderr } = run(...args);
      expect(status).to.equal(1);
      expect(stderr).to.contain(`test/e2e/soak: `).and.to.contain(message);
    });
  }
});
