// `make soak`: the long forms of the suites, and a record of what each came to.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeResults } from '../support/results.ts';
import { missingRequirements } from './bed/binaries.ts';
import { longForms, readSoak, withEntries } from './results.ts';
import { formatSeconds } from './reporter.ts';
import {
  builtFor,
  closingLine,
  countSuites,
  exitCodeOf,
  formatFailures,
  formatSummary,
  prepareBinaries,
  runSuites,
  totalOf,
} from './runner.ts';
import type { SuiteResult } from './runner.ts';
import { versionCases } from './versions-plan.ts';

const usage = `Usage: test/e2e/soak [--suites name,…] [--versions all|1.30,…]

Runs the long forms of the suites, and keeps what they came to in test/e2e/results.

  --suites    ${Object.keys(longForms).join(', ')}, or gardener for all of Gardener's own programs;
              default: all, but only "versions" where --versions is given
  --versions  Kubernetes versions, for suites that take several, built where they are missing
              (about five minutes and 3 GB of build cache each); default all
  --help      print this

  make soak                    everything, about an hour
  make soak VERSIONS=all       every Kubernetes version
  make soak SUITES=chaos       one suite
  make soak SUITES=gardener    all beside Gardener's own programs

Afterwards \`make generate\` brings the docs up to date.`;

const results = fileURLToPath(new URL('results', import.meta.url));
const file = join(results, 'soak.json');
/** Without a sign of life for longer, a run would look hung. */
const HEARTBEAT_MS = 60_000;

/** Everything of Gardener took 54 minutes on two busy cores where nothing was cached. */
const BUILD_SECONDS = 3 * 60 * 60;
/** The runtimes that Gardener registered its own webhook for slices on; the first also needs annotations beside hints. */
const OLD_VERSIONS = ['1.30', '1.31'];

const areGardeners = (suites: readonly string[]): boolean => suites.every((suite) => suite.startsWith('gardener-'));

/** Suites beside Gardener's programs mostly wait; the long forms of others measure, or fill the machine. */
const jobsFor = (suites: readonly string[]): number => (areGardeners(suites) ? 3 : 1);

const OF_ALL_VERSIONS: ReadonlySet<string> = new Set(['evacuate-rights', 'model', 'settings-upgrade', 'versions']);

/** The versions of Kubernetes that suites take beside the newest. */
const versionsFor = (suites: readonly string[], all: readonly string[]): readonly string[] => {
  if (suites.some((suite) => OF_ALL_VERSIONS.has(suite))) return all;
  const wanted = suites.includes('gardener-hints')
    ? OLD_VERSIONS
    : OLD_VERSIONS.slice(0, Number(suites.includes('gardener-etcd')));
  return wanted.filter((version) => all.includes(version));
};

const list = (text: string | undefined): string[] | undefined => text?.split(',').map((name) => name.trim());

/** A name stands for itself and for all that it begins: `gardener` for every suite of Gardener's own programs. */
const expand = (name: string): string[] => {
  const begun = Object.keys(longForms).filter((suite) => suite.startsWith(`${name}-`));
  return name in longForms || begun.length === 0 ? [name] : begun;
};

const selectLongForms = (given: string[] | undefined, versionsOnly: boolean): string[] => {
  const wanted = given?.flatMap(expand);
  const unknown = (wanted ?? []).filter((name) => !(name in longForms));
  if (unknown.length > 0)
    throw new Error(`no long form of ${unknown.join(', ')}; suites: ${Object.keys(longForms).join(', ')}`);
  return wanted ?? (versionsOnly ? ['versions'] : Object.keys(longForms));
};

/** Says what begins, and every minute that it goes on: of several at a time, the one that began last. */
const progress = (suites: readonly string[]) => {
  let current = 'nothing';
  const began = performance.now();
  const heartbeat = setInterval(() => {
    console.log(`soak: ${formatSeconds((performance.now() - began) / 1_000)}, the last to begin was ${current}`);
  }, HEARTBEAT_MS);
  return {
    start: (suite: string): void => {
      current = suite;
      console.log(`soak: ${suite} (${suites.indexOf(suite) + 1} of ${suites.length}): ${longForms[suite]}`);
    },
    end: (): void => clearInterval(heartbeat),
  };
};

/** Nothing is kept of a suite that failed: its record stays that of the last time it passed. */
const keep = (outcome: readonly SuiteResult[], versions: string): void => {
  const date = new Date().toISOString().slice(0, 10);
  const passed = outcome.filter(({ counts }) => counts.failed === 0 && counts.passed > 0);
  const entries = passed.map(({ suite, counts, seconds }) => ({
    suite,
    date,
    seconds: Math.round(seconds),
    counts,
    versions,
  }));
  writeResults(file, withEntries(readSoak(file), entries));
  if (entries.length > 0) console.log('soak: kept in test/e2e/results; `make generate` brings the docs up to date');
};

const runLongForms = async (suites: string[], versions: string, folder: string): Promise<number> => {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  const environment = { E2E_SOAK: '1', E2E_RESULTS: results, E2E_VERSIONS: versions };
  const all = versionCases(environment).map(({ version }) => version);
  const missing = await missingRequirements();
  for (const sentence of missing) console.log(`Skipped; this machine misses: ${sentence}`);
  if (missing.length > 0) {
    console.log(closingLine(totalOf(countSuites({ suites, folder, environment }))));
    return 0;
  }
  const programs = { programs: builtFor(suites), limitSeconds: BUILD_SECONDS };
  await prepareBinaries({ versions: versionsFor(suites, all), ...programs, signal: stop.signal });
  const say = progress(suites);
  const options = {
    suites,
    folder,
    jobs: jobsFor(suites),
    limitMs: 90 * 60_000,
    signal: stop.signal,
    onStart: say.start,
  };
  // An environment that names the proxies itself is left alone.
  const proxies = process.env['E2E_PROXIES'] ?? all.toReversed().join(',');
  const outcome = await runSuites({ ...options, environment: { ...environment, E2E_PROXIES: proxies } });
  say.end();
  keep(outcome, versions);
  const counts = totalOf(outcome);
  console.log(`\n${formatSummary(outcome)}\n\n${formatFailures(outcome)}${closingLine(counts)}`);
  return exitCodeOf(counts, missing);
};

const main = async (): Promise<number> => {
  const { values } = parseArgs({
    options: { suites: { type: 'string' }, versions: { type: 'string' }, help: { type: 'boolean' } },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const suites = selectLongForms(list(values.suites), values.versions !== undefined);
  const folder = mkdtempSync(join(tmpdir(), 'topology-routing-soak-'));
  try {
    return await runLongForms(suites, values.versions ?? 'all', folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`test/e2e/soak: ${(error as Error).message}`);
  process.exitCode = 1;
}
