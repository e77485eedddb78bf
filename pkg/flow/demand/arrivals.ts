// Demand that is counted in connections (or megabytes) a second instead of cores: how it is smoothed, and what one of them costs,
// learned from the CPU of the endpoints that they arrived at. And who serves which zone's clients under hints, by kube-proxy's rules.
import { type Demand, type FlowEndpoint, type PlannedEndpoint, amountOf } from '../types.ts';

/** What came between two readings, a second. */
export interface Arrivals {
  /** End of the window, seconds. */
  readonly at: number;
  /** Seconds. */
  readonly window: number;
  /** By zone of the clients. */
  readonly from: Demand;
  /** By zone of the endpoints. */
  readonly to: Demand;
}

/** CPU of all ready endpoints of a zone over one window. */
export interface ZoneCpu {
  readonly zone: string;
  /** Cores, without what endpoints use when nothing arrives. */
  readonly cores: number;
  /** End of the window, seconds. */
  readonly at: number;
  readonly window: number;
}

/**
 * What is known of the cores that one unit a second takes: sums over what was observed, which old observations leave.
 *
 * With variance in proportion to what arrives, cores per unit are Σ cores / Σ units, and what is left of Σ cores² / units says how
 * sure that is.
 */
export interface CoresPerUnit {
  readonly units: number;
  readonly cores: number;
  readonly squares: number;
  /** Observations, each weighted by its age. */
  readonly count: number;
  /** Of the newest observation, seconds. */
  readonly at: number;
}

/** What a unit takes changes with releases and with what is asked: after this many seconds an observation counts half. */
const HALF_LIFE_SECONDS = 600;

/** Cores that one unit a second takes, and the standard deviation of that as a fraction; undefined before anything is known. */
export const coresPerUnit = (
  known: CoresPerUnit | null,
): { readonly cores: number; readonly uncertainty: number } | undefined => {
  if (known === null || known.units <= 0 || known.cores <= 0) return undefined;
  const { units, cores, squares, count } = known;
  const mean = cores / units;
  if (count <= 1) return { cores: mean, uncertainty: 1 };
  const variance = Math.max(0, squares - mean * cores) / (count - 1);
  return { cores: mean, uncertainty: Math.min(1, Math.sqrt(variance / units) / mean) };
};

/** Adds one observation; what arrives nowhere says nothing. */
const learn = (known: CoresPerUnit | null, units: number, { cores, at }: ZoneCpu): CoresPerUnit | null => {
  if (!(units > 0)) return known;
  const before = known ?? { units: 0, cores: 0, squares: 0, count: 0, at };
  const kept = 0.5 ** (Math.max(0, at - before.at) / HALF_LIFE_SECONDS);
  return {
    units: kept * before.units + units,
    cores: kept * before.cores + cores,
    squares: kept * before.squares + (cores * cores) / units,
    count: kept * before.count + 1,
    at: Math.max(at, before.at),
  };
};

/** Arrivals of each zone's endpoints over a window; undefined where not all of it was observed. */
const arrivedIn = (past: readonly Arrivals[], zone: string, from: number, until: number): number | undefined => {
  let [sum, covered] = [0, 0];
  for (const { at, window, to } of past) {
    const overlap = Math.max(0, Math.min(at, until) - Math.max(at - window, from));
    covered += overlap;
    sum += overlap * amountOf(to, zone);
  }
  return covered >= 0.9 * (until - from) ? sum / covered : undefined;
};

/** Learns from the CPU of zones whose arrivals were observed over the same time. */
export const learnFrom = (
  known: CoresPerUnit | null,
  past: readonly Arrivals[],
  cpu: readonly ZoneCpu[],
): CoresPerUnit | null =>
  cpu.reduce((sum, zone) => {
    const units = arrivedIn(past, zone.zone, zone.at - zone.window, zone.at);
    return units === undefined ? sum : learn(sum, units, zone);
  }, known);

/** Windows are averaged for at most so long, as far as they agree. */
const AVERAGED_SECONDS = 60;
/** Noise of a rate beside that of counting, as a fraction of it. */
const NOISE = 0.1;
/** So many standard deviations are a jump. */
const SURPRISE = 3;

/** Whether there is a zone in which one window is above the other by more than counting and noise explain. */
const exceeds = (left: Arrivals, right: Arrivals): boolean =>
  [...new Set([...Object.keys(left.from), ...Object.keys(right.from)])].some((zone) => {
    const [one, other] = [amountOf(left.from, zone), amountOf(right.from, zone)];
    const deviation = (rate: number, seconds: number): number => rate / Math.max(seconds, 1e-3) + (NOISE * rate) ** 2;
    // One more arrival is no surprise where there were none.
    const least = 1 / Math.max(1e-3, Math.min(left.window, right.window));
    return one - other > least + SURPRISE * Math.sqrt(deviation(one, left.window) + deviation(other, right.window));
  });

/**
 * The rates by client zone that hold now: the mean of the newest windows that agree with the newest; and whether some zone's newest window is
 * above, or below, the ones before it by more than noise explains.
 */
export const steadyRate = (past: readonly Arrivals[]) => {
  const newest = past.at(-1);
  if (newest === undefined) return undefined;
  const taken: Arrivals[] = [];
  let before: Arrivals | undefined;
  for (const arrivals of [...past].reverse()) {
    if (newest.at - arrivals.at >= AVERAGED_SECONDS) break;
    if (exceeds(newest, arrivals) || exceeds(arrivals, newest)) {
      before = arrivals;
      break;
    }
    taken.push(arrivals);
  }
  const seconds = taken.reduce((sum, { window }) => sum + window, 0);
  const rates = new Map<string, number>();
  for (const { from, window } of taken) {
    for (const [zone, rate] of Object.entries(from))
      rates.set(zone, (rates.get(zone) ?? 0) + (rate * window) / seconds);
  }
  const other = taken.length === 1 ? before : undefined;
  const rose = other !== undefined && exceeds(newest, other);
  const fell = other !== undefined && exceeds(other, newest);
  return { rates: Object.fromEntries(rates), rose, fell };
};

/** Windows of the time that CPU samples may still be about, the newest last; the same window twice is one. */
export const remembered = (past: readonly Arrivals[], newest: Arrivals, keepSeconds: number): readonly Arrivals[] =>
  newest.at <= (past.at(-1)?.at ?? -Infinity)
    ? past
    : [...past, newest].filter(({ at }) => at > newest.at - keepSeconds);

export interface HintsInForce {
  /** No endpoint has a hint: every client uses every endpoint. */
  readonly spread: boolean;
  /** In name order; an endpoint that is not named is hinted for its own zone, as admission does, or for none without a zone. */
  readonly endpoints: readonly PlannedEndpoint[];
}

type Endpoint = Pick<FlowEndpoint, 'name' | 'zone'>;

export type HintsOf = (endpoint: Endpoint) => readonly string[];

export const hintsOf = ({ spread, endpoints }: HintsInForce): HintsOf => {
  if (spread) return () => [];
  const hinted = new Map(endpoints.map(({ name, forZones }) => [name, forZones]));
  return ({ name, zone }) => hinted.get(name) ?? (zone === '' ? [] : [zone]);
};

/** How ready endpoints share the clients of the zones, which are in name order: one endpoint without a hint makes proxies ignore all of them. */
export const sharingOf = (zones: readonly string[], endpoints: readonly Endpoint[], hints: HintsInForce) => {
  const counts = new Map(zones.map((zone) => [zone, 0]));
  const given = hintsOf(hints);
  const ignored = endpoints.some((endpoint) => given(endpoint).length === 0);
  const hinted: HintsOf = ignored ? () => [] : given;
  for (const endpoint of endpoints) {
    for (const zone of hinted(endpoint)) {
      const count = counts.get(zone);
      if (count !== undefined) counts.set(zone, count + 1);
    }
  }
  const sharers = zones.map((zone) => counts.get(zone) ?? 0);
  return {
    zones,
    /** Endpoints that serve each zone; a zone that no endpoint is hinted for uses all. */
    sharers: sharers.map((count) => (count === 0 ? endpoints.length : count)),
    /** Zones that no endpoint is hinted for. */
    orphans: zones.filter((_, index) => sharers[index] === 0),
  };
};

/** The plan with these endpoints: those that it does not know serve their own zone. */
export const planFor = (plan: HintsInForce, endpoints: readonly FlowEndpoint[]): HintsInForce => {
  if (plan.spread) return { spread: true, endpoints: [] };
  const hints = hintsOf(plan);
  return {
    spread: false,
    endpoints: endpoints.map((endpoint) => ({ name: endpoint.name, forZones: hints(endpoint) })),
  };
};

export const endpointsWithHints = (plan: HintsInForce, endpoints: readonly FlowEndpoint[]): FlowEndpoint[] => {
  const hints = hintsOf(plan);
  return endpoints.map(({ name, zone, capacity }) => ({ name, zone, capacity, forZones: hints({ name, zone }) }));
};

export const samePlan = (left: HintsInForce, right: HintsInForce): boolean =>
  left.spread === right.spread &&
  left.endpoints.length === right.endpoints.length &&
  left.endpoints.every(({ name, forZones }, index) => {
    const other = right.endpoints[index];
    return other?.name === name && other.forZones.join() === forZones.join();
  });
