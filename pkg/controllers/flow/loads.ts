// SPDX-License-Identifier: Apache-2.0
// Reads the load of Services, each at its own interval, whatever else makes the reconciler look at it in between.
import type { Load } from '../../flow/assemble/observation.ts';
import type { FlowSettings } from '../../flow/loop/from-spec.ts';
import { createDeadline } from '../../kubernetes/deadline.ts';
import type { Clock } from '../../kubernetes/types.ts';
import { LoadError } from '../../metrics/types.ts';
import type { LoadQuery, LoadReading, LoadSource } from '../../metrics/types.ts';

export interface LoadReaderOptions {
  /** By name; the first one is the default. */
  sources: ReadonlyMap<string, LoadSource>;
  clock: Clock;
  /** Longest time for one reading, milliseconds; default 10,000. */
  timeoutMs?: number;
  /** Longest time that a turn waits for it, milliseconds; default 200. A source that hangs must not keep others waiting. */
  patienceMs?: number;
  /** Ends all readings. */
  lifetime: AbortSignal;
  /** Called after each reading with what came of it. */
  onRead?(source: string, outcome: string, durationMs: number): void;
}

/** Why nothing is known of the load; `reason` is a CamelCase word. */
export interface LoadProblem {
  readonly reason: string;
  readonly message: string;
}

/** What is known of a Service's load. */
export interface KnownLoad {
  readonly source: string;
  /** Of the last reading that succeeded. */
  readonly load: Load | undefined;
  /** Of the last reading. */
  readonly problem: LoadProblem | undefined;
  /** Until the next reading, milliseconds. */
  readonly dueInMs: number;
}

export interface LoadReader {
  /** What is known now; rejects with the signal's reason. */
  read(key: string, settings: FlowSettings, query: LoadQuery, signal: AbortSignal): Promise<KnownLoad>;
  /** Calls back when a reading came after its reconcile had gone on without it: the Service wants another one. */
  onLate(callback: (key: string) => void): void;
  forget(key: string): void;
}

interface Remembered {
  readonly question: string;
  readonly readAt: number;
  readonly load: Load | undefined;
  readonly problem: LoadProblem | undefined;
}

const problemOf = (error: unknown): LoadProblem =>
  error instanceof LoadError
    ? { reason: error.reason, message: error.message }
    : { reason: 'Unreachable', message: error instanceof Error ? error.message : String(error) };

/** A reading that leaves something out is worth telling, and still counts. */
const partialOf = ({ problems }: LoadReading): LoadProblem | undefined =>
  problems.length === 0 ? undefined : { reason: 'PartialMetrics', message: problems.slice(0, 3).join('; ') };

/** A reading under way. */
interface Asked {
  readonly question: string;
  /** Settles when it is known, or in vain; rejects never. */
  readonly reading: Promise<void>;
  /** Its turn went on without it. */
  late: boolean;
}

type Answer = Pick<Remembered, 'load' | 'problem'>;

/** Asks once, within the time limit; a source that fails leaves what was known before. */
const askOnce = async (
  source: LoadSource,
  query: LoadQuery,
  before: Load | undefined,
  { clock, timeoutMs = 10_000, lifetime, onRead }: LoadReaderOptions,
): Promise<Answer> => {
  const startedAt = clock.monotonic();
  const deadline = createDeadline(clock, timeoutMs, lifetime);
  const done = (outcome: string): void => onRead?.(source.name, outcome, clock.monotonic() - startedAt);
  try {
    const reading = await source.read(query, deadline.signal);
    done('success');
    return { load: reading, problem: partialOf(reading) };
  } catch (error) {
    const timeout = new LoadError('Timeout', `${source.name} did not answer within ${timeoutMs} ms`);
    const problem = problemOf(deadline.expired ? timeout : error);
    done(problem.reason);
    return { load: before, problem };
  } finally {
    deadline.dispose();
  }
};

/** Resolves with true when `work` settles within `limitMs`. */
const settlesWithin = async (work: Promise<void>, limitMs: number, clock: Clock): Promise<boolean> => {
  let cancel = (): void => undefined;
  const expired = new Promise<false>((resolve) => {
    const timer = clock.setTimeout(() => resolve(false), limitMs);
    cancel = () => timer.cancel();
  });
  try {
    return await Promise.race([work.then(() => true), expired]);
  } finally {
    cancel();
  }
};

export const createLoadReader = (options: LoadReaderOptions): LoadReader => {
  const { sources, clock, patienceMs = 200 } = options;
  const known = new Map<string, Remembered>();
  const asked = new Map<string, Asked>();
  const listeners: ((key: string) => void)[] = [];
  const late = (key: string): void => listeners.forEach((listener) => listener(key));

  const ask = (key: string, question: string, source: LoadSource, query: LoadQuery): Asked => {
    const startedAt = clock.monotonic();
    const last = known.get(key);
    const before = last?.question === question ? last.load : undefined;
    const entry: Asked = {
      question,
      late: false,
      reading: askOnce(source, query, before, options).then((answer) => {
        // Another question was asked meanwhile, or the Service is gone.
        if (asked.get(key) !== entry) return;
        asked.delete(key);
        known.set(key, { question, readAt: entry.late ? clock.monotonic() : startedAt, ...answer });
        if (entry.late) late(key);
      }),
    };
    asked.set(key, entry);
    return entry;
  };

  return {
    async read(key, settings, query, signal) {
      const name = settings.source ?? sources.keys().next().value ?? '';
      const source = sources.get(name);
      const intervalMs = settings.intervalSeconds * 1_000;
      if (source === undefined) {
        const message = `no source of load is named ${JSON.stringify(name)} (there are: ${[...sources.keys()].join(', ')})`;
        return { source: name, load: undefined, problem: { reason: 'UnknownSource', message }, dueInMs: intervalMs };
      }
      const question = `${name}\n${settings.query ?? ''}`;
      const now = (): KnownLoad & { readonly isKnown: boolean } => {
        const last = known.get(key);
        const isKnown = last?.question === question;
        const { load, problem, readAt } = isKnown ? last : { load: undefined, problem: undefined, readAt: -Infinity };
        return { source: name, load, problem, dueInMs: Math.max(0, readAt + intervalMs - clock.monotonic()), isKnown };
      };
      const { isKnown, ...current } = now();
      if (isKnown && current.dueInMs > 0) return current;
      const promql = settings.query === undefined ? {} : { promql: settings.query };
      // What others asked for a moment ago will do, but not what is about as old as the interval.
      const maxAgeSeconds = settings.intervalSeconds / 2;
      const running = asked.get(key);
      const entry =
        running?.question === question ? running : ask(key, question, source, { ...query, ...promql, maxAgeSeconds });
      if (!(await settlesWithin(entry.reading, patienceMs, clock))) entry.late = true;
      signal.throwIfAborted();
      const { isKnown: _, ...read } = now();
      return { ...read, dueInMs: entry.late ? intervalMs : read.dueInMs };
    },
    onLate: (callback) => void listeners.push(callback),
    forget(key) {
      known.delete(key);
      asked.delete(key);
    },
  };
};
