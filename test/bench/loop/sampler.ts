// Metrics as a cluster has them: load averaged over windows, and late.
import type { Scenario } from './types.ts';

/** Kubelet's averaging and metrics-server's scraping, seconds. */
export const WINDOW = 15;
export const LATE = 15;

interface Sample {
  /** End of the window. */
  readonly at: number;
  readonly load: number;
}

interface Series {
  /** Second of the window that the endpoint's windows end at. */
  readonly phase: number;
  sum: number;
  seconds: number;
  /** Oldest first; only what may still be asked for. */
  samples: Sample[];
}

/** Most seconds that a sample may be asked for after its end, with room for a gap. */
const KEPT = 3600;

/** A number that only depends on the name. */
const hashOf = (name: string): number =>
  Array.from(name, (letter) => letter.charCodeAt(0)).reduce((sum, code) => (sum * 31 + code) % 9973, 7);

export interface Sampler {
  /** The load of an endpoint in the second from `time` on. */
  record(time: number, name: string, load: number): void;
  /** The newest sample that is known at a time. */
  latest(name: string, time: number): Sample | undefined;
}

/** Windows of all endpoints end together, or where the scenario says so each at a time of its own. */
export const createSampler = ({
  staggered = false,
  metricsGap: [from, to] = [Infinity, Infinity],
}: Scenario): Sampler => {
  const series = new Map<string, Series>();
  return {
    record: (time, name, load) => {
      let one = series.get(name);
      if (one === undefined) {
        one = { phase: staggered ? hashOf(name) % WINDOW : 0, sum: 0, seconds: 0, samples: [] };
        series.set(name, one);
      }
      one.sum += load;
      one.seconds += 1;
      if ((time + 1) % WINDOW !== one.phase) return;
      // A window that the endpoint was not there for the whole of is none.
      if (one.seconds === WINDOW) one.samples.push({ at: time + 1, load: one.sum / WINDOW });
      one.samples = one.samples.filter(({ at }) => at > time - KEPT);
      one.sum = 0;
      one.seconds = 0;
    },
    latest: (name, time) =>
      series.get(name)?.samples.findLast(({ at }) => at <= time - LATE && !(at + LATE >= from && at + LATE < to)),
  };
};
