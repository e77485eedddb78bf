// What suites and soak measured, kept as JSON for the generated parts of the documentation.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeResults } from '../support/results.ts';
import { type Counts, formatSeconds } from './reporter.ts';

/** Whether suites take their long forms, as `make soak` has them. */
export const isLongForm = process.env['E2E_SOAK'] === '1';

/** Environment variable with the folder that results are written to; without it they are only printed. */
const resultsVariable = 'E2E_RESULTS';

/** Writes `<name>.json` where a folder for results is set. */
export const keepResults = (name: string, results: unknown): void => {
  const folder = process.env[resultsVariable];
  if (folder !== undefined) writeResults(join(folder, `${name}.json`), results);
};

/** What `<name>.json` holds so far, for results that come in several runs. */
export const keptResults = (name: string): unknown => {
  const file = join(process.env[resultsVariable] ?? '', `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
};

/** Suites with a long form, and what it is. */
export const longForms: Readonly<Record<string, string>> = {
  'attack-components': 'half-sent requests and unread scrapes on every component',
  'closed-loop': 'a zone outage, connections that stay and a real Prometheus as well, all over longer times',
  chaos: 'every process broken in every way for ten minutes while zones are evacuated, memory watched',
  envoy: 'five runs of every scenario beside a real Envoy, judged by their medians',
  'evacuate-rights': 'kube-proxies of all versions',
  'evacuate-scale': '1,000 Services with 20,000 endpoints instead of 100 with 2,000',
  'evacuate-traffic': 'the same phases, two to three times as long',
  'gardener-controllers': 'gardenlet and gardener-operator as processes on Kubernetes 1.34, which takes long to build',
  'gardener-delivery': 'the real gardener-apiserver, which takes long to build',
  'gardener-etcd': 'as in `make e2e`: etcd-druid as gardenlet runs it',
  'gardener-high-availability': "as in `make e2e`: Gardener's webhook for Deployments",
  'gardener-hints': "beside Gardener's own webhook, on Kubernetes 1.30 and 1.31 too",
  'gardener-keep': 'the newest resource manager, which takes long to build',
  'gardener-managed-resources': 'two releases of the resource manager, which take long to build',
  'gardener-operations': 'gardenlet and gardener-apiserver on Kubernetes 1.34, which take long to build',
  'gardener-owners': "as in `make e2e`: each Service's real owner through a flip",
  'gardener-push': 'as in `make e2e`: skopeo and oras',
  'gardener-registration': 'the real gardener-apiserver, which takes long to build',
  'gardener-restarted-late': 'as in `make e2e`: an owner of before an upgrade',
  'gardener-routing': "as in `make e2e`: Gardener's helper as an oracle",
  load: '5,000 Services with 10,000 endpoints: latency and memory of the commands and of admission',
  model: 'ten times as many random clusters, on kube-proxies of all versions',
  'planes-connections': "Cilium's control plane, maps of the kernel and eBPF, which take long to build",
  'planes-functions': '10,000 random worlds instead of 3,000',
  scale: 'up to 5,000 Nodes, 10,000 Services and 150,000 endpoints instead of 40, 60 and 900',
  'scale-shoots': "a Seed's setting flipped with 1,000, 3,000 and 10,000 shoots",
  'traffic-proof': 'an hour of churn in which nothing may be found; `E2E_CHURN_MINUTES` for another time',
  'settings-upgrade': 'the API server replaced by every newer version, and by older ones',
  versions: 'every version in the place of the newest',
};

/** The last soak of one suite. */
export interface SoakEntry {
  readonly suite: string;
  /** Day of the run, UTC. */
  readonly date: string;
  readonly seconds: number;
  readonly counts: Counts;
  /** Kubernetes versions, `all` or a list. */
  readonly versions: string;
}

/** What the file holds; nothing where there is none yet. */
export const readSoak = (file: string): SoakEntry[] =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as SoakEntry[]) : [];

/** The entries with those of the same suites replaced, by name. */
export const withEntries = (known: readonly SoakEntry[], added: readonly SoakEntry[]): SoakEntry[] =>
  [...known.filter(({ suite }) => !added.some((entry) => entry.suite === suite)), ...added].sort((left, right) =>
    left.suite < right.suite ? -1 : 1,
  );

/** A table in Markdown, a line a suite; one that was never kept says so. */
export const formatSoak = (entries: readonly SoakEntry[]): string => {
  const rows = Object.entries(longForms).map(([suite, what]) => {
    const entry = entries.find((one) => one.suite === suite);
    if (entry === undefined) return `| ${suite} | ${what} | – | – | no run kept |`;
    const { date, seconds, counts, versions } = entry;
    const outcome = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`;
    return `| ${suite} | ${what} | ${date}, ${versions} | ${formatSeconds(seconds)} | ${outcome} |`;
  });
  return ['| suite | long form | last run, versions | took | outcome |', '|---|---|---|---|---|', ...rows].join('\n');
};
