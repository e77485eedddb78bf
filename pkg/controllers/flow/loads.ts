// Reads the load of Services, each at its own interval, whatever else makes the reconciler look at it in between.
import { errorText } from '../../apis/values.ts';
import type { Problem } from '../../flow/assemble/conditions.ts';
import type { Load } from '../../flow/assemble/turn.ts';
import type { FlowSettings } from '../../flow/loop/from-spec.ts';
import { createDeadline, within } from '../../kubernetes/wait.ts';
import type { Uses } from '../../kubernetes/types.ts';
import { LoadError, type LoadQuery, type LoadSource } from '../../metrics/types.ts';

export interface LoadReaderOptions extends Uses<'clock'> {
  /** By name; the first one is the default. */
  sources: ReadonlyMap<string, LoadSource>;
  lifetime: AbortSignal;
  /** Called after each reading with what came of it. */
  onRead?(source: string, outcome: string, durationMs: number): void;
  /** A reading came after its reconcile had gone on without it: the Service wants another one. */
  onLate(key: string): void;
}

export interface KnownLoad {
  readonly source: string;
  readonly load: Load | undefined;
  /** Of the last reading. */
  readonly problem: Problem | undefined;
  /** Until the next reading, milliseconds. */
  readonly dueInMs: number;
  /** A reading is under way, and calls back when it is there. */
  readonly awaited?: boolean;
}

interface Remembered extends Pick<KnownLoad, 'load' | 'problem'> {
  readonly question: string;
  readonly readAt: number;
  /** When the reading with the newest sample was made, monotonic milliseconds, and how long after the one before it that sample ended. */
  readonly newAt: number;
  readonly cadenceMs: number;
}

/** Longest time for one reading, and longest that a reconcile waits for it: a source that hangs must not keep others waiting. */
const TIMEOUT_MS = 10_000;
const PATIENCE_MS = 200;
/** Where neither the policy nor the source says otherwise: that of metrics-server. */
const DEFAULT_INTERVAL_SECONDS = 15;
/** A source whose next sample is due is asked again after this part of the interval, and after a new one that much before the next is due. */
const OVERDUE = 1 / 5;
const EARLIER = 1 / 15;

/** End of the newest window, seconds since 1970; undefined without any. */
const newestOf = (load: Load | undefined): number | undefined => {
  const pods = load?.kind === 'zone-pairs' ? (load.counts?.pods ?? []) : [];
  const ends = [...(load?.samples ?? []), ...pods].map(({ sampledAt }) => sampledAt);
  return ends.length === 0 ? undefined : ends.reduce((newest, end) => Math.max(newest, end));
};

/** What a reading adds to what is remembered of when the source has something new. */
const cadenceOf = (
  before: Remembered | undefined,
  load: Load | undefined,
  readAt: number,
  intervalMs: number,
): Pick<Remembered, 'newAt' | 'cadenceMs'> => {
  const [last, now] = [newestOf(before?.load), newestOf(load)];
  if (before !== undefined && now === last) return before;
  return { newAt: readAt, cadenceMs: last === undefined || now === undefined ? intervalMs : (now - last) * 1_000 };
};

interface Asked {
  readonly question: string;
  /** Settles when it is known or could not be read; never rejects. */
  readonly reading: Promise<void>;
  /** Its reconcile went on without it. */
  late: boolean;
}

/** Asks once, within the time limit; a source that fails leaves what was known before. */
const askOnce = async (
  source: LoadSource,
  query: LoadQuery,
  before: Load | undefined,
  { clock, lifetime, onRead }: LoadReaderOptions,
): Promise<Pick<KnownLoad, 'load' | 'problem'>> => {
  const startedAt = clock.monotonic();
  using deadline = createDeadline(clock, TIMEOUT_MS, lifetime);
  const done = (outcome: string): void => onRead?.(source.name, outcome, clock.monotonic() - startedAt);
  try {
    const reading = await source.read(query, deadline.signal);
    done('success');
    // A partial reading is reported, and still used.
    const message = reading.problems.slice(0, 3).join('; ');
    return { load: reading, problem: message === '' ? undefined : { reason: 'PartialMetrics', message } };
  } catch (error) {
    const timeout = `${source.name} did not answer within ${TIMEOUT_MS} ms`;
    const failure = error instanceof LoadError ? error.reason : 'Unreachable';
    const reason = deadline.expired ? 'Timeout' : failure;
    done(reason);
    return { load: before, problem: { reason, message: deadline.expired ? timeout : errorText(error) } };
  }
};

export const createLoadReader = (options: LoadReaderOptions) => {
  const { sources, clock } = options;
  const known = new Map<string, Remembered>();
  const asked = new Map<string, Asked>();

  const ask = (key: string, question: string, source: LoadSource, query: LoadQuery, intervalMs: number): Asked => {
    const startedAt = clock.monotonic();
    const last = known.get(key);
    const before = last?.question === question ? last : undefined;
    const entry: Asked = {
      question,
      late: false,
      reading: askOnce(source, query, before?.load, options).then((answer) => {
        // Another question was asked meanwhile, or the Service is gone.
        if (asked.get(key) !== entry) return;
        asked.delete(key);
        const readAt = entry.late ? clock.monotonic() : startedAt;
        known.set(key, { ...cadenceOf(before, answer.load, readAt, intervalMs), question, readAt, ...answer });
        if (entry.late) options.onLate(key);
      }),
    };
    asked.set(key, entry);
    return entry;
  };

  return {
    /** What is known now; rejects with the signal's reason. */
    async read(key: string, settings: FlowSettings, query: LoadQuery, signal: AbortSignal): Promise<KnownLoad> {
      const name = settings.source ?? sources.keys().next().value ?? '';
      const source = sources.get(name);
      const intervalMs = (settings.intervalSeconds ?? source?.intervalSeconds ?? DEFAULT_INTERVAL_SECONDS) * 1_000;
      if (source === undefined) {
        const message = `no source of load is named ${JSON.stringify(name)} (there are: ${[...sources.keys()].join(', ')})`;
        return { source: name, load: undefined, problem: { reason: 'UnknownSource', message }, dueInMs: intervalMs };
      }
      const question = `${name}\n${settings.query ?? ''}`;
      /**
       * Readings come a little earlier each time until one is too early for the next sample, which is then waited for closely: a
       * sample is read soon after it can be known, and not half an interval later.
       */
      const pauseMs = ({ load, newAt, cadenceMs, readAt }: Remembered): number => {
        if (settings.intervalSeconds !== undefined) return intervalMs;
        const [dueAt, closelyMs] = [newAt + cadenceMs, OVERDUE * intervalMs];
        const age = clock.now() - clock.monotonic() + readAt - 1_000 * (newestOf(load) ?? Infinity);
        // A sample that is made when it is asked for has no time of its own.
        if (readAt === newAt) return age > EARLIER * intervalMs ? intervalMs - EARLIER * intervalMs : intervalMs;
        return readAt >= dueAt - closelyMs && readAt < dueAt + intervalMs ? closelyMs : intervalMs;
      };
      const now = (): KnownLoad | undefined => {
        const last = known.get(key);
        if (last?.question !== question) return undefined;
        const { load, problem, readAt } = last;
        return { source: name, load, problem, dueInMs: Math.max(0, readAt + pauseMs(last) - clock.monotonic()) };
      };
      const current = now();
      if (current !== undefined && current.dueInMs > 0) return current;
      const promql = settings.query === undefined ? {} : { promql: settings.query };
      // What others asked for a moment ago will do, but not what is about as old as the pause before.
      const last = known.get(key);
      const maxAgeSeconds = (last === undefined ? intervalMs : pauseMs(last)) / 2_000;
      const running = asked.get(key);
      const entry =
        running?.question === question
          ? running
          : ask(key, question, source, { ...query, ...promql, maxAgeSeconds }, intervalMs);
      if (!(await within(entry.reading, PATIENCE_MS, clock))) entry.late = true;
      signal.throwIfAborted();
      const read = now() ?? { source: name, load: undefined, problem: undefined, dueInMs: 0 };
      return entry.late ? { ...read, dueInMs: intervalMs, awaited: true } : read;
    },
    forget(key: string): void {
      known.delete(key);
      asked.delete(key);
    },
  };
};

export type LoadReader = ReturnType<typeof createLoadReader>;
