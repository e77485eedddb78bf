// What traffic-meters show of a simulated Service: new connections by zone, in windows of two seconds.
import type { MeasuredDemand } from '../../../pkg/flow/loop/types.ts';
import { normalOf, randomOf } from './random.ts';

/** Of the meter, which settles new flows so often and shows a window when it is closed; read as often. */
export const COUNTED_SECONDS = 2;
/** So many connections are served by a core. */
const CONNECTIONS_PER_CORE = 100;

/** New connections from one zone to another; cores that they take. */
export interface Opened {
  readonly from: string;
  readonly to: string;
  readonly load: number;
}

export interface Counter {
  /** Connections that were opened in the second from `time` on. */
  record(time: number, opened: readonly Opened[]): void;
  /** The newest window that is shown at a time. */
  latest(time: number): MeasuredDemand | undefined;
}

export const createCounter = (seed: number): Counter => {
  // Noise of its own: that of the other rules stays as it is without it.
  const normal = normalOf(randomOf(seed + 7_919));
  let pairs = new Map<string, Opened>();
  const windows: MeasuredDemand[] = [];

  const close = (at: number): MeasuredDemand => {
    const demand: Record<string, number> = {};
    const to: Record<string, number> = {};
    for (const { from, to: zone, load } of pairs.values()) {
      const mean = load * CONNECTIONS_PER_CORE;
      // As many as chance has it: a Poisson distribution, nearly.
      const rate = Math.max(0, Math.round(mean + Math.sqrt(mean) * normal())) / COUNTED_SECONDS;
      demand[from] = (demand[from] ?? 0) + rate;
      to[zone] = (to[zone] ?? 0) + rate;
    }
    pairs = new Map();
    return { demand, sampledAt: at, counts: { unit: 'Connection', to, window: COUNTED_SECONDS } };
  };

  return {
    record(time, opened) {
      for (const one of opened) {
        const key = `${one.from} ${one.to}`;
        pairs.set(key, { ...one, load: one.load + (pairs.get(key)?.load ?? 0) });
      }
      if ((time + 1) % COUNTED_SECONDS !== 0) return;
      windows.push(close(time + 1));
      if (windows.length > 3) windows.shift();
    },
    latest: (time) => windows.findLast(({ sampledAt }) => sampledAt <= time - COUNTED_SECONDS),
  };
};
