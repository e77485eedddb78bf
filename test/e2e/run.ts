// SPDX-License-Identifier: Apache-2.0
// Runs the end-to-end suites, each in a mocha process inside a network namespace of its own, and counts the results.
//
//   test/e2e/run [suite …] [-- mocha arguments]     e.g. test/e2e/run bed -- --grep hints
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultVersion, ensureBinaries } from './bed/binaries.ts';
import { runIsolated } from './bed/isolate.ts';
import { missingRequirements } from './bed/requirements.ts';
import { countsVariable } from './reporter.ts';
import type { Counts } from './reporter.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const suites = join(root, 'test/e2e/suites');
const suffix = '.test.ts';

/** Per test; a hung cluster fails, a slow machine does not. */
const timeoutMs = 180_000;

const none: Counts = { passed: 0, failed: 0, skipped: 0 };

const sum = (left: Counts, right: Counts): Counts => ({
  passed: left.passed + right.passed,
  failed: left.failed + right.failed,
  skipped: left.skipped + right.skipped,
});

const selectSuites = (wanted: readonly string[]): string[] => {
  const all = readdirSync(suites)
    .filter((file) => file.endsWith(suffix))
    .map((file) => file.slice(0, -suffix.length))
    .sort();
  const unknown = wanted.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`no suite ${unknown.join(', ')}; suites: ${all.join(', ')}`);
  return wanted.length === 0 ? all : [...wanted];
};

const mochaCommand = (suite: string, args: readonly string[]): [string, ...string[]] => [
  process.execPath,
  join(root, 'node_modules/mocha/bin/mocha.js'),
  '--no-config',
  '--no-package',
  `--timeout=${timeoutMs}`,
  `--reporter=${join(root, 'test/e2e/reporter.ts')}`,
  ...args,
  join(suites, `${suite}${suffix}`),
];

/** Reads what the reporter left; a process that ended without leaving anything counts as one failure. */
const readCounts = (file: string): Counts => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Counts;
  } catch {
    return { ...none, failed: 1 };
  }
};

const runSuite = async (suite: string, args: string[], folder: string, signal: AbortSignal): Promise<Counts> => {
  const file = join(folder, `${suite}.json`);
  const code = await runIsolated(mochaCommand(suite, args), { environment: { [countsVariable]: file }, signal });
  const counts = readCounts(file);
  // Mocha fails for reasons beyond tests, e.g. a suite that cannot be loaded.
  return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
};

/** How many tests a suite has, without running any of them. */
const countTests = (suite: string, args: readonly string[], folder: string): Counts => {
  const file = join(folder, `${suite}.json`);
  spawnSync(process.execPath, mochaCommand(suite, ['--dry-run', ...args]).slice(1), {
    env: { ...process.env, [countsVariable]: file },
  });
  const { passed, failed, skipped } = readCounts(file);
  return { passed: 0, failed, skipped: passed + skipped };
};

const runAll = async (names: string[], args: string[], folder: string, signal: AbortSignal): Promise<Counts> => {
  // Before the first suite, so that no test's time limit has to cover a build.
  await ensureBinaries(defaultVersion, signal);
  let counts = none;
  for (const suite of names) {
    if (signal.aborted) return { ...counts, failed: counts.failed + 1 };
    counts = sum(counts, await runSuite(suite, args, folder, signal));
  }
  return counts;
};

const main = async (): Promise<number> => {
  const separator = process.argv.indexOf('--');
  const end = separator === -1 ? process.argv.length : separator;
  const names = selectSuites(process.argv.slice(2, end));
  const mochaArgs = process.argv.slice(end + 1);
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  const folder = mkdtempSync(join(tmpdir(), 'topology-routing-e2e-'));
  try {
    const missing = await missingRequirements();
    const counts =
      missing.length > 0
        ? names.map((suite) => countTests(suite, mochaArgs, folder)).reduce(sum, none)
        : await runAll(names, mochaArgs, folder, stop.signal);
    for (const sentence of missing) console.log(`Skipped; this machine misses: ${sentence}`);
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    // Where everything is there, a skipped test hides something.
    const hidden = missing.length === 0 && counts.skipped > 0;
    return counts.failed > 0 || hidden ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`test/e2e/run: ${(error as Error).message}`);
  process.exitCode = 1;
}
