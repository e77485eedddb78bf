// Plans in a thread of their own, within a deadline and in fair turns: what an owner makes hard to plan keeps no one else waiting.
// Fair queue: the owner that has used least is served next, so that one with many requests waits behind those with few.
import type { PlanAnswer, PlanJob } from '../../flow/assemble/job.ts';
import type { Clock, TimerHandle } from '../../kubernetes/types.ts';

interface FairQueue<Item> {
  add(owner: string, item: Item): void;
  /** The first item of the owner that has used least; undefined where nothing waits. */
  next(): { readonly owner: string; readonly item: Item } | undefined;
  /** What an item of the owner came to. */
  used(owner: string, amount: number): void;
  /** Takes out what fits. */
  remove(fits: (item: Item) => boolean): void;
  readonly length: number;
}

interface Account<Item> {
  readonly waiting: Item[];
  used: number;
}

/**
 * Start-time fair queueing (Goyal, Vin, Cheng: SIGCOMM 1996) with one weight for all: an owner that begins to wait begins where the
 * owner served last stands, so that idle owners accumulate no credit and past use is not held against them indefinitely.
 */
export const createFairQueue = <Item>(): FairQueue<Item> => {
  const accounts = new Map<string, Account<Item>>();
  let reached = 0;
  let length = 0;
  const accountOf = (owner: string): Account<Item> => {
    const known = accounts.get(owner);
    if (known !== undefined) return known;
    const account: Account<Item> = { waiting: [], used: reached };
    accounts.set(owner, account);
    return account;
  };
  return {
    add(owner, item) {
      const account = accountOf(owner);
      if (account.waiting.length === 0) account.used = Math.max(account.used, reached);
      account.waiting.push(item);
      length += 1;
    },
    next() {
      let best: string | undefined;
      for (const [owner, { waiting, used }] of accounts) {
        if (waiting.length === 0) {
          // Those that do not wait are remembered only while that makes a difference.
          if (used <= reached) accounts.delete(owner);
        } else if (best === undefined || used < (accounts.get(best)?.used ?? 0)) best = owner;
      }
      const account = best === undefined ? undefined : accounts.get(best);
      const item = account?.waiting.shift();
      if (best === undefined || account === undefined || item === undefined) return undefined;
      reached = Math.max(reached, account.used);
      length -= 1;
      return { owner: best, item };
    },
    used(owner, amount) {
      accountOf(owner).used += amount;
    },
    remove(fits) {
      for (const account of accounts.values()) {
        for (let index = account.waiting.length - 1; index >= 0; index -= 1) {
          const item = account.waiting[index];
          if (item === undefined || !fits(item)) continue;
          account.waiting.splice(index, 1);
          length -= 1;
        }
      }
    },
    get length() {
      return length;
    },
  };
};

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

interface PlanningOptions {
  open(events: PlanThreadEvents): PlanThread;
  clock: Pick<Clock, 'monotonic' | 'setTimeout'>;
  /** Longest time for one answer, milliseconds; then the thread is ended and the question asked again with the least effort. */
  deadlineMs?: number;
  /** Longest time that a reconcile waits for its answer, milliseconds. Later ones are reported by `onReady`. */
  patienceMs?: number;
  /** An answer came, or did not. */
  onPlanned?(key: string, outcome: PlanOutcome, durationMs: number): void;
}

export type PlanOutcome = 'complete' | 'cut-short' | 'timed-out' | 'failed';

export interface Planned extends PlanAnswer {
  /** The search was given up at the deadline: own zones, no hints and the plan before are all that was compared. */
  readonly timedOut: boolean;
}

export interface Planning {
  /**
   * The answer, or undefined where it takes longer than the patience. A question that was not answered yet, or whose answer was not
   * fetched, is not asked again; one of another kind or under another spec replaces it. Rejects where no answer is to be had.
   */
  ask(key: string, job: PlanJob): Promise<Planned | undefined>;
  /** Calls back when the answer to a question is there whose reconcile went on without it: the Service wants another one. */
  onReady(callback: (key: string) => void): void;
  /** The caller gave up on this answer. */
  forget(key: string): void;
  /** Ends the thread. */
  close(): void;
}

/** Own zones, no hints and the plan before: what is compared without a search. */
const LEAST_EFFORT = 0;

/** Hundred times what the hardest plans take on an idle core; a machine that is so slow has other troubles. */
const DEADLINE_MS = 10_000;
const PATIENCE_MS = 50;

/** A question that was not answered in time is asked with the least effort for so long. */
const SPARED_MS = 300_000;

interface Question {
  readonly key: string;
  readonly about: string;
  readonly job: PlanJob;
  timedOut: boolean;
  /** It is in the queue of those that wait for the thread. */
  queued: boolean;
  /** The reconcile went on without the answer. */
  late: boolean;
  planned?: Planned;
  error?: Error;
  settled(): void;
  readonly answered: Promise<void>;
}

const aboutOf = ({ kind, spec }: PlanJob): string => `${kind} ${JSON.stringify(spec)}`;

const questionOf = (key: string, job: PlanJob, timedOut: boolean): Question => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { key, about: aboutOf(job), job, timedOut, queued: false, late: false, settled: resolve, answered: promise };
};

const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'));

export const createPlanning = (options: PlanningOptions): Planning => {
  const { clock, deadlineMs = DEADLINE_MS, patienceMs = PATIENCE_MS } = options;
  const waiting = createFairQueue<Question>();
  const callbacks: ((key: string) => void)[] = [];
  const questions = new Map<string, Question>();
  /** Until when, monotonic milliseconds, a Service whose plan did not end is planned with the least effort. */
  const spared = new Map<string, number>();
  /** Services whose last answer was late: their reconciles do not wait for the next one. */
  const slow = new Set<string>();
  let thread: PlanThread | undefined;
  let running:
    { readonly id: number; readonly question: Question; readonly since: number; timer: TimerHandle } | undefined;
  let ids = 0;
  let closed = false;

  const finish = (question: Question, outcome: PlanOutcome, durationMs: number): void => {
    options.onPlanned?.(question.key, outcome, durationMs);
    question.settled();
    if (question.late) slow.add(question.key);
    else slow.delete(question.key);
    if (question.late && questions.get(question.key) === question)
      for (const callback of callbacks) callback(question.key);
  };

  /** What ran is over; what it took is on its namespace's account. */
  const stop = (): { readonly question: Question; readonly durationMs: number } | undefined => {
    if (running === undefined) return undefined;
    const { question, since, timer } = running;
    timer.cancel();
    running = undefined;
    const durationMs = clock.monotonic() - since;
    waiting.used(namespaceOf(question.key), Math.max(1, durationMs));
    return { question, durationMs };
  };

  const replied = (reply: PlanReply): void => {
    if (reply.id !== running?.id) return;
    const ended = stop();
    if (ended === undefined) return;
    const { question, durationMs } = ended;
    if ('error' in reply) {
      question.error = new Error(reply.error);
      finish(question, 'failed', durationMs);
    } else {
      question.planned = { ...reply.answer, timedOut: question.timedOut };
      const whole = reply.answer.cutShort ? 'cut-short' : 'complete';
      finish(question, question.timedOut ? 'timed-out' : whole, durationMs);
    }
    begin();
  };

  const enqueue = (question: Question): void => {
    question.queued = true;
    waiting.add(namespaceOf(question.key), question);
  };

  /** The thread is gone: what it was at is asked once more with the least effort, and after that given up. */
  const lost = (why: Error): void => {
    thread?.end();
    thread = undefined;
    const ended = stop();
    if (ended === undefined) return;
    const { question, durationMs } = ended;
    if (question.timedOut) {
      question.error = why;
      finish(question, 'failed', durationMs);
    } else {
      question.timedOut = true;
      spared.set(question.key, clock.monotonic() + SPARED_MS);
      if (questions.get(question.key) === question) enqueue(question);
    }
    begin();
  };

  const open = (): PlanThread => {
    const opened: PlanThread = options.open({
      replied,
      failed: (error) => {
        if (thread === opened) lost(error);
      },
    });
    return opened;
  };

  const begin = (): void => {
    if (running !== undefined || closed) return;
    const next = waiting.next();
    if (next === undefined) return;
    const { item: question } = next;
    question.queued = false;
    thread ??= open();
    ids += 1;
    const expired = new Error(`planning did not end within ${deadlineMs} ms`);
    running = { id: ids, question, since: clock.monotonic(), timer: clock.setTimeout(() => lost(expired), deadlineMs) };
    const effort = question.timedOut ? { effort: LEAST_EFFORT } : {};
    thread.post({ id: ids, job: question.job, ...effort });
  };

  const isSpared = (key: string): boolean => {
    const until = spared.get(key);
    if (until !== undefined && until <= clock.monotonic()) spared.delete(key);
    return spared.has(key);
  };

  const drop = (key: string): void => {
    const question = questions.get(key);
    questions.delete(key);
    // Looked for among all that wait: not for every answer.
    if (question?.queued === true) waiting.remove((item) => item === question);
  };

  const questionFor = (key: string, job: PlanJob): Question => {
    const known = questions.get(key);
    if (known?.about === aboutOf(job)) return known;
    drop(key);
    const question = questionOf(key, job, isSpared(key));
    questions.set(key, question);
    enqueue(question);
    begin();
    return question;
  };

  /** Resolves when the answer is there, or patience is over. */
  const patiently = async ({ answered }: Question): Promise<void> => {
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const timer = clock.setTimeout(resolve, patienceMs);
    await Promise.race([answered, over]);
    timer.cancel();
  };

  return {
    async ask(key, job) {
      const question = questionFor(key, job);
      if (question.planned === undefined && question.error === undefined && !slow.has(key)) await patiently(question);
      if (question.error !== undefined) {
        drop(key);
        throw question.error;
      }
      if (question.planned === undefined) {
        question.late = true;
        return undefined;
      }
      drop(key);
      return question.planned;
    },
    onReady: (callback) => void callbacks.push(callback),
    forget(key) {
      drop(key);
      spared.delete(key);
      slow.delete(key);
    },
    close() {
      closed = true;
      stop();
      thread?.end();
      thread = undefined;
    },
  };
};
