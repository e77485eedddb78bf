// Traffic as it goes: one reading after the other, from wherever the flags say.
import { UsageError } from './errors.ts';
import type { InputFlags } from './flags.ts';
import type { Io } from './io.ts';
import { openMeters, readFromPrometheus } from './measured-flags.ts';
import type { SourceFlags } from './measured-flags.ts';
import { connect, load } from './session.ts';
import { averageBetween, averageOf, pairsWith } from '../../pkg/traffic/meter-reading.ts';
import type { ReadingPair } from '../../pkg/traffic/meter-reading.ts';
import type { Measured } from '../../pkg/traffic/measured.ts';

export interface LiveTraffic {
  /** The first is the average since the meters began; each later one is of the time since the one before. */
  next(signal: AbortSignal): Promise<Measured>;
  /** Milliseconds between two readings, where nothing else is asked for. */
  readonly intervalMs: number;
  close(): Promise<void>;
}

const METER_INTERVAL_MS = 2_000;
/** As often as Prometheus scrapes, mostly. */
const PROMETHEUS_INTERVAL_MS = 15_000;
const CLOSE_NOTHING = (): Promise<void> => Promise.resolve();

const fromMeters = async (flags: InputFlags & SourceFlags, io: Io): Promise<LiveTraffic> => {
  const { client } = await connect(flags);
  const read = await openMeters(client, flags, io);
  let pairs: readonly ReadingPair[] = [];
  return {
    intervalMs: METER_INTERVAL_MS,
    async next(signal) {
      const { readings, notes } = await read(signal);
      const isFirst = pairs.length === 0;
      pairs = pairsWith(pairs, readings);
      return isFirst ? averageOf(readings, notes) : averageBetween(pairs, notes);
    },
    close: () => client.close(),
  };
};

/** @throws UsageError where the flags name no source that can be read. */
export const openTraffic = async (flags: InputFlags & SourceFlags, io: Io): Promise<LiveTraffic> => {
  const { prometheus, filename, window } = flags;
  if (window !== undefined && prometheus === undefined) throw new UsageError('--window goes with --prometheus');
  if (prometheus !== undefined) {
    const next = (): Promise<Measured> => readFromPrometheus(prometheus, flags, io);
    return { intervalMs: PROMETHEUS_INTERVAL_MS, next, close: CLOSE_NOTHING };
  }
  if (filename === undefined) return fromMeters(flags, io);
  const { traffic } = (await load({ filename }, ['services'], io)).snapshot;
  if (traffic === undefined) throw new UsageError('the files hold no measured traffic');
  return { intervalMs: METER_INTERVAL_MS, next: () => Promise.resolve(traffic), close: CLOSE_NOTHING };
};
