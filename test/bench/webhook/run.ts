// The webhook benchmark: both tables, and the time from start to first answer.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { calibrate } from '../calibration.ts';
import { describeEnvironment } from '../environment.ts';
import { findCores, pinSelf } from '../processes.ts';
import { median } from '../statistics.ts';
import { CONNECTIONS, measureCell, prepareLoad } from './cell.ts';
import { writeCertificate } from './certificates.ts';
import { listContenders, type Contender } from './contenders.ts';
import { buildPeer } from './peer.ts';
import { openResourceManager } from './resource-manager.ts';
import type { Scenario } from './payload.ts';
import { startServer, type Ground } from './servers.ts';
import type { Cell, StartResult, WebhookResults } from './types.ts';
import { verifyAnswer } from './verify.ts';

export interface WebhookBenchOptions {
  /** Few short rounds: good for seeing that it works, not for quoting. */
  readonly quick: boolean;
  readonly report: (line: string) => void;
}

const SIZES = [3, 100, 1_000];
const SCENARIOS: readonly Scenario[] = ['write', 'keep'];
const FULL = { rounds: 5, measureMs: 2_500, starts: 9 };
const QUICK = { rounds: 1, measureMs: 1_500, starts: 3 };

const measureStart = async (contender: Contender, ground: Ground, starts: number): Promise<StartResult> => {
  const [load] = prepareLoad(3, 'write');
  if (load === undefined) throw new Error('no request to start with');
  const allMs: number[] = [];
  for (let start = 0; start < starts; start += 1) {
    const server = await startServer(contender, ground, load.request);
    try {
      verifyAnswer(server.first, load.payload, 'write');
      allMs.push(server.startMs);
    } finally {
      // Nothing is in flight, and waiting for orderly drains would only take time.
      await server.child.stop('SIGKILL');
    }
  }
  return { medianMs: median(allMs), allMs };
};

const requireBundle = (): void => {
  const bundle = join(import.meta.dirname, '../../../dist/bundle/endpointslice-webhook.js');
  if (!existsSync(bundle))
    throw new Error('dist/bundle/endpointslice-webhook.js is missing; run `npm run bundle` first');
};

/** Runs everything; takes about eight minutes, or two with `quick`. */
export const runWebhookBench = async ({ quick, report }: WebhookBenchOptions): Promise<WebhookResults> => {
  requireBundle();
  const { rounds, measureMs, starts } = quick ? QUICK : FULL;
  const peer = buildPeer(report);
  if (peer.kind === 'missing') report(peer.message);
  const cores = findCores(availableParallelism());
  if (cores === undefined) report('server and load share their cores: there is only one, or no `taskset`');
  else pinSelf(String(cores.load));
  const environment = describeEnvironment();
  const directory = mkdtempSync(join(tmpdir(), 'bench-webhook-'));
  const gardener = await openResourceManager(directory);
  if (gardener.kind === 'missing') report(gardener.message);
  const contenders = listContenders(
    peer.kind === 'built' ? peer.binary : undefined,
    gardener.kind === 'built' ? gardener.contender : undefined,
  );
  try {
    const ground: Ground = { directory, ca: writeCertificate(directory), serverCore: cores?.server };
    const start: WebhookResults['start'] = {};
    for (const contender of contenders) {
      report(`start to first answer: ${contender.title}`);
      start[contender.name] = await measureStart(contender, ground, starts);
    }
    const cells: Cell[] = [];
    for (const scenario of SCENARIOS) {
      for (const endpoints of SIZES)
        cells.push(await measureCell({ scenario, endpoints, rounds, measureMs, contenders, ground, report }));
    }
    const measuredOn = environment();
    return {
      environment: measuredOn,
      calibrationMs: { begin: measuredOn.calibrationMs, end: calibrate() },
      connections: CONNECTIONS,
      rounds,
      secondsPerRound: measureMs / 1000,
      pinned: cores !== undefined,
      peer: peer.kind === 'built' ? peer.versions : peer.message,
      cells,
      start,
    };
  } finally {
    if (gardener.kind === 'built') await gardener.close();
    if (cores !== undefined) pinSelf(`0-${cpus().length - 1}`);
    rmSync(directory, { recursive: true, force: true });
  }
};
