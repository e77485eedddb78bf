// The reconciler benchmark: a seed with 1,000 shoots, its setting flipped on and off, a restart, and nothing going on.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CONFIG_API_VERSION } from '../../../pkg/apis/config/load.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../../pkg/apis/config/settings-reconciler.ts';
import { seed } from '../../fixtures/gardener.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import type { Sandbox } from '../../sandbox/types.ts';
import { describeEnvironment } from '../environment.ts';
import { startChild, type Child } from '../processes.ts';
import { findProblems } from './check.ts';
import { scaleOf } from './landscape.ts';
import { startSeedCluster, type SeedCluster } from './seed-cluster.ts';
import type { Phase, PhaseName, ReconcilerResults } from './types.ts';

export interface ReconcilerBenchOptions {
  /** A twentieth of the landscape and a short look at the steady state. */
  readonly quick: boolean;
  readonly report: (line: string) => void;
}

const USER = 'system:serviceaccount:garden:settings-reconciler';
const BUNDLE = join(import.meta.dirname, '../../../dist/bundle/settings-reconciler.js');
const SAMPLE_MS = 200;
/** No request for this long means that a change has been worked off. */
const QUIET_MS = 4_000;
const PHASE_LIMIT_MS = 300_000;

const configOf = (gardenKubeconfig: string): string => `apiVersion: ${CONFIG_API_VERSION}
kind: ${SETTINGS_RECONCILER_CONFIGURATION.kind}
modes:
  seed:
    seedName: my-seed
    gardenKubeconfig: ${gardenKubeconfig}
    gardener: {version: v1.143.0, featureGates: {IstioTLSTermination: false}}
keep: on
health: {bindAddress: 127.0.0.1, port: 0}
metrics: {bindAddress: 127.0.0.1, port: 0}
`;

interface Bed {
  readonly garden: Sandbox;
  readonly seedCluster: SeedCluster;
  readonly directory: string;
  /** Highest VmHWM of all processes of the reconciler so far. */
  peakBytes: number;
}

const startReconciler = ({ directory }: Bed): Child =>
  startChild({
    command: process.execPath,
    args: [
      BUNDLE,
      '--config',
      join(directory, 'config.yaml'),
      '--kubeconfig',
      join(directory, 'seed.kubeconfig'),
      '--leader-election-namespace',
      'default',
    ],
    logFile: join(directory, 'reconciler.log'),
  });

/** Samples memory until nothing has been asked for a while, or for `forMs` where that is given. */
const observe = async (bed: Bed, child: Child, name: PhaseName, forMs?: number): Promise<Phase> => {
  const began = performance.now();
  let count = -1;
  let changedAt = began;
  let residentBytes = 0;
  for (;;) {
    await sleep(SAMPLE_MS);
    const failure = child.failure();
    if (failure !== undefined) throw new Error(failure);
    const { resident, peak } = child.memory();
    residentBytes = Math.max(residentBytes, resident);
    bed.peakBytes = Math.max(bed.peakBytes, peak);
    const now = performance.now();
    const seen = await bed.seedCluster.count();
    if (seen !== count) {
      count = seen;
      changedAt = now;
    }
    if (now - began > PHASE_LIMIT_MS)
      throw new Error(`${name}: still sending requests after ${PHASE_LIMIT_MS / 1000} s`);
    if (forMs === undefined ? count > 0 && now - changedAt > QUIET_MS : now - began > forMs) break;
  }
  const seconds = ((forMs === undefined ? changedAt : performance.now()) - began) / 1000;
  return { name, seconds, residentBytes, ...(await bed.seedCluster.traffic()) };
};

const setSeed = async ({ garden }: Bed, enabled: boolean): Promise<void> =>
  void (await garden.apply(seed({ enabled })));

const expectEnabled = async (bed: Bed, wanted: { services: number; etcds: number }): Promise<string[]> => {
  const found = await bed.seedCluster.enabled();
  const same = found.services === wanted.services && found.etcds === wanted.etcds;
  return same
    ? []
    : [
        `${found.services} Services and ${found.etcds} Etcds carry the setting instead of ${wanted.services} and ${wanted.etcds}`,
      ];
};

const NOTHING = { services: 0, etcds: 0 };

const play = async (bed: Bed, changing: typeof NOTHING, steadyMs: number, report: (line: string) => void) => {
  const phases: Phase[] = [];
  const problems: string[] = [];
  let child = startReconciler(bed);
  const phase = async (name: PhaseName, cause: () => Promise<void> | void, forMs?: number): Promise<void> => {
    report(`reconciler: ${name}`);
    await bed.seedCluster.clear();
    await cause();
    phases.push(await observe(bed, child, name, forMs));
  };
  try {
    await phase('start', () => undefined);
    await phase('on', () => setSeed(bed, true));
    problems.push(...(await expectEnabled(bed, changing)));
    await phase('steady', () => undefined, steadyMs);
    await child.stop();
    await phase('restart', () => void (child = startReconciler(bed)));
    await phase('off', () => setSeed(bed, false));
    problems.push(...(await expectEnabled(bed, NOTHING)));
    return { phases, problems };
  } finally {
    await child.stop();
  }
};

/** Takes about two minutes, or half a minute with `quick`. */
export const runReconcilerBench = async ({ quick, report }: ReconcilerBenchOptions): Promise<ReconcilerResults> => {
  if (!existsSync(BUNDLE)) throw new Error('dist/bundle/settings-reconciler.js is missing; run `npm run bundle` first');
  const { changing, ...scale } = scaleOf(quick ? 50 : 1_000);
  const environment = describeEnvironment();
  const directory = mkdtempSync(join(tmpdir(), 'bench-reconciler-'));
  report(`reconciler: building a seed with ${scale.shoots} shoots`);
  const garden = await startSandbox({ endpointSliceController: false });
  try {
    const seedCluster = await startSeedCluster(USER, scale.shoots);
    try {
      const bed: Bed = { garden, seedCluster, directory, peakBytes: 0 };
      await setSeed(bed, false);
      writeFileSync(join(directory, 'seed.kubeconfig'), seedCluster.kubeconfig, { mode: 0o600 });
      writeFileSync(join(directory, 'garden.kubeconfig'), garden.kubeconfig(USER), { mode: 0o600 });
      writeFileSync(join(directory, 'config.yaml'), configOf(join(directory, 'garden.kubeconfig')));
      const { phases, problems } = await play(bed, changing, quick ? 5_000 : 30_000, report);
      const found = [...problems, ...findProblems(phases, { scale, changing })];
      return { environment: environment(), scale, changing, phases, peakBytes: bed.peakBytes, problems: found };
    } finally {
      await seedCluster.stop();
    }
  } finally {
    await garden.stop();
    rmSync(directory, { recursive: true, force: true });
  }
};
