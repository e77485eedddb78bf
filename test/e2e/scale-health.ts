// Asks a health port again and again from a thread of its own, which is not late because the test is busy.
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** Answers since the last look, from the first good one on: a program that starts does not listen yet. */
export interface HealthAnswers {
  readonly asked: number;
  /** The slowest, seconds. */
  readonly slowestSeconds: number;
  /** Those that a kubelet would count as failed: no 200 within a second. */
  readonly failed: number;
}

interface HealthWatch {
  /** What came since the last look. */
  look(): Promise<HealthAnswers>;
  stop(): Promise<void>;
}

/** Ten times as often as a kubelet does by default. */
const EVERY_MS = 1_000;
/** A kubelet's default. */
const PROBE_SECONDS = 1;

const counted = (
  { asked, slowestSeconds, failed }: HealthAnswers,
  seconds: number,
  isGood: boolean,
): HealthAnswers => ({
  asked: asked + 1,
  slowestSeconds: Math.max(slowestSeconds, seconds),
  failed: failed + (isGood && seconds <= PROBE_SECONDS ? 0 : 1),
});

const askForever = async (url: string): Promise<void> => {
  let answers: HealthAnswers = { asked: 0, slowestSeconds: 0, failed: 0 };
  let listens = false;
  parentPort?.on('message', () => {
    parentPort?.postMessage(answers);
    answers = { asked: 0, slowestSeconds: 0, failed: 0 };
  });
  for (;;) {
    const from = performance.now();
    const isGood = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    );
    const seconds = (performance.now() - from) / 1_000;
    listens ||= isGood;
    if (listens) answers = counted(answers, seconds, isGood);
    await delay(Math.max(0, EVERY_MS - 1_000 * seconds));
  }
};

/** Begins at once. */
export const watchHealth = (url: string): HealthWatch => {
  const worker = new Worker(new URL(import.meta.url), { workerData: url });
  return {
    look: () =>
      new Promise((resolve) => {
        worker.once('message', resolve);
        worker.postMessage('look');
      }),
    stop: async () => void (await worker.terminate()),
  };
};

if (!isMainThread && parentPort !== null && typeof workerData === 'string') await askForever(workerData);
