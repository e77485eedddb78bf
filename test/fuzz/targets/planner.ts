// Services that are hard to plan through the loop's step: each plan is one that the API takes, within effort and deadline.
import fc from 'fast-check';
import { DEFAULT_LOOP_POLICY } from '../../../pkg/flow/loop/from-spec.ts';
import { step } from '../../../pkg/flow/loop/step.ts';
import type { LoopPolicy, LoopState, Observation, ObservedEndpoint } from '../../../pkg/flow/loop/types.ts';
import { MAX_HINTS } from '../../../pkg/hints/readiness.ts';
import { type Input, type Target, must } from '../types.ts';

/** What the flow-controller gives a step before it ends it; here in CPU time of the thread, which a busy machine does not change. */
const DEADLINE_MS = 10_000;

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Mostly what is usual, so that the others show what each of them does. */
const mostly = <T>(usual: readonly T[], other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: other });
const whole = (min: number, max: number): fc.Arbitrary<number> => fc.integer({ min, max });
const real = (min: number, max: number): fc.Arbitrary<number> => fc.double({ min, max, noNaN: true });

/** How the endpoints of a Service, and the demand on it, are drawn: as its owner may make it hard to plan. */
const HARDSHIP = fc.record({
  seed: fc.nat(),
  zones: mostly([3, 8], whole(1, 12)),
  endpoints: mostly([27, 60, 400], whole(1, 1_500)),
  /** Zones without clients that endpoints name. */
  strays: mostly([0, 50], whole(0, 1_000)),
  /** How many capacities there are. */
  capacities: mostly([27, 60, 400], whole(1, 1_500)),
  /** Cores; the largest is so many times the smallest. */
  smallest: mostly([0.1], real(1e-9, 1e6)),
  range: mostly([40], real(1, 1e9)),
  /** Demand as a fraction of the capacity. */
  load: mostly([0.65, 1.3], real(0, 1e3)),
  /** How much of it is zone a's. */
  skew: mostly([0.5, 0.9], real(0, 1)),
  minEndpoints: mostly([1], whole(1, 5_000)),
  /** 0: all pairs of zones cost the same. */
  prices: mostly([0, 4], whole(0, 1_000)),
});

type Hardship = typeof HARDSHIP extends fc.Arbitrary<infer T> ? T : never;

const numbersFrom = (seed: number): (() => number) => {
  let state = seed;
  return () => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
};

const zoneNames = (count: number): string[] => Array.from({ length: count }, (_, index) => `zone-${index}`);

/** Endpoints whose loads show that demand through own zones. */
const observationOf = (hardship: Hardship): Observation => {
  const { seed, strays, capacities, smallest, range, load, skew } = hardship;
  const next = numbersFrom(seed);
  const zones = zoneNames(hardship.zones);
  const drawn = Array.from({ length: hardship.endpoints }, (_, index) => {
    const stray = strays > 0 && next() < 0.2;
    const zone = stray ? `stray-${Math.floor(next() * strays)}` : (zones[Math.floor(next() ** 2 * zones.length)] ?? '');
    const rank = Math.floor(next() * capacities) / capacities;
    return { name: `pod-${index}`, zone, capacity: smallest * range ** rank };
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
  const hardship = JSON.parse(text.toString()) as Hardship;
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

export const target: Target = {
  bytes: false,
  open: () => ({ samples: [], texts: HARDSHIP.map((hardship) => Buffer.from(JSON.stringify(hardship))), run }),
};
