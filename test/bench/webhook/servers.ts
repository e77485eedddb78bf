// Starts servers under test and waits for their first answer.
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, startChild, type Child } from '../processes.ts';
import type { Contender } from './contenders.ts';
import type { ResponseFrame } from './http-framing.ts';
import { askOnce, type Target } from './load.ts';

/** Where servers run and what they are given. */
export interface Ground {
  /** Temporary folder with tls.crt and tls.key; logs go there. */
  readonly directory: string;
  readonly ca: string;
  readonly serverCore: number | undefined;
}

export interface RunningServer {
  readonly child: Child;
  readonly target: Target;
  readonly first: ResponseFrame;
  /** From just before the spawn to the end of the first answer. */
  readonly startMs: number;
  readonly logLines: () => number;
  /** Sum of the webhook request counters that the program publishes; undefined where it publishes none. */
  readonly countedRequests: () => Promise<number | undefined>;
}

const START_TIMEOUT_MS = 30_000;
const RETRY_MS = 1;

const waitForAnswer = async (target: Target, child: Child, request: Buffer): Promise<ResponseFrame> => {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      return await askOnce(target, request);
    } catch (error) {
      const failure = child.failure();
      if (failure !== undefined) throw new Error(failure, { cause: error });
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED' || performance.now() > deadline) throw error;
    }
    await sleep(RETRY_MS);
  }
};

const fetchText = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/metrics' }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(text));
    }).on('error', reject);
  });

/** Ours counts in a histogram of durations, controller-runtime in a counter. */
const COUNTERS =
  /^(?:topology_aware_routing_admission_duration_seconds_count|controller_runtime_webhook_requests_total)\{.*\} (\S+)$/gm;

/** Adds up the samples of the admission request counters in an exposition text. */
export const sumCounters = (text: string): number =>
  [...text.matchAll(COUNTERS)].reduce((sum, [, value]) => sum + Number(value), 0);

/** Starts a contender; the caller stops its child. */
export const startServer = async (contender: Contender, ground: Ground, request: Buffer): Promise<RunningServer> => {
  const port = await freePort();
  const metricsPort = await freePort();
  const logFile = join(ground.directory, `${contender.name}-${port}.log`);
  const target = { port, ca: ground.ca };
  const spawned = performance.now();
  const child = contender.start({ certDir: ground.directory, port, metricsPort, logFile, core: ground.serverCore });
  try {
    const first = await waitForAnswer(target, child, request);
    const startMs = performance.now() - spawned;
    return {
      child,
      target,
      first,
      startMs,
      logLines: () => readFileSync(logFile, 'latin1').split('\n').length - 1,
      countedRequests: async () => (contender.metrics ? sumCounters(await fetchText(metricsPort)) : undefined),
    };
  } catch (error) {
    await child.stop();
    throw new Error(`${contender.title} does not answer: ${(error as Error).message}`, { cause: error });
  }
};

/** Starts the server that does nothing; see canned-server.ts. */
export const startCanned = async (ground: Ground, request: Buffer, answerBytes: number): Promise<RunningServer> => {
  const canned: Contender = {
    name: 'bare',
    title: 'canned answers',
    metrics: false,
    start: ({ certDir, port, logFile, core }) =>
      startChild({
        command: process.execPath,
        args: [
          join(import.meta.dirname, 'canned-server.ts'),
          certDir,
          String(port),
          String(request.length),
          String(answerBytes),
        ],
        logFile,
        core,
      }),
  };
  return startServer(canned, ground, request);
};
