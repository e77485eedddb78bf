// Endpoints and demand for tests of the planner, and generators of small problems.
import fc from 'fast-check';
import type { FlowEndpoint, Plan, PlanInput } from '../../../pkg/flow/types.ts';

export const ZONES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'] as const;

/** `counts[i]` endpoints of one core in the i-th zone, named after their zone. */
export const endpointsIn = (counts: readonly number[], capacity = 1): FlowEndpoint[] =>
  counts.flatMap((count, zone) =>
    Array.from({ length: count }, (_, index) => ({
      name: `${ZONES[zone]}-${String(index).padStart(4, '0')}`,
      zone: ZONES[zone]!,
      capacity,
    })),
  );

/** Demand in proportion to `shares`, as much as there are endpoints: then a target of 1 + theta lets each carry theta more than its fair share. */
export const fairProblem = (shares: readonly number[], counts: readonly number[], theta: number): PlanInput => {
  const endpoints = endpointsIn(counts);
  const total = shares.reduce((sum, share) => sum + share, 0);
  return {
    endpoints,
    demand: Object.fromEntries(shares.map((share, zone) => [ZONES[zone]!, (share * endpoints.length) / total])),
    targetUtilization: 1 + theta,
  };
};

export interface ProblemShape {
  readonly zones: number;
  /** Most endpoints. */
  readonly endpoints: number;
  /** Capacities to choose from. */
  readonly capacities?: readonly number[];
  /** Also endpoints without zone, clients without zone, zones without clients. */
  readonly odd?: boolean;
  /** Also hints in force. */
  readonly hinted?: boolean;
}

const hintsOf = (zones: readonly string[]): fc.Arbitrary<string[] | undefined> =>
  fc.option(fc.subarray([...zones], { minLength: 1 }), { nil: undefined });

/** Problems of any kind; demand from far below to above what the endpoints can carry. */
export const problems = (shape: ProblemShape): fc.Arbitrary<PlanInput> => {
  const zones = ZONES.slice(0, shape.zones);
  const homes = shape.odd === true ? [...zones, ''] : [...zones];
  const endpoint = fc.record({
    zone: fc.constantFrom(...homes),
    capacity: fc.constantFrom(...(shape.capacities ?? [1])),
    forZones: shape.hinted === true ? hintsOf(zones) : fc.constant(undefined),
  });
  const clients = fc.array(fc.integer({ min: shape.odd === true ? 0 : 1, max: 8 }), {
    minLength: homes.length,
    maxLength: homes.length,
  });
  return fc
    .record({
      endpoints: fc.array(endpoint, { minLength: 1, maxLength: shape.endpoints }),
      clients,
      targetUtilization: fc.constantFrom(0.5, 0.7, 0.8, 1),
      load: fc.constantFrom(0.2, 0.4, 0.6, 0.7, 0.9, 1.2),
    })
    .filter(({ clients: shares }) => shares.some((share) => share > 0))
    .map(({ endpoints, clients: shares, targetUtilization, load }) => {
      const capacity = endpoints.reduce((sum, one) => sum + one.capacity, 0);
      const total = shares.reduce((sum, share) => sum + share, 0);
      return {
        targetUtilization,
        endpoints: endpoints.map(({ zone, capacity: cores, forZones }, index) => ({
          name: `${zone === '' ? 'x' : zone}-${index}`,
          zone,
          capacity: cores,
          ...(forZones === undefined ? {} : { forZones }),
        })),
        demand: Object.fromEntries(homes.map((zone, index) => [zone, (shares[index]! * capacity * load) / total])),
      };
    });
};

export interface HostileShape {
  readonly zones: number;
  readonly endpoints: number;
  readonly seed: number;
  /** Demand as a fraction of the capacity. */
  readonly load: number;
  /** Capacity of the largest endpoint, of which the smallest has 1. */
  readonly largest: number;
}

/** No two endpoints alike, as an owner of Services may choose by CPU requests, and zones of different sizes. */
export const hostileProblem = ({ zones, endpoints, seed, load, largest }: HostileShape): PlanInput => {
  let state = seed % 2 ** 32;
  const next = (): number => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
  const all = Array.from({ length: endpoints }, (_, index) => ({
    name: `pod-${String(index).padStart(5, '0')}`,
    zone: ZONES[Math.floor(next() * Math.sqrt(next()) * zones)]!,
    capacity: largest ** next(),
  }));
  const capacity = all.reduce((sum, one) => sum + one.capacity, 0);
  const shares = Array.from({ length: zones }, () => 0.1 + next());
  const total = shares.reduce((sum, share) => sum + share, 0);
  const demand = shares.map((share, zone): [string, number] => [ZONES[zone]!, (share / total) * capacity * load]);
  return { endpoints: all, demand: Object.fromEntries(demand), targetUtilization: 0.7 };
};

/** Zones of each endpoint by its name. */
export const hintsByEndpoint = ({ endpoints }: Plan): Record<string, string> =>
  Object.fromEntries(endpoints.map(({ name, forZones }) => [name, forZones.join('+')]));
