// SLATE's experiment (NSDI '26) rebuilt from its published curves: four clusters, two classes of requests, one of the clusters hot.
import { type HintsInForce, hintsOf, sharingOf } from '../../../pkg/flow/demand/arrivals.ts';
import { normalOf, randomOf } from '../loop/random.ts';
import { createSampler } from '../loop/sampler.ts';
import type { PlantEndpoint, Rule } from '../loop/types.ts';

export const CLUSTERS = ['central', 'east', 'south', 'west'] as const;

/** Network delay between clusters, milliseconds, from the experiment. */
const DELAYS: Readonly<Record<string, number>> = {
  'east/west': 33,
  'central/west': 15,
  'south/west': 20,
  'central/east': 20,
  'east/south': 15,
  'central/south': 10,
};

export type Delay = (from: string, to: string) => number;

export const publishedDelay: Delay = (from, to) => (from === to ? 0 : (DELAYS[[from, to].sort().join('/')] ?? 0));
/** Zones of one region: from half a millisecond to one and a half, in the proportions of the experiment. */
export const regionalDelay: Delay = (from, to) => (from === to ? 0 : 0.5 + (publishedDelay(from, to) - 10) / (33 - 10));

/** Requests a second at which a cluster is full, by class: measured on one cluster, 60 s each. */
const FULL = { light: 1500, heavy: 740 };

/** Mean milliseconds by utilisation: light from 100 to 1,400 a second, heavy from 100 to 740. */
const LIGHT: readonly (readonly [number, number])[] = [
  [0, 17],
  [1000 / 1500, 18],
  [1100 / 1500, 20.1],
  [1200 / 1500, 23.9],
  [1300 / 1500, 32.3],
  [1400 / 1500, 38.7],
  [1, 60],
];
const HEAVY: readonly (readonly [number, number])[] = [
  [0, 31],
  [200 / 740, 31],
  [400 / 740, 36],
  [500 / 740, 44],
  [600 / 740, 45],
  [700 / 740, 101],
  [1, 140],
];

const interpolated = (curve: typeof LIGHT, at: number): number => {
  const next = curve.findIndex(([from]) => from >= at);
  if (next <= 0) return (next === 0 ? curve[0] : curve.at(-1))?.[1] ?? 0;
  const [[left, below], [right, above]] = [curve[next - 1] ?? [0, 0], curve[next] ?? [1, 0]];
  return below + ((above - below) * (at - left)) / (right - left);
};

/** Requests a second by class. */
export interface Rates {
  readonly light: number;
  readonly heavy: number;
}

export interface Workload {
  readonly name: string;
  readonly west: Rates;
  /** Published means, milliseconds, computed by request from the raw logs. */
  readonly published: { readonly local: number; readonly waterfall: readonly number[]; readonly slate: number };
}

const OTHERS: Rates = { light: 100, heavy: 100 };

const workload = (name: string, light: number, heavy: number, published: Workload['published']): Workload => ({
  name,
  west: { light, heavy },
  published,
});

export const WORKLOADS: readonly Workload[] = [
  workload('W300', 300, 300, { local: 29.1, waterfall: [28.4, 28.4, 28.5], slate: 29.0 }),
  workload('W400', 400, 400, { local: 46.6, waterfall: [39.3, 39.2, 35.8], slate: 29.3 }),
  workload('W500', 500, 500, { local: 98.7, waterfall: [94.0, 42.5, 90.6], slate: 38.0 }),
  workload('W700', 700, 700, { local: 4710, waterfall: [142, 4937, 2857], slate: 892 }),
  workload('Wl800h100', 800, 100, { local: 24.1, waterfall: [24.0, 24.0, 24.6], slate: 25.8 }),
  workload('Wl1000h100', 1000, 100, { local: 47.5, waterfall: [27.9, 31.0, 30.9], slate: 29.0 }),
  workload('Wl1000h300', 1000, 300, { local: 27.8, waterfall: [71.3, 37.7, 36.0], slate: 30.4 }),
  workload('Wl700h300', 700, 300, { local: 35.6, waterfall: [44.0, 41.5, 39.4], slate: 31.4 }),
  workload('Wl300h700', 300, 700, { local: 2404, waterfall: [2404, 1487, 2388], slate: 134 }),
];

export const ratesOf = ({ west }: Workload, cluster: string): Rates => (cluster === 'west' ? west : OTHERS);

/** The part of a cluster that so many requests a second use. */
export const utilizationOf = ({ light, heavy }: Rates): number => light / FULL.light + heavy / FULL.heavy;

/** From each cluster to each cluster, fractions of both classes: hints cannot tell classes apart. */
export type Split = (from: string) => ReadonlyMap<string, number>;

export interface SlateOutcome {
  /** Mean of the requests that were answered within the run, milliseconds. */
  readonly mean: number;
  /** Fraction of the requests sent within the run that were answered within it. */
  readonly completed: number;
}

const RUN_SECONDS = 60;

/** What arrives at one station in a second, with what it had to travel. */
interface Arrival {
  readonly rates: Rates;
  readonly delay: number;
}

/** Stations with backlogs, over the seconds of a run. */
const createStations = (capacities: ReadonlyMap<string, number>) => {
  const backlogs = new Map<string, number>();
  const totals = { answered: 0, time: 0, sent: 0 };
  return {
    /** `second` of the run, or undefined before it begins to count. */
    serve: (second: number | undefined, arrivals: ReadonlyMap<string, readonly Arrival[]>): Map<string, number> => {
      const used = new Map<string, number>();
      for (const [name, capacity] of capacities) {
        const own = arrivals.get(name) ?? [];
        const load = own.reduce((sum, { rates }) => sum + utilizationOf(rates), 0) / capacity;
        const backlog = backlogs.get(name) ?? 0;
        used.set(name, Math.min(1, load + backlog) * capacity);
        backlogs.set(name, Math.max(0, backlog + load - 1));
        if (second === undefined) continue;
        const waiting = 1000 * (backlog + Math.max(0, load - 1) / 2);
        for (const { rates, delay } of own) {
          for (const [rate, curve] of [
            [rates.light, LIGHT],
            [rates.heavy, HEAVY],
          ] as const) {
            totals.sent += rate;
            const time = waiting + delay + interpolated(curve, Math.min(1, load));
            if (1000 * second + time > 1000 * RUN_SECONDS) continue;
            totals.answered += rate;
            totals.time += rate * time;
          }
        }
      }
      return used;
    },
    outcome: (): SlateOutcome => ({ mean: totals.time / totals.answered, completed: totals.answered / totals.sent }),
  };
};

/** One run with a fixed split, one station a cluster; what waits does so from the first second of the run on. */
export const runFixed = (load: Workload, split: Split, delay: Delay, seed: number): SlateOutcome => {
  const normal = normalOf(randomOf(seed));
  const stations = createStations(new Map(CLUSTERS.map((cluster) => [cluster, 1])));
  for (let second = 0; second < RUN_SECONDS; second += 1) {
    const arrivals = new Map<string, Arrival[]>();
    for (const from of CLUSTERS) {
      const rates = noisy(ratesOf(load, from), normal);
      for (const [to, share] of split(from))
        if (share > 0)
          arrivals.set(to, [...(arrivals.get(to) ?? []), { rates: scaled(rates, share), delay: delay(from, to) }]);
    }
    stations.serve(second, arrivals);
  }
  return stations.outcome();
};

/** Exponential gaps between requests: the number in a second has its square root as deviation. */
const noisy = ({ light, heavy }: Rates, normal: () => number): Rates => ({
  light: Math.max(0, light + Math.sqrt(light) * normal()),
  heavy: Math.max(0, heavy + Math.sqrt(heavy) * normal()),
});

const scaled = ({ light, heavy }: Rates, share: number): Rates => ({ light: light * share, heavy: heavy * share });

export const local: Split = (from) => new Map([[from, 1]]);

/** Each class fills its cluster up to `cap` requests a second, then the next nearest with room, as the experiment's peer does. */
export const waterfallByClass =
  (load: Workload, cap: number, delay: Delay): Split =>
  (from) => {
    // Only one cluster exceeds any of the caps, so that only it sends away; the classes have the same rates in all others.
    const total = ratesOf(load, from);
    const over = { light: Math.max(0, total.light - cap), heavy: Math.max(0, total.heavy - cap) };
    const away = (over.light + over.heavy) / (total.light + total.heavy);
    if (away === 0) return local(from);
    const shares = new Map<string, number>([[from, 1 - away]]);
    let rest = over.light + over.heavy;
    const nearest = CLUSTERS.filter((cluster) => cluster !== from).sort((a, b) => delay(from, a) - delay(from, b));
    for (const cluster of nearest) {
      const { light, heavy } = ratesOf(load, cluster);
      const taken = Math.min(rest, Math.max(0, 2 * cap - light - heavy));
      shares.set(cluster, taken / (total.light + total.heavy));
      rest -= taken;
    }
    shares.set(from, 1 - away + rest / (total.light + total.heavy));
    return shares;
  };

/** The best that a split which cannot tell classes apart reaches, by descent over what West sends to each other cluster. */
export const classBlindOptimum = (load: Workload, delay: Delay): Split => {
  const others = CLUSTERS.filter((cluster) => cluster !== 'west');
  const splitOf = (shares: readonly number[]): Split => {
    const west = new Map<string, number>([['west', 1 - shares.reduce((sum, share) => sum + share, 0)]]);
    others.forEach((cluster, index) => west.set(cluster, shares[index] ?? 0));
    return (from) => (from === 'west' ? west : local(from));
  };
  // Judged without noise by everything that was sent: what is not answered counts as a whole run.
  const costOf = (shares: readonly number[]): number => {
    const { mean, completed } = runFixed(load, splitOf(shares), delay, 0);
    return mean * completed + 1000 * RUN_SECONDS * (1 - completed);
  };
  const movesOf = (shares: readonly number[], width: number): number[][] =>
    [...shares.keys()].flatMap((index) =>
      [width, -width]
        .map((change) => shares.map((share, at) => (at === index ? Math.max(0, share + change) : share)))
        .filter((next) => next.reduce((sum, share) => sum + share, 0) <= 1),
    );
  let best = { shares: others.map(() => 0), cost: costOf([]) };
  for (let width = 0.2; width > 0.004;) {
    const [next] = movesOf(best.shares, width)
      .map((shares) => ({ shares, cost: costOf(shares) }))
      .sort((left, right) => left.cost - right.cost);
    if (next !== undefined && next.cost < best.cost - 1e-9) best = next;
    else width /= 2;
  }
  return splitOf(best.shares);
};

/** Before the run counts, a rule has had so long to learn the load, as SLATE's optimiser has learnt its curves. */
const WARM_UP_SECONDS = 600;

/** A rule with so many endpoints a cluster; a split among endpoints of a cluster is even, as kube-proxy's. */
export const runRule = (
  load: Workload,
  createRule: Rule,
  { endpointsEach, everySeconds = 15, delay }: { endpointsEach: number; everySeconds?: number; delay: Delay },
  seed: number,
): SlateOutcome => {
  const rule = createRule();
  const normal = normalOf(randomOf(seed));
  const endpoints: PlantEndpoint[] = CLUSTERS.flatMap((zone) =>
    Array.from({ length: endpointsEach }, (_, index) => ({
      name: `${zone}-${index}`,
      zone,
      capacity: 1 / endpointsEach,
    })),
  );
  const sampler = createSampler({
    name: load.name,
    zones: CLUSTERS,
    durationSeconds: 0,
    demand: () => ({}),
    endpoints: () => endpoints,
  });
  const stations = createStations(new Map(endpoints.map(({ name, capacity }) => [name, capacity])));
  const demand = Object.fromEntries(CLUSTERS.map((cluster) => [cluster, utilizationOf(ratesOf(load, cluster))]));
  let shares = sharesOfHints({ spread: false, endpoints: [] }, endpoints);
  let loads: ReadonlyMap<string, number> = new Map();
  for (let time = 0; time < WARM_UP_SECONDS + RUN_SECONDS; time += 1) {
    if (time % everySeconds === 0) {
      const plan = rule({
        observation: {
          time,
          zones: CLUSTERS,
          window: 15,
          endpoints: endpoints.map(({ name, zone, capacity }) => {
            const { load: sampled = null, at = null } = sampler.latest(name, time) ?? {};
            return { name, zone, capacity, ready: true, load: sampled, sampledAt: at };
          }),
        },
        trueDemand: demand,
        endpoints,
        loads,
        asked: demand,
      });
      if (plan !== undefined) shares = 'weights' in plan ? plan.weights : sharesOfHints(plan, endpoints);
    }
    const arrivals = new Map<string, Arrival[]>();
    for (const from of CLUSTERS) {
      const rates = noisy(ratesOf(load, from), normal);
      const given = shares.get(from) ?? new Map<string, number>();
      const sum = [...given.values()].reduce((all, share) => all + share, 0);
      for (const { name, zone } of endpoints) {
        const share = sum > 0 ? (given.get(name) ?? 0) / sum : 1 / endpoints.length;
        if (share > 0)
          arrivals.set(name, [
            ...(arrivals.get(name) ?? []),
            { rates: scaled(rates, share), delay: delay(from, zone) },
          ]);
      }
    }
    loads = stations.serve(time < WARM_UP_SECONDS ? undefined : time - WARM_UP_SECONDS, arrivals);
    for (const [name, used] of loads) sampler.record(time, name, used);
  }
  return stations.outcome();
};

const sharesOfHints = (
  plan: HintsInForce,
  endpoints: readonly PlantEndpoint[],
): ReadonlyMap<string, ReadonlyMap<string, number>> => {
  const hints = hintsOf(plan);
  const { orphans } = sharingOf(CLUSTERS, endpoints, plan);
  return new Map(
    CLUSTERS.map((zone) => [
      zone,
      new Map(
        endpoints
          .filter((endpoint) => orphans.includes(zone) || hints(endpoint).includes(zone))
          .map(({ name }) => [name, 1]),
      ),
    ]),
  );
};
