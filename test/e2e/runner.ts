// Runs suites.
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compiledOnce } from '../../hack/lib/compiled.ts';
import { FAILED } from '../support/failure-line.ts';
import { buildWithin, defaultVersion, ensureBinaries, missingBuilt, missingPrograms } from './bed/binaries.ts';
import { run as runCommand } from './bed/machine.ts';
import { runInPlace, runIsolated } from './bed/state.ts';
import { type Counts, type Outcome, formatSeconds, outcomeVariable } from './reporter.ts';
import { oldestProxy } from './versions-plan.ts';

interface LanesOptions<Item, Result> {
  /** In the order that results are wanted in. */
  readonly items: readonly Item[];
  /** How many run at the same time; at least 1. */
  readonly lanes: number;
  /** Runs after all others, one at a time. */
  readonly alone: (item: Item) => boolean;
  /** Of the others, those with the most begin first. */
  readonly length: (item: Item) => number;
  /** `shared`: others run at the same time. */
  readonly run: (item: Item, shared: boolean) => Promise<Result>;
}

/** Results in the order of the items. Rejects with the first rejection, once what had begun has ended. */
const runInLanes = async <Item, Result>(options: LanesOptions<Item, Result>): Promise<Result[]> => {
  const { items, lanes, alone, length, run } = options;
  const results: Result[] = [];
  const together = [...items.entries()]
    .filter(([, item]) => !alone(item))
    .sort(([, one], [, other]) => length(other) - length(one));
  const last = [...items.entries()].filter(([, item]) => alone(item));
  const shared = lanes > 1 && together.length > 1;
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let entry = together[next++]; entry !== undefined; entry = together[next++]) {
      const [index, item] = entry;
      results[index] = await run(item, shared);
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: Math.max(1, lanes) }, lane));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
  for (const [index, item] of last) results[index] = await run(item, false);
  return results;
};

const root = fileURLToPath(new URL('../..', import.meta.url));
const folderOfSuites = join(root, 'test/e2e/suites');
const suffix = '.test.ts';

/** Per test; a hung cluster fails, a slow machine does not. */
const timeoutMs = 180_000;

/** Many times what any suite takes; a long form brings its own. */
const suiteLimitMs = 15 * 60_000;

/** Begins the line of a test that failed beside others and passed alone. */
const UNSTABLE = 'UNSTABLE ';

const none: Counts = { passed: 0, failed: 0, skipped: 0 };

/** What one suite came to. */
export interface SuiteResult extends Outcome {
  readonly suite: string;
  readonly seconds: number;
}

const failedWith = (suite: string, why: string): Outcome => ({
  counts: { ...none, failed: 1 },
  failures: [`${FAILED}${suite}: ${why}`],
});

interface RunOptions {
  readonly suites: readonly string[];
  /** Passed to mocha. Default: nothing. */
  readonly mochaArgs?: readonly string[];
  /** Added to the environment of the suites. Default: nothing. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A folder for files of the run. */
  readonly folder: string;
  /** Called before each suite. Default: nothing. */
  readonly onStart?: (suite: string) => void;
  /** How many suites run at the same time. What such a suite prints appears when it has ended. Default 1. */
  readonly jobs?: number;
  /** A suite that takes longer is ended and counts as failed, so that one that hangs costs its own result only. Default 15 min. */
  readonly limitMs?: number;
  readonly signal: AbortSignal;
}

const linesOf = (suite: string): string[] =>
  readFileSync(join(folderOfSuites, `${suite}${suffix}`), 'utf8').split('\n');

/** The first sentence that a suite says of itself. */
const purposeOf = (suite: string): string => (linesOf(suite)[0] ?? '').replace(/^\/\/ /, '');

/** The names in the line of a suite's head that begins with `words`. */
const namesIn = (suite: string, words: string): string[] => {
  const line = linesOf(suite).find((text) => text.startsWith(words)) ?? words;
  return line
    .slice(words.length)
    .split(', ')
    .filter((name) => name !== '');
};

/** The programs that suites start which hack/ builds, beside those of a bed: a line `// Needs built: area/folder/program` at their head. */
export const builtFor = (suites: readonly string[]): string[] => [
  ...new Set(suites.flatMap((suite) => namesIn(suite, '// Needs built: '))),
];

/**
 * What this machine misses of the programs that a suite needs beside a bed, a sentence each. A suite names them in a
 * line `// Needs: conntrack, iptables` at its head, where each is a Debian package of the same name, and in one as for `builtFor`.
 */
export const missingForSuite = (suite: string): string[] => {
  const programs = namesIn(suite, '// Needs: ');
  const missing = [
    ...missingPrograms(Object.fromEntries(programs.map((program) => [program, program]))),
    ...missingBuilt(builtFor([suite])),
  ];
  return missing.map((sentence) => `${sentence}, for the suite ${suite}`);
};

/** Suites without a cluster say so in a line `// Needs no bed.` at their head: they need no root and run where we are. */
export const needsBed = (suite: string): boolean => !linesOf(suite).includes('// Needs no bed.');

/** A line of a suite's head that says something of it, and why. */
const says = (suite: string, words: string): boolean => linesOf(suite).some((text) => text.startsWith(words));

/** Suites that measure, or that fill the machine, say so in a line `// Alone: why` at their head. */
const runsAlone = (suite: string): boolean => says(suite, '// Alone: ');

/** How long a suite takes beside others, where that is long: a line `// Minutes: 5` at its head. Begun last, it would end by itself. */
const minutesOf = (suite: string): number => Number(namesIn(suite, '// Minutes: ')[0] ?? 0);

const allSuites = (): string[] =>
  readdirSync(folderOfSuites)
    .filter((file) => file.endsWith(suffix))
    .map((file) => file.slice(0, -suffix.length))
    .sort();

/** Suites that run where they are named, and in `make soak`: a line `// Soak: why` at their head. */
export const leftToSoak = (): string[] => allSuites().filter((suite) => says(suite, '// Soak: '));

/** One line a suite: its name and what it shows. */
export const listSuites = (): string => {
  const suites = allSuites();
  const width = Math.max(...suites.map(({ length }) => length));
  return suites.map((suite) => `${suite.padEnd(width)}  ${purposeOf(suite)}`).join('\n');
};

/**
 * The wanted suites; where none is, all but those that are left to `make soak`.
 *
 * @throws Error naming those that do not exist and those that do.
 */
export const selectSuites = (wanted: readonly string[]): string[] => {
  const all = allSuites();
  const crowded = all.filter((suite) =>
    linesOf(suite).some((text) => /^\/\/ .*\S (?:Needs(?: built)?: |Needs no bed|Alone: |Soak: |Minutes: )/.test(text)),
  );
  if (crowded.length > 0) throw new Error(`suites ${crowded.join(', ')}: what the runner reads in heads begins a line`);
  /** Where no suite has the name, those that begin with it: `attack` is all that attack. */
  const named = (name: string): string[] =>
    all.includes(name) ? [name] : all.filter((suite) => suite.startsWith(`${name}-`));
  const unknown = wanted.filter((name) => named(name).length === 0);
  if (unknown.length > 0) throw new Error(`no suite ${unknown.join(', ')}; suites: ${all.join(', ')}`);
  if (wanted.length > 0) return wanted.flatMap(named);
  const left = leftToSoak();
  return all.filter((suite) => !left.includes(suite));
};

const mochaCommand = (suite: string, args: readonly string[]): [string, ...string[]] => [
  process.execPath,
  join(root, 'node_modules/mocha/bin/mocha.js'),
  '--no-config',
  '--no-package',
  // What a suite has open still is nothing to wait for.
  '--exit',
  `--timeout=${timeoutMs}`,
  `--reporter=${join(root, 'test/e2e/reporter.ts')}`,
  ...args,
  join(folderOfSuites, `${suite}${suffix}`),
];

/** Reads what the reporter left; a process that ended without leaving anything counts as one failure. */
const readOutcome = (suite: string, file: string): Outcome => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Outcome;
  } catch {
    return failedWith(suite, 'ended without a result');
  }
};

const runSuite = async (suite: string, options: RunOptions, output?: number): Promise<Outcome> => {
  const { mochaArgs = [], environment = {}, folder, limitMs = suiteLimitMs, signal } = options;
  const file = join(folder, `${suite}.json`);
  const command = mochaCommand(suite, mochaArgs);
  const runSuiteIn = needsBed(suite) ? runIsolated : runInPlace;
  const limit = AbortSignal.timeout(limitMs);
  const code = await runSuiteIn(command, {
    // What is measured alone starts as it does for users.
    environment: { ...(runsAlone(suite) ? {} : compiledOnce()), ...environment, [outcomeVariable]: file },
    signal: AbortSignal.any([signal, limit]),
    ...(output === undefined ? {} : { output }),
  });
  if (limit.aborted) return failedWith(suite, `still running after ${formatSeconds(limitMs / 1_000)}; ended`);
  const outcome = readOutcome(suite, file);
  if (code === 0 || outcome.counts.failed > 0) return outcome;
  // Mocha fails for reasons beyond tests, e.g. a suite that cannot be loaded.
  const { counts, failures } = failedWith(suite, `exit code ${code} without a failed test`);
  return { counts: { ...outcome.counts, failed: counts.failed }, failures };
};

/** The same with its output in a file until it has ended, so that suites that run side by side do not mix theirs. */
const runQuietly = async (suite: string, options: RunOptions): Promise<Outcome> => {
  const file = join(options.folder, `${suite}.log`);
  const output = openSync(file, 'w');
  try {
    return await runSuite(suite, options, output);
  } finally {
    closeSync(output);
    process.stdout.write(readFileSync(file));
  }
};

/** Runs the suites. After an abort those that had not begun count as one failure each. */
export const runSuites = (options: RunOptions): Promise<SuiteResult[]> =>
  runInLanes({
    items: options.suites,
    lanes: options.jobs ?? 1,
    alone: runsAlone,
    length: minutesOf,
    run: async (suite, shared) => {
      if (options.signal.aborted) return { suite, ...failedWith(suite, 'not begun'), seconds: 0 };
      options.onStart?.(suite);
      const began = performance.now();
      const outcome = await (shared ? runQuietly(suite, options) : runSuite(suite, options));
      return { suite, ...outcome, seconds: (performance.now() - began) / 1_000 };
    },
  });

/** More of them, and it is not a lack of time. */
const MOST_UNSTABLE = 3;

/** What a run came to after a second look at what failed in it. */
interface Settled {
  readonly results: readonly SuiteResult[];
  /** Failures beside other suites of suites that then passed alone: faults of a test that counts on time, to be mended. */
  readonly unstable: readonly string[];
}

/**
 * Suites that failed while others ran run once more, alone, and the second result counts: real programs beside each other on few
 * processors may be later than a test waits. Suites that ran alone, and many that failed, are what they are.
 */
export const settle = async (
  results: readonly SuiteResult[],
  jobs: number,
  run: (suites: readonly string[]) => Promise<readonly SuiteResult[]>,
): Promise<Settled> => {
  const doubtful = jobs === 1 ? [] : results.filter(({ suite, counts }) => counts.failed > 0 && !runsAlone(suite));
  if (doubtful.length === 0 || doubtful.length > MOST_UNSTABLE) return { results, unstable: [] };
  const second = new Map((await run(doubtful.map(({ suite }) => suite))).map((result) => [result.suite, result]));
  const settled = results.map((result) => second.get(result.suite) ?? result);
  const passed = doubtful.filter(({ suite }) => second.get(suite)?.counts.failed === 0);
  return { results: settled, unstable: passed.flatMap(({ failures }) => failures) };
};

/** How many tests the suites have, as skipped, without running any of them. */
export const countSuites = ({
  suites,
  mochaArgs = [],
  environment,
  folder,
}: Omit<RunOptions, 'signal'>): SuiteResult[] =>
  suites.map((suite) => {
    const file = join(folder, `${suite}.json`);
    spawnSync(process.execPath, mochaCommand(suite, ['--dry-run', ...mochaArgs]).slice(1), {
      env: { ...process.env, ...environment, [outcomeVariable]: file },
    });
    const { counts, failures } = readOutcome(suite, file);
    const { passed, failed, skipped } = counts;
    return { suite, counts: { passed: 0, failed, skipped: passed + skipped }, failures, seconds: 0 };
  });

/** The counts of all suites together. */
export const totalOf = (results: readonly SuiteResult[]): Counts =>
  results.reduce(
    (sum, { counts: { passed, failed, skipped } }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      skipped: sum.skipped + skipped,
    }),
    none,
  );

/** What failed and why, a line each; empty where nothing did. */
export const formatFailures = (results: readonly SuiteResult[]): string =>
  results
    .flatMap(({ failures }) => failures)
    .map((line) => `${line}\n`)
    .join('');

/** What passed only when it ran alone, a line each; empty where nothing did. */
export const formatUnstable = (failures: readonly string[]): string =>
  failures.map((line) => `${UNSTABLE}${line.slice(FAILED.length)}\n`).join('');

/** The line that a run ends with. */
export const closingLine = ({ passed, failed, skipped }: Counts): string =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`;

/** Exit code of a run. Where nothing is missing on the machine, a skipped test hides something and fails it. */
export const exitCodeOf = ({ failed, skipped }: Counts, missing: readonly string[]): 0 | 1 =>
  failed > 0 || (missing.length === 0 && skipped > 0) ? 1 : 0;

/** A line a suite, and one for all. */
export const formatSummary = (results: readonly SuiteResult[]): string => {
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0);
  const rows = [...results, { suite: 'all', counts: totalOf(results), seconds }].map((result) => [
    result.suite,
    String(result.counts.passed),
    String(result.counts.failed),
    String(result.counts.skipped),
    formatSeconds(result.seconds),
  ]);
  const table = [['suite', 'passed', 'failed', 'skipped', 'time'], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table
    .map((row) =>
      row.map((text, column) => (column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0))),
    )
    .map((row) => row.join('  '))
    .join('\n');
};

interface PrepareOptions {
  /** Versions that are needed whole, beside the default one. Default: none. */
  readonly versions?: readonly string[];
  /** Programs of suites beside a bed, see `builtFor`. Default: those of all suites that are not left to soak. */
  readonly programs?: readonly string[];
  /** How long the building of those may take in all; suites whose programs are missing then count as skipped. Default 25 min. */
  readonly limitSeconds?: number;
  readonly signal: AbortSignal;
}

/** The default version whole, the oldest kube-proxy alone, helm, and what suites start beside. */
export const prepareBinaries = async (options: PrepareOptions): Promise<void> => {
  const { versions = [], programs = builtFor(selectSuites([])), limitSeconds = 25 * 60, signal } = options;
  for (const version of new Set([defaultVersion, ...versions])) await ensureBinaries(version, { signal });
  await ensureBinaries(oldestProxy, { programs: ['kube-proxy'], signal });
  await runCommand(join(root, 'hack/kubernetes/build'), ['helm']);
  buildWithin(programs, limitSeconds);
};
