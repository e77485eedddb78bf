// Services that are hard to plan through the loop's step: each plan is one that the API takes, within effort and deadline.
import { DEFAULT_LOOP_POLICY } from '../../../pkg/flow/loop/from-spec.ts';
import { step } from '../../../pkg/flow/loop/step.ts';
import type { LoopPolicy, LoopState, Observation, ObservedEndpoint } from '../../../pkg/flow/loop/types.ts';
import { MAX_HINTS } from '../../../pkg/hints/readiness.ts';
import { HARDSHIPS, type Hardship } from '../documents/planner.ts';
import { type Input, type Target, must } from '../types.ts';

/** What the flow-controller gives a step before it ends it; here in CPU time of the thread, which a busy machine does not change. */
const DEADLINE_MS = 10_000;

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

const within = (value: unknown, least: number, most: number): number =>
  Math.min(most, Math.max(least, typeof value === 'number' && Number.isFinite(value) ? value : least));

const MOST_ENDPOINTS = 1_500;

const hardshipOf = (text: string): Hardship => {
  const value = (JSON.parse(text) ?? {}) as Partial<Record<keyof Hardship, unknown>>;
  const whole = (field: keyof Hardship, most: number): number => Math.floor(within(value[field], 0, most));
  const smallest = within(value.smallest, 1e-9, 1e6);
  return {
    seed: whole('seed', 2 ** 31),
    zones: 1 + whole('zones', 11),
    endpoints: 1 + whole('endpoints', MOST_ENDPOINTS),
    strays: whole('strays', 1_000),
    capacities: 1 + whole('capacities', MOST_ENDPOINTS),
    smallest,
    largest: Math.max(smallest, within(value.largest, 1e-9, 1e9)),
    load: within(value.load, 0, 1e3),
    skew: within(value.skew, 0, 1),
    minEndpoints: 1 + whole('minEndpoints', 5_000),
    prices: whole('prices', 1_000),
  };
};

const numbersFrom = (seed: number): (() => number) => {
  let state = seed;
  return () => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
};

const zoneNames = (count: number): string[] => Array.from({ length: count }, (_, index) => `zone-${index}`);

/** Endpoints whose loads show that demand through own zones. */
const observationOf = (hardship: Hardship): Observation => {
  const { seed, strays, capacities, smallest, largest, load, skew } = hardship;
  const next = numbersFrom(seed);
  const zones = zoneNames(hardship.zones);
  const drawn = Array.from({ length: hardship.endpoints }, (_, index) => {
    const stray = strays > 0 && next() < 0.2;
    const zone = stray ? `stray-${Math.floor(next() * strays)}` : (zones[Math.floor(next() ** 2 * zones.length)] ?? '');
    const rank = Math.floor(next() * capacities) / capacities;
    return { name: `pod-${index}`, zone, capacity: smallest * (largest / smallest) ** rank };
  });
  const capacity = drawn.reduce((sum, one) => sum + one.capacity, 0);
  const endpoints = drawn.map((one): ObservedEndpoint => {
    const sharers = drawn.filter(({ zone }) => zone === one.zone).length;
    const share = one.zone === zones[0] ? skew : (1 - skew) / zones.length;
    return { ...one, ready: true, load: Math.min(one.capacity, (share * load * capacity) / sharers), sampledAt: 60 };
  });
  return { time: 60, zones, endpoints, window: 15 };
};

const policyOf = ({ minEndpoints, prices }: Hardship): LoopPolicy => ({
  ...DEFAULT_LOOP_POLICY,
  minEndpoints,
  ...(prices === 0 ? {} : { cost: (from, to) => (from.length * 7 + Number(to.at(-1)) * 3) % (prices + 1) }),
});

const run = ({ text }: Input): void => {
  const hardship = hardshipOf(text.toString());
  const policy = policyOf(hardship);
  const observation = observationOf(hardship);
  const silent = observation.endpoints.map((one) => ({ ...one, load: null, sampledAt: null }));
  let state: LoopState | undefined = step(policy, undefined, { ...observation, time: 0, endpoints: silent }).state;
  for (const time of [60, 100]) {
    const endpoints = observation.endpoints.map((one) => ({ ...one, sampledAt: time }));
    const begin = cpuMs();
    const next = step(policy, state, { ...observation, time, endpoints });
    const took = cpuMs() - begin;
    must(took < DEADLINE_MS, () => `a step of ${Math.round(took)} ms: ${JSON.stringify(hardship)}`);
    for (const { name, forZones } of next.decision.endpoints) {
      const sound = forZones.length >= 1 && forZones.length <= MAX_HINTS && new Set(forZones).size === forZones.length;
      must(sound, () => `${name} is hinted for ${JSON.stringify(forZones)}`);
    }
    must(Number.isFinite(next.decision.inZoneShare), () => `in-zone share ${next.decision.inZoneShare}`);
    ({ state } = next);
  }
};

export const planner: Target = {
  name: 'planner',
  bytes: false,
  open: () => Promise.resolve({ samples: HARDSHIPS, run }),
};
