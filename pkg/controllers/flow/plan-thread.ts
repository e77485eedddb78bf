// The thread that plans: a worker of Node.js from the command's own file, or none at all, for tests and dry runs.
import { parentPort, Worker } from 'node:worker_threads';
import { errorText } from '../../apis/values.ts';
import { answerJob } from '../../flow/assemble/job.ts';
import type { PlanReply, PlanRequest, PlanThread, PlanThreadEvents } from './planning.ts';

const replyTo = ({ id, job, effort }: PlanRequest): PlanReply => {
  try {
    return { id, answer: answerJob(job, effort) };
  } catch (error) {
    return { id, error: errorText(error) };
  }
};

/** Ten times what the largest Services need; more would be taken from the process, whose memory is limited. */
const LIMITS = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 4 };

/** A worker whose file calls `servePlans`. */
export const openWorker = (file: URL, { replied, failed }: PlanThreadEvents): PlanThread => {
  const worker = new Worker(file, { resourceLimits: LIMITS, name: 'planner' });
  worker.on('message', (reply: PlanReply) => replied(reply));
  worker.on('error', (error: unknown) => failed(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', (code) => failed(new Error(`the planning thread ended with code ${code}`)));
  // It ends with the process, and keeps none alive.
  worker.unref();
  return { post: (request) => worker.postMessage(request), end: () => void worker.terminate() };
};

/** Answers in this thread, at once. */
export const openInline = ({ replied }: PlanThreadEvents): PlanThread => ({
  post: (request) => queueMicrotask(() => replied(replyTo(request))),
  end: () => undefined,
});

/** What the worker's file does: answers what it is sent. */
export const servePlans = (): void => {
  parentPort?.on('message', (request: PlanRequest) => parentPort?.postMessage(replyTo(request)));
};
