// `npm run bench -- --against REV`: CPU time of a review beside that of another commit. Both take turns: a slow machine slows both.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findCores, pinSelf } from '../processes.ts';
import { formatNumber, median } from '../statistics.ts';
import { markdownTable } from '../table.ts';
import { type Contest, type PreparedLoad, openContest, playRound, prepareLoad, prepareSettingsLoad } from './cell.ts';
import { writeCertificate } from './certificates.ts';
import { type Contender, webhookAt } from './contenders.ts';
import type { WebhookBenchOptions } from './run.ts';
import type { Ground } from './servers.ts';

const root = resolve(import.meta.dirname, '../../..');

/** Bundles the commands of a commit in a folder of their own, with its packages. */
const bundleOf = (revision: string, folder: string): string => {
  mkdirSync(folder);
  const archive = execFileSync('git', ['archive', revision], { cwd: root, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  const [lock, other] = [root, folder].map((path) => readFileSync(join(path, 'package-lock.json'), 'utf8'));
  if (lock === other) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  else
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--loglevel=error'], { cwd: folder, stdio: 'ignore' });
  execFileSync(process.execPath, [join(folder, 'hack/bundle.ts')], { cwd: folder, stdio: 'ignore' });
  return join(folder, 'dist/bundle');
};

const LOADS = [
  ...[3, 100, 1_000].map((size) => ({ name: `EndpointSlice of ${size}`, loads: prepareLoad(size, 'write') })),
  { name: 'Service, settings put back', loads: prepareSettingsLoad() },
];

/** Microseconds of CPU time for each answer. */
const costs = ({ rounds }: Contest): number[] =>
  rounds.map(({ load, cpuSeconds }) => (1e6 * cpuSeconds) / load.answers);
const spread = (values: readonly number[]): string =>
  `${formatNumber(median(values))} (${formatNumber(Math.min(...values))} to ${formatNumber(Math.max(...values))})`;

/** Both start anew for each try, as two processes of one program differ, too. */
const playTry = async (
  contenders: readonly Contender[],
  loads: readonly PreparedLoad[],
  ground: Ground,
  quick: boolean,
) => {
  const pair: Contest[] = [];
  try {
    for (const contender of contenders) pair.push(await openContest(contender, ground, loads, 'write'));
    for (let turn = 0; turn < 4; turn += 1)
      for (const contest of turn % 2 === 0 ? pair : pair.toReversed()) await playRound(contest, quick ? 500 : 1_000);
  } finally {
    await Promise.all(pair.map(({ server }) => server.child.stop('SIGKILL')));
  }
  return pair.map(costs);
};

/** A table of both: median, and least to most of all rounds. */
export const runAgainst = async (revision: string, { quick, report }: WebhookBenchOptions): Promise<string> => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-against-'));
  try {
    report(`bundling ${revision}`);
    const contenders = [join(root, 'dist/bundle'), bundleOf(revision, join(directory, 'sources'))].map(webhookAt);
    const cores = findCores(availableParallelism());
    if (cores !== undefined) pinSelf(String(cores.load));
    const ground = { directory, ca: writeCertificate(directory), serverCore: cores?.server };
    const rows: string[][] = [];
    for (const { name, loads } of LOADS) {
      const tries: number[][][] = [];
      for (let begun = 0; begun < (quick ? 1 : 3); begun += 1)
        tries.push(await playTry(contenders, loads, ground, quick));
      const [now = [], then = []] = [0, 1].map((index) => tries.flatMap((one) => one[index] ?? []));
      rows.push([name, spread(now), spread(then), spread(now.map((cost, index) => cost / (then[index] ?? NaN)))]);
      report(rows.at(-1)?.join(' | ') ?? '');
    }
    return markdownTable(['review', 'CPU µs now', `CPU µs of ${revision}`, 'ratio'], rows);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
