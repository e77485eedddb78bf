// `make e2e`: builds what is missing, runs the suites asked for, and ends with `N passed, N failed, N skipped`.
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { missingRequirements } from './bed/binaries.ts';
import { formatSeconds } from './reporter.ts';
import {
  builtFor,
  closingLine,
  countSuites,
  exitCodeOf,
  formatFailures,
  formatSummary,
  formatUnstable,
  leftToSoak,
  listSuites,
  missingForSuite,
  needsBed,
  prepareBinaries,
  runSuites,
  selectSuites,
  settle,
  totalOf,
} from './runner.ts';

const usage = `Usage: test/e2e/run [suite …] [-- mocha arguments]

Runs the end-to-end suites on real Kubernetes: those named, else all but those left to make soak. Builds Kubernetes first where
that was not done yet.

  --list     print the suites and what each shows
  --prepare  build what all suites need, and run none
  --jobs N   suites at the same time, but for those that measure; default 3 from two cores on, else 1.
             Up to three that fail beside others run once more alone; what then passes is printed as UNSTABLE
  --help     print this

  test/e2e/run flow                    one suite
  test/e2e/run bed -- --grep ready     one test
  E2E_RESULTS=folder test/e2e/run load keep what was measured as JSON
  make soak                            the long forms`;

/** What all suites together may take where everything is built, in seconds. */
const BUDGET_SECONDS = 50 * 60;

/** Three beds use two cores well: much of a suite is waiting. */
const DEFAULT_JOBS = availableParallelism() > 1 ? 3 : 1;

/** For suites that are asked for by name, where nothing is cached and others use the machine too. */
const NAMED_BUILD_SECONDS = 3 * 60 * 60;

interface Invocation {
  readonly suites: string[];
  /** Whether the suites were asked for by name: then all that they need is built. */
  readonly named: boolean;
  readonly mochaArgs: string[];
  readonly jobs: number;
}

const runWith = async ({ suites, named, mochaArgs, jobs }: Invocation, signal: AbortSignal): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), 'topology-routing-e2e-'));
  try {
    const missing = await missingRequirements();
    const options = { suites, mochaArgs, folder };
    // Before the first suite, so that no test's time limit has to cover a build.
    if (missing.length === 0 && suites.some(needsBed)) {
      const wanted = named ? { programs: builtFor(suites), limitSeconds: NAMED_BUILD_SECONDS } : {};
      await prepareBinaries({ ...wanted, signal });
    }
    const isLacking = (suite: string): boolean =>
      (missing.length > 0 && needsBed(suite)) || missingForSuite(suite).length > 0;
    const lacking = suites.filter(isLacking);
    const able = suites.filter((suite) => !lacking.includes(suite));
    const began = performance.now();
    const first = await runSuites({ ...options, suites: able, jobs, signal });
    const { results: ran, unstable } = await settle(first, jobs, (again) => {
      console.log(`\nOnce more, alone: ${again.join(', ')}`);
      return runSuites({ ...options, suites: again, signal });
    });
    const seconds = (performance.now() - began) / 1_000;
    const results = [...ran, ...countSuites({ ...options, suites: lacking })];
    const counts = totalOf(results);
    console.log(`\n${formatSummary(results)}\n`);
    console.log(
      `${formatSeconds(seconds)} in all, ${jobs} at a time\n\n${formatUnstable(unstable)}${formatFailures(results)}`,
    );
    if (seconds > BUDGET_SECONDS) console.log(`The suites took longer than their ${BUDGET_SECONDS / 60} minutes.`);
    const reasons = [...(suites.some(needsBed) ? missing : []), ...lacking.flatMap(missingForSuite)];
    if (!named) console.log(`Left to make soak: ${leftToSoak().join(', ')}`);
    for (const sentence of reasons) console.log(`Skipped; this machine misses: ${sentence}`);
    console.log(closingLine(counts));
    // Skipping is right for suites that lack something, and for no other.
    return exitCodeOf({ ...totalOf(ran), failed: counts.failed }, []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const main = async (): Promise<number> => {
  const separator = process.argv.indexOf('--');
  const end = separator === -1 ? process.argv.length : separator;
  const args = process.argv.slice(2, end);
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  if (args.includes('--help') || args.includes('--list')) {
    console.log(args.includes('--help') ? usage : listSuites());
    return 0;
  }
  if (args.includes('--prepare')) {
    const missing = await missingRequirements();
    for (const sentence of missing) console.log(`Not built; this machine misses: ${sentence}`);
    if (missing.length === 0) await prepareBinaries({ signal: stop.signal });
    return 0;
  }
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { jobs: { type: 'string', default: String(DEFAULT_JOBS) } },
  });
  const jobs = Number(values.jobs);
  if (!Number.isInteger(jobs) || jobs < 1) throw new Error(`--jobs ${values.jobs}: expected a whole number from 1 on`);
  const suites = selectSuites(positionals);
  const mochaArgs = process.argv.slice(end + 1);
  return runWith({ suites, named: positionals.length > 0, jobs, mochaArgs }, stop.signal);
};

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`test/e2e/run: ${(error as Error).message}`);
  process.exitCode = 1;
}
