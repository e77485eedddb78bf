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
  read(key: string, settings: FlowSettings, query: LoadQuery, signal: AbortSignal): Promise<KnownLoad>;
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

export const createLoadReader = (options: LoadReaderOptions): LoadReader => {
  const { sources, clock, timeoutMs = 10_000, onRead } = options;
  const known = new Map<string, Remembered>();

  const ask = async (source: LoadSource, query: LoadQuery, signal: AbortSignal): Promise<LoadReading> => {
    const deadline = createDeadline(clock, timeoutMs, signal);
    try {
      return await source.read(query, deadline.signal);
    } catch (error) {
      if (deadline.expired) throw new LoadError('Timeout', `${source.name} did not answer within ${timeoutMs} ms`);
      throw error;
    } finally {
      deadline.dispose();
    }
  };

  const readNow = async (
    source: LoadSource,
    query: LoadQuery,
    before: Load | undefined,
    signal: AbortSignal,
  ): Promise<Pick<Remembered, 'load' | 'problem'>> => {
    const startedAt = clock.monotonic();
    try {
      const reading = await ask(source, query, signal);
      onRead?.(source.name, 'success', clock.monotonic() - startedAt);
      return { load: reading, problem: partialOf(reading) };
    } catch (error) {
      signal.throwIfAborted();
      const problem = problemOf(error);
      onRead?.(source.name, problem.reason, clock.monotonic() - startedAt);
      return { load: before, problem };
    }
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
      const last = known.get(key);
      const same = last?.question === question ? last : undefined;
      const dueInMs = same === undefined ? 0 : same.readAt + intervalMs - clock.monotonic();
      if (same !== undefined && dueInMs > 0) return { source: name, load: same.load, problem: same.problem, dueInMs };
      const readAt = clock.monotonic();
      const promql = settings.query === undefined ? {} : { promql: settings.query };
      const read = await readNow(source, { ...query, ...promql }, same?.load, signal);
      known.set(key, { question, readAt, ...read });
      return { source: name, ...read, dueInMs: Math.max(0, readAt + intervalMs - clock.monotonic()) };
    },
    forget: (key) => void known.delete(key),
  };
};
