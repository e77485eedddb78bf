// What stands around the simulated Service: metrics and meters that show its load, and what scales it.
import type { MeasuredDemand } from '../../../pkg/flow/loop/types.ts';
import { normalOf, randomOf } from './random.ts';
import type { PlantEndpoint, Scenario } from './types.ts';

// Replicas that follow mean utilisation as a HorizontalPodAutoscaler makes them: up at once, down after five minutes.

const PERIOD_SECONDS = 15;
const START_SECONDS = 30;
const DOWN_SECONDS = 300;
const TOLERANCE = 0.1;

interface Replica extends PlantEndpoint {
  readonly readyAt: number;
}

export interface Autoscaler {
  endpoints(time: number): readonly PlantEndpoint[];
  /** `utilization`: mean over the endpoints, as a fraction of capacity. */
  tick(time: number, utilization: number): void;
}

export const createAutoscaler = (
  { zones, endpoints: initial }: Pick<Scenario, 'zones' | 'endpoints'>,
  { target, capacity, most }: NonNullable<Scenario['autoscaler']>,
): Autoscaler => {
  let replicas: Replica[] = initial(0).map((endpoint) => ({ ...endpoint, readyAt: 0 }));
  let made = 0;
  let recent: { time: number; utilization: number }[] = [];
  const wanted: { time: number; count: number }[] = [];
  const ready = (time: number): Replica[] => replicas.filter(({ readyAt }) => readyAt <= time);
  /** The scheduler evens zones out: a new replica goes where the fewest are, and one goes from where the most are. */
  const add = (time: number): void => {
    const count = (zone: string): number => replicas.filter((replica) => replica.zone === zone).length;
    const [zone = ''] = [...zones].sort((left, right) => count(left) - count(right) || (left < right ? -1 : 1));
    made += 1;
    replicas.push({ name: `scaled-${String(made).padStart(3, '0')}`, zone, capacity, readyAt: time + START_SECONDS });
  };
  const remove = (): void => {
    const count = (zone: string): number => replicas.filter((replica) => replica.zone === zone).length;
    const [zone = ''] = [...zones].sort((left, right) => count(right) - count(left) || (left < right ? -1 : 1));
    const last = replicas.findLastIndex((replica) => replica.zone === zone);
    replicas = replicas.filter((_, index) => index !== last);
  };
  return {
    endpoints: (time) => ready(time).map(({ name, zone, capacity: own }) => ({ name, zone, capacity: own })),
    tick: (time, utilization) => {
      recent = [...recent.filter((entry) => entry.time > time - PERIOD_SECONDS), { time, utilization }];
      if (time % PERIOD_SECONDS !== 0 || time === 0) return;
      const mean = recent.reduce((sum, entry) => sum + entry.utilization, 0) / recent.length;
      const ratio = mean / target;
      const count = Math.abs(ratio - 1) <= TOLERANCE ? replicas.length : Math.ceil(ready(time).length * ratio);
      wanted.push({ time, count: Math.min(most, Math.max(1, count)) });
      const stabilised = wanted
        .filter((entry) => entry.time >= time - DOWN_SECONDS)
        .reduce((top, entry) => Math.max(top, entry.count), 1);
      while (replicas.length < Math.min(most, count)) add(time);
      while (replicas.length > stabilised) remove();
    },
  };
};

// What traffic-meters show of a simulated Service: new connections by zone, in windows of two seconds.

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

// Metrics as a cluster has them: load averaged over windows, and late.

/** Kubelet's averaging and metrics-server's scraping, seconds. */
export const WINDOW = 15;
export const LATE = 15;

interface Sample {
  /** End of the window. */
  readonly at: number;
  readonly load: number;
}

interface Series {
  sum: number;
  seconds: number;
  /** Oldest first; only what may still be asked for. */
  samples: Sample[];
}

/** Most seconds that a sample may be asked for after its end, with room for a gap. */
const KEPT = 3600;

export interface Sampler {
  /** The load of an endpoint in the second from `time` on. */
  record(time: number, name: string, load: number): void;
  /** The newest sample that is known at a time. */
  latest(name: string, time: number): Sample | undefined;
}

/** Windows of all endpoints end together. */
export const createSampler = ({ metricsGap: [from, to] = [Infinity, Infinity] }: Scenario): Sampler => {
  const series = new Map<string, Series>();
  return {
    record: (time, name, load) => {
      let one = series.get(name);
      if (one === undefined) {
        one = { sum: 0, seconds: 0, samples: [] };
        series.set(name, one);
      }
      one.sum += load;
      one.seconds += 1;
      if ((time + 1) % WINDOW !== 0) return;
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
