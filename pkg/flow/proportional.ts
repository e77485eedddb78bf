// Hints in proportion to weights: what upstream's heuristic means to do, with its limit kept and in name order.
import { planHints } from './planner.ts';
import type { Plan, ProportionalInput } from './types.ts';

/**
 * Clients of each zone are taken to need as much as their weight says, and all endpoints to be alike: with n of them the fair
 * share of each is 1 core of n, so utilisations of the plan are loads by the fair share, and none is above 1 + `maxOverload`. An
 * endpoint serves several zones where one each would not do. Throws a RangeError for a wrong number.
 */
export const planProportional = ({ weights, endpoints, maxOverload = 0.2, ...rest }: ProportionalInput): Plan => {
  if (!(maxOverload >= 0)) throw new RangeError(`maxOverload must be 0 or more, got ${maxOverload}`);
  const total = Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  const scale = total > 0 ? endpoints.length / total : 0;
  return planHints({
    ...rest,
    endpoints: endpoints.map((endpoint) => ({ ...endpoint, capacity: 1 })),
    demand: Object.fromEntries(Object.entries(weights).map(([zone, weight]) => [zone, weight * scale])),
    targetUtilization: 1 + maxOverload,
  });
};
