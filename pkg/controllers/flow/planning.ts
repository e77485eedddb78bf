// Plans in a thread of their own, within a deadline, namespaces in turn: what an owner makes hard to plan keeps no one else waiting.
import { parentPort, Worker } from 'node:worker_threads';
import { errorText } from '../../apis/values.ts';
import { type PlanAnswer, type PlanJob, answerJob } from '../../flow/assemble/job.ts';
import { within } from '../../kubernetes/wait.ts';
import type { Clock } from '../../kubernetes/types.ts';

export interface PlanRequest {
  readonly job: PlanJob;
  /** Looks that a plan may take; absent: as many as any plan may. */
  readonly effort?: number;
}

export type PlanReply = { readonly answer: PlanAnswer } | { readonly error: string };

/** A thread that answers one request after the other. */
export interface PlanThread {
  /** Rejects where the thread ends meanwhile. */
  plan(request: PlanRequest): Promise<PlanReply>;
  /** Ends it, whatever it is doing. */
  end(): void;
}

export const replyTo = ({ job, effort }: PlanRequest): PlanReply => {
  try {
    return { answer: answerJob(job, effort) };
  } catch (error) {
    return { error: errorText(error) };
  }
};

/** Ten times what the largest Services need; more would be taken from the process, whose memory is limited. */
const LIMITS = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 4 };

/** A worker whose file calls `servePlans`; `onEnd`: it ended, or could not begin. */
export const openWorker = (file: URL, onEnd: () => void): PlanThread => {
  const worker = new Worker(file, { resourceLimits: LIMITS, name: 'planner' });
  let asked: PromiseWithResolvers<PlanReply> | undefined;
  const fail = (error: unknown): void => {
    onEnd();
    asked?.reject(error instanceof Error ? error : new Error(String(error)));
  };
  worker.on('message', (reply: PlanReply) => asked?.resolve(reply));
  worker.on('error', fail);
  worker.on('exit', (code) => fail(new Error(`the planning thread ended with code ${code}`)));
  // It ends with the process, and keeps none alive.
  worker.unref();
  return {
    plan(request) {
      asked = Promise.withResolvers();
      worker.postMessage(request);
      return asked.promise;
    },
    end: () => void worker.terminate(),
  };
};

/** What the worker's file does: answers what it is sent. */
export const servePlans = (): void => {
  parentPort?.on('message', (request: PlanRequest) => parentPort?.postMessage(replyTo(request)));
};

export interface Planned extends PlanAnswer {
  /** The search was given up at the deadline: own zones, no hints and the plan before are all that was compared. */
  readonly timedOut: boolean;
}

/** Own zones, no hints and the plan before: what is compared without a search. */
const LEAST_EFFORT = 0;
/** Hundred times what the hardest plans take on an idle core; a machine that is so slow has other troubles. */
const DEADLINE_MS = 10_000;
/** Longest time that a reconcile waits for its answer: its worker serves other Services too. */
const WAIT_MS = 50;

interface Question {
  readonly key: string;
  readonly about: string;
  readonly job: PlanJob;
  timedOut: boolean;
  readonly answer: PromiseWithResolvers<Planned>;
  /** Never rejects. */
  readonly answered: Promise<unknown>;
}

export const createPlanning = (options: {
  open(onEnd: () => void): PlanThread;
  clock: Clock;
  /** Longest time for one answer, milliseconds; then the thread is ended and the question asked again with the least effort. */
  deadlineMs?: number;
  /** The answer to a question is there whose reconcile went on without it: the Service wants another one. */
  onReady(key: string): void;
  onPlanned?(outcome: 'complete' | 'cut-short' | 'timed-out' | 'failed', durationMs: number): void;
}) => {
  const { open, clock, deadlineMs = DEADLINE_MS, onReady, onPlanned } = options;
  const questions = new Map<string, Question>();
  /** Questions that wait, by namespace; the one whose turn is next comes first. */
  const waiting = new Map<string, Question[]>();
  let thread: PlanThread | undefined;
  let working = false;
  let closed = false;

  const isAsked = (question: Question): boolean => questions.get(question.key) === question;

  const enqueue = (question: Question): void => {
    const namespace = question.key.slice(0, question.key.indexOf('/'));
    waiting.set(namespace, [...(waiting.get(namespace) ?? []), question]);
  };

  const next = (): Question | undefined => {
    for (const [namespace, [question, ...others]] of waiting) {
      waiting.delete(namespace);
      if (others.length > 0) waiting.set(namespace, others);
      if (question !== undefined && isAsked(question)) return question;
    }
    return undefined;
  };

  const askThread = async (request: PlanRequest): Promise<PlanReply> => {
    if (thread === undefined) {
      const opened = open(() => {
        if (thread === opened) thread = undefined;
      });
      thread = opened;
    }
    const reply = thread.plan(request);
    if (await within(reply, deadlineMs, clock)) return reply;
    throw new Error(`planning did not end within ${deadlineMs} ms`);
  };

  const plan = async (question: Question): Promise<void> => {
    const { job, timedOut, answer } = question;
    const since = clock.monotonic();
    const fail = (error: Error): void => {
      onPlanned?.('failed', clock.monotonic() - since);
      answer.reject(error);
    };
    try {
      const reply = await askThread(timedOut ? { job, effort: LEAST_EFFORT } : { job });
      if ('error' in reply) return fail(new Error(reply.error));
      const whole = reply.answer.cutShort ? 'cut-short' : 'complete';
      onPlanned?.(timedOut ? 'timed-out' : whole, clock.monotonic() - since);
      answer.resolve({ ...reply.answer, timedOut });
    } catch (error) {
      // The thread is gone: what it was at is asked once more with the least effort, and after that given up.
      thread?.end();
      thread = undefined;
      if (timedOut) return fail(error as Error);
      question.timedOut = true;
      enqueue(question);
    }
  };

  const work = async (): Promise<void> => {
    if (working) return;
    working = true;
    for (let question = next(); question !== undefined && !closed; question = next()) await plan(question);
    working = false;
  };

  const questionFor = (key: string, job: PlanJob): Question => {
    const about = `${job.kind} ${JSON.stringify(job.spec)}`;
    const known = questions.get(key);
    if (known?.about === about) return known;
    const answer = Promise.withResolvers<Planned>();
    const answered = answer.promise.catch(() => undefined);
    const question: Question = { key, about, job, timedOut: false, answer, answered };
    questions.set(key, question);
    enqueue(question);
    void work();
    return question;
  };

  return {
    /**
     * The answer, or undefined where it takes longer. A question that was not answered yet, or whose answer was not fetched, is not
     * asked again; one of another kind or under another spec replaces it. Rejects where no answer is to be had.
     */
    async ask(key: string, job: PlanJob): Promise<Planned | undefined> {
      const question = questionFor(key, job);
      if (await within(question.answered, WAIT_MS, clock)) {
        if (isAsked(question)) questions.delete(key);
        return question.answer.promise;
      }
      void question.answered.then(() => isAsked(question) && onReady(key));
      return undefined;
    },
    forget: (key: string): void => void questions.delete(key),
    close(): void {
      closed = true;
      thread?.end();
    },
  };
};

export type Planning = ReturnType<typeof createPlanning>;
