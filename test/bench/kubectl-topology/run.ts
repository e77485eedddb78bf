// The benchmark of kubectl-topology: how fast it starts, and the audit of a large cluster from files and over TLS, beside kubectl.
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { areBuilt, defaultVersion, ensureBinaries } from '../../e2e/bed/binaries.ts';
import { type AuditCluster, auditCluster } from '../../fixtures/audit-cluster.ts';
import { describeEnvironment } from '../environment.ts';
import { findCores } from '../processes.ts';
import { limitsOf } from './limits.ts';
import { type Program, measure } from './measure.ts';
import type { KubectlTopologyResults, Measurement } from './types.ts';

export interface KubectlTopologyBenchOptions {
  /** A tenth of the cluster, and few runs. */
  readonly quick: boolean;
  readonly report: (line: string) => void;
}

const BUNDLE = join(import.meta.dirname, '../../../dist/bundle/kubectl-topology.js');
const FULL = { nodes: 500, services: 5_000, endpoints: 50_000 };
const TENTH = 10;
const [START_RUNS, RUNS, SLOW_RUNS, QUICK_RUNS] = [15, 3, 1, 1];
const STOP_MS = 10_000;

const listOf = (items: readonly unknown[]) => ({ apiVersion: 'v1', kind: 'List', items });

/** As `kubectl get -o json` and `-o yaml` print them; returns the size of all files. */
const writeFiles = (directory: string, cluster: AuditCluster, format: 'json' | 'yaml'): number => {
  mkdirSync(directory);
  return Object.entries(cluster)
    .map(([name, items]: [string, readonly unknown[]]) => {
      const file = join(directory, `${name}.${format}`);
      const list = listOf(items);
      writeFileSync(file, format === 'json' ? JSON.stringify(list, null, 4) : stringify(list));
      return statSync(file).size;
    })
    .reduce((sum, size) => sum + size, 0);
};

/** Path of a kubectl of the version that the end-to-end suites use; undefined where there is neither one nor Go. */
const findKubectl = async (): Promise<string | undefined> => {
  try {
    if (!(await areBuilt(defaultVersion, ['kubectl']))) execFileSync('go', ['version'], { stdio: 'ignore' });
    return (await ensureBinaries(defaultVersion, { programs: ['kubectl'] }))('kubectl');
  } catch {
    return undefined;
  }
};

const versionOf = (kubectl: string): string => {
  const text = execFileSync(kubectl, ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
  return (JSON.parse(text) as { clientVersion: { gitVersion: string } }).clientVersion.gitVersion;
};

/** Runs `use` while a process of its own plays the cluster. */
const withCluster = async <T>(
  scale: typeof FULL,
  directory: string,
  use: (kubeconfig: string) => Promise<T>,
): Promise<T> => {
  const args = [scale.nodes, scale.services, scale.endpoints].map(String);
  const child = fork(join(import.meta.dirname, 'sandbox-process.ts'), args, { execArgv: [] });
  try {
    const [kubeconfig] = (await once(child, 'message')) as [string];
    const file = join(directory, 'kubeconfig');
    writeFileSync(file, kubeconfig, { mode: 0o600 });
    return await use(file);
  } finally {
    const exit = once(child, 'exit');
    child.disconnect();
    const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exit;
    clearTimeout(deadline);
  }
};

const topologyOn =
  (core: number | undefined) =>
  (title: string, ...args: string[]): Program => ({
    title: `kubectl topology ${title}`,
    command: process.execPath,
    args: [BUNDLE, ...args],
    core,
  });

const measureStart = (core: number | undefined, quick: boolean): Promise<Measurement[]> => {
  const topology = topologyOn(core);
  const bare: Program = { title: 'node -e 0', command: process.execPath, args: ['-e', '0'], core };
  return measure(
    [topology('--help', '--help'), topology('audit --help', 'audit', '--help'), bare],
    quick ? QUICK_RUNS : START_RUNS,
  );
};

interface Bench {
  readonly directory: string;
  readonly scale: typeof FULL;
  readonly core: number | undefined;
  readonly runs: number;
}

const measureFiles = async ({ directory, core, runs }: Bench): Promise<Measurement[]> => {
  const topology = topologyOn(core);
  const json = topology('audit -f json/ -o json', 'audit', '-f', join(directory, 'json'), '-o', 'json');
  const page = topology(
    'audit -f json/ --html page.html',
    'audit',
    '-f',
    join(directory, 'json'),
    '--html',
    join(directory, 'page.html'),
  );
  const yaml = topology('audit -f yaml/ -o json', 'audit', '-f', join(directory, 'yaml'), '-o', 'json');
  return [...(await measure([json, page], runs)), ...(await measure([yaml], SLOW_RUNS))];
};

const measureCluster = ({ directory, scale, core, runs }: Bench, kubectl: string | undefined): Promise<Measurement[]> =>
  withCluster(scale, directory, (kubeconfig) => {
    const topology = topologyOn(core);
    const get = ['get', 'nodes,services,endpointslices.discovery.k8s.io', '-A'];
    const peers: Program[] =
      kubectl === undefined
        ? []
        : [[], ['-o', 'json'], ['-o', 'yaml']].map((format) => ({
            title: ['kubectl get nodes,services,endpointslices -A', ...format].join(' '),
            command: kubectl,
            args: ['--kubeconfig', kubeconfig, '--cache-dir', join(directory, 'cache'), ...get, ...format],
            env: { GOMAXPROCS: '1' },
            core,
          }));
    return measure([topology('audit', 'audit', '--kubeconfig', kubeconfig), ...peers], runs);
  });

/** Takes about two minutes, or half a minute with `quick`. */
export const runKubectlTopologyBench = async ({
  quick,
  report,
}: KubectlTopologyBenchOptions): Promise<KubectlTopologyResults> => {
  if (!existsSync(BUNDLE)) throw new Error('dist/bundle/kubectl-topology.js is missing; run `npm run bundle` first');
  const scale = quick
    ? { nodes: FULL.nodes / TENTH, services: FULL.services / TENTH, endpoints: FULL.endpoints / TENTH }
    : FULL;
  const environment = describeEnvironment();
  const kubectl = await findKubectl();
  const directory = mkdtempSync(join(tmpdir(), 'bench-kubectl-topology-'));
  try {
    const bench: Bench = {
      directory,
      scale,
      core: findCores(availableParallelism())?.load,
      runs: quick ? QUICK_RUNS : RUNS,
    };
    const cluster = auditCluster(scale);
    const bytes = {
      json: writeFiles(join(directory, 'json'), cluster, 'json'),
      yaml: writeFiles(join(directory, 'yaml'), cluster, 'yaml'),
    };
    report('kubectl-topology: start');
    const start = await measureStart(bench.core, quick);
    report('kubectl-topology: files');
    const files = await measureFiles(bench);
    report('kubectl-topology: cluster');
    const over = await measureCluster(bench, kubectl);
    const [help, audit, yaml] = [start[0], files[0], files.at(-1)];
    const limits =
      help === undefined || audit === undefined || yaml === undefined ? [] : limitsOf({ help, audit, yaml });
    const version = kubectl === undefined ? {} : { kubectl: versionOf(kubectl) };
    return { environment: environment(), scale, bytes, ...version, start, files, cluster: over, limits };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
