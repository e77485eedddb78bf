// The meter's clockwork: follows flows, settles them every other second, reads the whole table now and then, and starts again
// what ended.
import { errorText } from '../../pkg/apis/values.ts';
import { pause } from '../../pkg/kubernetes/wait.ts';
import type { Uses } from '../../pkg/kubernetes/types.ts';
import type { Ledger } from '../../pkg/traffic/ledger.ts';
import type { createConntrack } from './conntrack.ts';

/** The window in which connections become visible: watches report new Services well within it. */
const SETTLE_MS = 2_000;
const RESTART_MS = 5_000;

export const createMeter = (
  options: Uses<'clock' | 'logger'> & {
    readonly conntrack: ReturnType<typeof createConntrack>;
    readonly ledger: Ledger;
    readonly listIntervalMs: number;
    /** Reads again what the node knows of itself; called before each list. */
    refresh(): Promise<void>;
  },
) => {
  const { conntrack, ledger, clock, logger, listIntervalMs, refresh } = options;
  let overruns = 0;
  let listedAt: number | undefined;
  let countingSince: number | undefined;
  let settledAt: number | undefined;
  const problems = new Map<'events' | 'list', string>();

  /** Repeats until the signal aborts; what fails is started again after a pause. */
  const repeat = async (part: 'events' | 'list', once: () => Promise<number>, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      let pauseMs = RESTART_MS;
      try {
        pauseMs = await once();
      } catch (error) {
        if (signal.aborted) return;
        problems.set(part, errorText(error));
        logger.warn('conntrack failed', { part, error });
      }
      await pause(clock, pauseMs, signal);
    }
  };

  const follow = async (signal: AbortSignal): Promise<number> => {
    const ended = new AbortController();
    const healthy = AbortSignal.any([signal, ended.signal]);
    // What fails does so at once: no rights, or no such program.
    const proved = pause(clock, RESTART_MS, healthy).then((over) => over && problems.delete('events'));
    try {
      await conntrack.follow(
        (flow) => ledger.event(flow),
        () => void (overruns += 1),
        signal,
      );
    } finally {
      ended.abort();
      await proved;
    }
    return RESTART_MS;
  };

  const list = async (signal: AbortSignal): Promise<number> => {
    await refresh();
    ledger.beginList();
    await conntrack.list((flow) => ledger.listed(flow), signal);
    ledger.endList();
    listedAt = clock.monotonic();
    countingSince ??= listedAt;
    problems.delete('list');
    return listIntervalMs;
  };

  const secondsSince = (time: number | undefined): number | undefined =>
    time === undefined ? undefined : (clock.monotonic() - time) / 1_000;

  const settle = (): Promise<number> => {
    ledger.settle();
    settledAt = clock.monotonic();
    return Promise.resolve(SETTLE_MS);
  };

  return {
    /** Counts until the signal aborts; resolves then. */
    async run(signal: AbortSignal): Promise<void> {
      await Promise.all([
        repeat('events', () => follow(signal), signal),
        repeat('list', () => list(signal), signal),
        repeat('list', settle, signal),
      ]);
    },
    /** Since the last complete list; undefined before the first. */
    listAgeSeconds: (): number | undefined => secondsSince(listedAt),
    // Not until now: a rate is then connections of whole windows by the time of the same windows, however often it is read.
    /** From the end of the first list, when counting begins, to the window that was closed last; undefined before. */
    countingSeconds: (): number | undefined =>
      countingSince === undefined || settledAt === undefined
        ? undefined
        : Math.max(0, settledAt - countingSince) / 1_000,
    overruns: () => overruns,
    /** Why nothing is counted at present; undefined while all is well. */
    get problem(): string | undefined {
      const all = [...problems.values()];
      if (all.length > 0) return all.join('; ');
      return listedAt === undefined ? 'the conntrack table was not read yet' : undefined;
    },
  };
};
