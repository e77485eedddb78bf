// Starts servers under test and waits for their first answer.
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
    return { child, target, first, startMs };
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
