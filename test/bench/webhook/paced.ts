// `npm run bench:webhook-paced`: how late answers are at a fixed rate of reviews, which is what admission adds to a write.
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeResults } from '../../support/results.ts';
import { describeEnvironment } from '../environment.ts';
import { findCores, pinSelf } from '../processes.ts';
import { median, percentile } from '../statistics.ts';
import { prepareLoad, verifyAll } from './cell.ts';
import { writeCertificate } from './certificates.ts';
import { listContenders } from './contenders.ts';
import type { Contender } from './contenders.ts';
import { runLoad } from './load.ts';
import type { LoadResult } from './load.ts';
import { pacedMarkdown } from './paced-table.ts';
import type { PacedResult, PacedResults } from './paced-table.ts';
import { buildPeer } from './peer.ts';
import { startServer } from './servers.ts';
import type { Ground } from './servers.ts';

const PER_SECOND = 200;
const SIZES = [3, 100, 1_000];
const [ROUNDS, MEASURE_MS, WARM_UP_MS] = [5, 3_000, 1_000];
const RESULTS = join(import.meta.dirname, '../results/webhook-paced.json');

const measure = async (contender: Contender, endpoints: number, ground: Ground): Promise<PacedResult> => {
  const loads = prepareLoad(endpoints, 'write');
  const [first] = loads;
  if (first === undefined) throw new Error('no connection');
  const server = await startServer(contender, ground, first.request);
  try {
    const shots = await verifyAll(server, loads, 'write');
    const rounds: (LoadResult & { readonly cores: number })[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      let [begin, end] = [0, 0];
      const load = await runLoad({
        target: server.target,
        shots,
        perSecond: PER_SECOND,
        warmUpMs: WARM_UP_MS,
        measureMs: MEASURE_MS,
        onMeasure(phase) {
          if (phase === 'begin') begin = server.child.cpuSeconds();
          else end = server.child.cpuSeconds();
        },
      });
      rounds.push({ ...load, cores: (end - begin) / load.seconds });
    }
    const of = (percent: number): number => median(rounds.map(({ latencies }) => percentile(latencies, percent)));
    return {
      program: contender.name,
      endpoints,
      perSecond: median(rounds.map(({ answers, seconds }) => answers / seconds)),
      p50Ms: of(50),
      p99Ms: of(99),
      cores: median(rounds.map(({ cores }) => cores)),
      peakBytes: server.child.memory().peak,
    };
  } finally {
    await server.child.stop('SIGKILL');
  }
};

const run = async (): Promise<PacedResults> => {
  const peer = buildPeer((line) => console.error(line));
  const contenders = listContenders(peer.kind === 'built' ? peer.binary : undefined, undefined);
  const cores = findCores(availableParallelism());
  if (cores !== undefined) pinSelf(String(cores.load));
  const environment = describeEnvironment();
  const directory = mkdtempSync(join(tmpdir(), 'bench-paced-'));
  try {
    const ground: Ground = { directory, ca: writeCertificate(directory), serverCore: cores?.server };
    const results: PacedResult[] = [];
    for (const endpoints of SIZES) {
      // At this rate the Go program answers fewer than are asked with large slices: its latency would be that of a queue without end.
      for (const contender of contenders.filter(
        ({ name }) => name === 'webhook' || (name === 'go' && endpoints < 1_000),
      ))
        results.push(await measure(contender, endpoints, ground));
    }
    return {
      environment: environment(),
      perSecond: PER_SECOND,
      rounds: ROUNDS,
      secondsPerRound: MEASURE_MS / 1_000,
      results,
    };
  } finally {
    if (cores !== undefined) pinSelf(`0-${cpus().length - 1}`);
    rmSync(directory, { recursive: true, force: true });
  }
};

const results = await run();
writeResults(RESULTS, results);
console.log(pacedMarkdown(results));
