// How long requests take: each endpoint is a queue whose service takes 10 ms of its capacity on average, each crossing 1 ms.
import type { PlantEndpoint } from './types.ts';

const SERVICE_MS = 10;
const CROSSING_MS = 1;
/** Clients give up after that: no queue holds more work. */
const LONGEST_WAIT_MS = 10_000;
/** The stationary formula ends below full load; beyond it the backlog counts. */
const FULLEST = 0.98;
/** Waits and means are counted in steps of 2 %. */
const STEP = Math.log(1.02);

interface Flow {
  readonly zone: string;
  readonly name: string;
  readonly load: number;
}

export interface Latency {
  /** The next second. `load`: cores that the clients of a zone ask of an endpoint. */
  tick(flows: readonly Flow[], endpoints: readonly PlantEndpoint[]): void;
  /** Milliseconds. */
  quantile(fraction: number): number;
}

const rounded = (value: number): number => Math.round(Math.log(value) / STEP);

/**
 * In a second with utilisation ρ below 1 the answer times of an M/M/1 queue are exponential with mean service / (1 − ρ); work above
 * capacity waits in a backlog, and what arrives waits for it. Requests are weighed by the work that they ask for.
 */
export const createLatency = (): Latency => {
  const backlogs = new Map<string, number>();
  /** Work by constant part and mean of the exponential part, both as logarithms. */
  const seen = new Map<string, { readonly constant: number; readonly mean: number; work: number }>();
  const count = (constant: number, mean: number, work: number): void => {
    const key = `${rounded(1 + constant)}/${rounded(mean)}`;
    const one = seen.get(key);
    if (one === undefined) seen.set(key, { constant, mean, work });
    else one.work += work;
  };
  return {
    tick: (flows, endpoints) => {
      const byName = new Map<string, { own: number; crossing: number }>();
      const zoneOf = new Map(endpoints.map(({ name, zone }) => [name, zone]));
      for (const { zone, name, load } of flows) {
        const one = byName.get(name) ?? { own: 0, crossing: 0 };
        one[zoneOf.get(name) === zone ? 'own' : 'crossing'] += load;
        byName.set(name, one);
      }
      for (const { name, capacity } of endpoints) {
        const { own, crossing } = byName.get(name) ?? { own: 0, crossing: 0 };
        const backlog = backlogs.get(name) ?? 0;
        const mean = SERVICE_MS / (1 - Math.min(FULLEST, (own + crossing) / capacity));
        const wait = (1000 * backlog) / capacity;
        if (own > 0) count(wait, mean, own);
        if (crossing > 0) count(wait + CROSSING_MS, mean, crossing);
        const after = Math.max(0, backlog + own + crossing - capacity);
        backlogs.set(name, Math.min(after, (capacity * LONGEST_WAIT_MS) / 1000));
      }
    },
    quantile: (fraction) => {
      const parts = [...seen.values()];
      const all = parts.reduce((sum, { work }) => sum + work, 0);
      const above = (time: number): number =>
        parts.reduce(
          (sum, { constant, mean, work }) => sum + work * (time <= constant ? 1 : Math.exp(-(time - constant) / mean)),
          0,
        );
      let [low, high] = [0, 100 * LONGEST_WAIT_MS];
      for (let halving = 0; halving < 60; halving += 1) {
        const middle = (low + high) / 2;
        if (above(middle) > (1 - fraction) * all) low = middle;
        else high = middle;
      }
      return high;
    },
  };
};
