// Plans in a thread of their own, within a deadline, namespaces in turn: what an owner makes hard to plan keeps no one else waiting.
import { parentPort, Worker } from 'node:worker_threads';
import { errorText } from '../../apis/values.ts';
import { type PlanAnswer, type PlanJob, answerJob } from '../../flow/assemble/job.ts';
import { within } from '../../kubernetes/wait.ts';
import type { Clock, TimerHandle } from '../../kubernetes/types.ts';

/** One question to the thread. */
export interface PlanRequest {
  readonly id: number;
  readonly job: PlanJob;
  /** Looks that a plan may take; absent: as many as any plan may. */
  readonly effort?: number;
}

export type PlanReply =
  { readonly id: number; readonly answer: PlanAnswer } | { readonly id: number; readonly error: string };

/** A thread that answers one request after the other. */
export interface PlanThread {
  post(request: PlanRequest): void;
  /** Ends it, whatever it is doing. */
  end(): void;
}

export interface PlanThreadEvents {
  replied(reply: PlanReply): void;
  /** It ended by itself, or could not begin. */
  failed(error: Error): void;
}

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

/** Answers in this thread, at once: for tests. */
export const openInline = ({ replied }: PlanThreadEvents): PlanThread => ({
  post: (request) => queueMicrotask(() => replied(replyTo(request))),
  end: () => undefined,
});

/** What the worker's file does: answers what it is sent. */
export const servePlans = (): void => {
  parentPort?.on('message', (request: PlanRequest) => parentPort?.postMessage(replyTo(request)));
};

export type PlanOutcome = 'complete' | 'cut-short' | 'timed-out' | 'failed';

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
  /** A reconcile waits for the answer. */
  awaited: boolean;
  answer?: Planned | Error;
  settled(): void;
  readonly answered: Promise<void>;
}

/** The namespaces of those that wait take turns. */
const createTurns = () => {
  const waiting = new Map<string, Question[]>();
  const namespaceOf = ({ key }: Question): string => key.slice(0, key.indexOf('/'));
  return {
    add(question: Question): void {
      const namespace = namespaceOf(question);
      waiting.set(namespace, [...(waiting.get(namespace) ?? []), question]);
    },
    next(): Question | undefined {
      const [[namespace, [question, ...others]] = ['', []]] = waiting;
      waiting.delete(namespace);
      if (others.length > 0) waiting.set(namespace, others);
      return question;
    },
    remove(question: Question): void {
      const namespace = namespaceOf(question);
      const others = (waiting.get(namespace) ?? []).filter((one) => one !== question);
      if (others.length > 0) waiting.set(namespace, others);
      else waiting.delete(namespace);
    },
  };
};

export const createPlanning = ({
  open,
  clock,
  deadlineMs = DEADLINE_MS,
  onReady,
  onPlanned,
}: {
  open(events: PlanThreadEvents): PlanThread;
  clock: Clock;
  /** Longest time for one answer, milliseconds; then the thread is ended and the question asked again with the least effort. */
  deadlineMs?: number;
  /** The answer to a question is there whose reconcile went on without it: the Service wants another one. */
  onReady(key: string): void;
  /** An answer came, or did not. */
  onPlanned?(outcome: PlanOutcome, durationMs: number): void;
}) => {
  const turns = createTurns();
  const questions = new Map<string, Question>();
  let thread: PlanThread | undefined;
  let running:
    { readonly id: number; readonly question: Question; readonly since: number; timer: TimerHandle } | undefined;
  let ids = 0;
  let closed = false;

  const finish = (question: Question, answer: Planned | Error, outcome: PlanOutcome, since: number): void => {
    question.answer = answer;
    onPlanned?.(outcome, clock.monotonic() - since);
    question.settled();
    if (!question.awaited && questions.get(question.key) === question) onReady(question.key);
  };

  const stop = (): typeof running => {
    const ended = running;
    running = undefined;
    ended?.timer.cancel();
    return ended;
  };

  const replied = (reply: PlanReply): void => {
    if (running === undefined || reply.id !== running.id) return;
    const { question, since } = running;
    const { timedOut } = question;
    stop();
    if ('error' in reply) finish(question, new Error(reply.error), 'failed', since);
    else {
      const whole = reply.answer.cutShort ? 'cut-short' : 'complete';
      finish(question, { ...reply.answer, timedOut }, timedOut ? 'timed-out' : whole, since);
    }
    begin();
  };

  /** The thread is gone: what it was at is asked once more with the least effort, and after that given up. */
  const lost = (why: Error): void => {
    thread?.end();
    thread = undefined;
    const ended = stop();
    if (ended === undefined) return;
    const { question, since } = ended;
    if (question.timedOut) finish(question, why, 'failed', since);
    else if (questions.get(question.key) === question) {
      question.timedOut = true;
      turns.add(question);
    }
    begin();
  };

  const begin = (): void => {
    if (running !== undefined || closed) return;
    const question = turns.next();
    if (question === undefined) return;
    if (thread === undefined) {
      const opened = open({ replied, failed: (error) => thread === opened && lost(error) });
      thread = opened;
    }
    ids += 1;
    const expired = new Error(`planning did not end within ${deadlineMs} ms`);
    running = { id: ids, question, since: clock.monotonic(), timer: clock.setTimeout(() => lost(expired), deadlineMs) };
    thread.post({ id: ids, job: question.job, ...(question.timedOut ? { effort: LEAST_EFFORT } : {}) });
  };

  const drop = (key: string): void => {
    const question = questions.get(key);
    questions.delete(key);
    if (question !== undefined && question.answer === undefined) turns.remove(question);
  };

  const questionFor = (key: string, job: PlanJob): Question => {
    const about = `${job.kind} ${JSON.stringify(job.spec)}`;
    const known = questions.get(key);
    if (known?.about === about) return known;
    drop(key);
    const { promise: answered, resolve: settled } = Promise.withResolvers<void>();
    const question: Question = { key, about, job, timedOut: false, awaited: true, settled, answered };
    questions.set(key, question);
    turns.add(question);
    begin();
    return question;
  };

  return {
    /**
     * The answer, or undefined where it takes longer. A question that was not answered yet, or whose answer was not fetched, is not
     * asked again; one of another kind or under another spec replaces it. Rejects where no answer is to be had.
     */
    async ask(key: string, job: PlanJob): Promise<Planned | undefined> {
      const question = questionFor(key, job);
      if (question.answer === undefined) {
        question.awaited = true;
        await within(question.answered, WAIT_MS, clock);
        question.awaited = false;
      }
      const { answer } = question;
      if (answer === undefined) return undefined;
      drop(key);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    /** The caller gave up on this answer. */
    forget: drop,
    /** Ends the thread. */
    close(): void {
      closed = true;
      stop();
      thread?.end();
      thread = undefined;
    },
  };
};

export type Planning = ReturnType<typeof createPlanning>;
