// Measures all programs under one load: verified first, then in turns, so that noise meets each of them alike.
import { median, percentile } from '../statistics.ts';
import type { Contender, ContenderName } from './contenders.ts';
import { frameRequest } from './http-framing.ts';
import { askOnce, runLoad, type LoadResult, type Shot } from './load.ts';
import { buildPayload, buildSettingsPayload, type Payload, type Scenario } from './payload.ts';
import { startCanned, startServer, type Ground, type RunningServer } from './servers.ts';
import type { Cell, Measurement, Ratio } from './types.ts';
import { verifyAnswer } from './verify.ts';

/** Connections that kube-apiserver would keep open under this load; one slice each. */
export const CONNECTIONS = 16;
const PATH = '/webhooks/endpoint-slice-hints?timeout=10s';

export interface CellOptions {
  readonly scenario: Scenario;
  readonly endpoints: number;
  readonly rounds: number;
  readonly measureMs: number;
  readonly contenders: readonly Contender[];
  readonly ground: Ground;
  readonly report: (line: string) => void;
}

export interface PreparedLoad {
  readonly payload: Payload<object>;
  readonly request: Buffer;
}

/** One slice and its request for each connection. */
export const prepareLoad = (endpoints: number, scenario: Scenario): PreparedLoad[] =>
  Array.from({ length: CONNECTIONS }, (_, variant) => {
    const payload = buildPayload({ endpoints, scenario, variant });
    return { payload, request: frameRequest(PATH, 'localhost', JSON.stringify(payload.review)) };
  });

/** The same of Services whose owner drops the settings. */
export const prepareSettingsLoad = (): PreparedLoad[] =>
  Array.from({ length: CONNECTIONS }, (_, variant) => {
    const payload = buildSettingsPayload(variant);
    return {
      payload,
      request: frameRequest('/webhooks/routing-settings?timeout=10s', 'localhost', JSON.stringify(payload.review)),
    };
  });

interface Round {
  readonly load: LoadResult;
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

export interface Contest {
  readonly contender: Contender;
  readonly server: RunningServer;
  readonly shots: readonly Shot[];
  readonly rounds: Round[];
}

/** Every connection's answer is applied and compared before any time is taken; its length is the check under load. */
export const verifyAll = async (
  server: Pick<RunningServer, 'target'>,
  loads: readonly PreparedLoad[],
  scenario: Scenario,
): Promise<Shot[]> => {
  const shots: Shot[] = [];
  for (const { payload, request } of loads) {
    const frame = await askOnce(server.target, request);
    verifyAnswer(frame, payload, scenario);
    shots.push({ request, answerBytes: frame.bodyBytes });
  }
  return shots;
};

/** Starts a program and checks its answers; the caller stops it. */
export const openContest = async (
  contender: Contender,
  ground: Ground,
  loads: readonly PreparedLoad[],
  scenario: Scenario,
): Promise<Contest> => {
  const [load] = loads;
  if (load === undefined) throw new Error('no connection');
  const server = await startServer(contender, ground, load.request);
  try {
    return { contender, server, shots: await verifyAll(server, loads, scenario), rounds: [] };
  } catch (error) {
    await server.child.stop('SIGKILL');
    throw error;
  }
};

export const playRound = async ({ server, shots, rounds }: Contest, measureMs: number): Promise<void> => {
  const { child, target } = server;
  let cpuBegin = 0;
  let cpuEnd = 0;
  let residentBytes = 0;
  const load = await runLoad({
    target,
    shots,
    warmUpMs: rounds.length === 0 ? measureMs : measureMs / 4,
    measureMs,
    onMeasure: (phase) => {
      if (phase === 'begin') cpuBegin = child.cpuSeconds();
      else {
        cpuEnd = child.cpuSeconds();
        residentBytes = child.memory().resident;
      }
    },
  });
  rounds.push({ load, cpuSeconds: cpuEnd - cpuBegin, residentBytes });
};

const summarise = ({ server, rounds }: Contest): Measurement => ({
  requestsPerSecond: median(rounds.map(({ load }) => load.answers / load.seconds)),
  requestsPerCpuSecond: median(rounds.map(({ load, cpuSeconds }) => load.answers / cpuSeconds)),
  p50Ms: median(rounds.map(({ load }) => percentile(load.latencies, 50))),
  p99Ms: median(rounds.map(({ load }) => percentile(load.latencies, 99))),
  residentBytes: Math.max(...rounds.map(({ residentBytes }) => residentBytes)),
  peakBytes: server.child.memory().peak,
  loadCpuShare: median(rounds.map(({ load }) => load.loadCpuShare)),
});

const measureCeiling = async (
  { ground, measureMs }: CellOptions,
  shots: readonly Shot[],
): Promise<Cell['loadCeiling']> => {
  const [shot] = shots;
  if (shot === undefined) throw new Error('no connection to measure the load generator with');
  const server = await startCanned(ground, shot.request, shot.answerBytes ?? 0);
  try {
    // All connections send the same request: the server only counts bytes.
    const load = await runLoad({
      target: server.target,
      shots: shots.map(() => shot),
      warmUpMs: measureMs / 2,
      measureMs: measureMs / 2,
    });
    return { requestsPerSecond: load.answers / load.seconds, loadCpuShare: load.loadCpuShare };
  } finally {
    await server.child.stop('SIGKILL');
  }
};

/** Ratios of every program to the Go program, from the medians. */
export const ratiosToGo = (measurements: Cell['measurements']): Cell['ratiosToGo'] => {
  const { go } = measurements;
  const ratios: Partial<Record<ContenderName, Ratio>> = {};
  if (go === undefined) return ratios;
  for (const [name, measured] of Object.entries(measurements)) {
    ratios[name as ContenderName] = {
      requestsPerSecond: measured.requestsPerSecond / go.requestsPerSecond,
      requestsPerCpuSecond: measured.requestsPerCpuSecond / go.requestsPerCpuSecond,
      p99Ms: measured.p99Ms / go.p99Ms,
    };
  }
  return ratios;
};

/** Runs one cell of the table. Rejects if any program answers wrongly, before or under load. */
export const measureCell = async (options: CellOptions): Promise<Cell> => {
  const { scenario, endpoints, contenders, ground, rounds, measureMs, report } = options;
  const loads = prepareLoad(endpoints, scenario);
  const contests: Contest[] = [];
  try {
    for (const contender of contenders) contests.push(await openContest(contender, ground, loads, scenario));
    for (let round = 0; round < rounds; round += 1) {
      report(`${scenario} ${endpoints} endpoints: round ${round + 1} of ${rounds}`);
      for (const contest of contests) await playRound(contest, measureMs);
    }
    const measurements: Cell['measurements'] = {};
    for (const contest of contests) measurements[contest.contender.name] = summarise(contest);
    return {
      scenario,
      endpoints,
      requestBytes: loads[0]?.request.length ?? 0,
      measurements,
      ratiosToGo: ratiosToGo(measurements),
      loadCeiling: await measureCeiling(options, contests[0]?.shots ?? []),
    };
  } finally {
    await Promise.all(contests.map(({ server }) => server.child.stop('SIGKILL')));
  }
};
