// Checks what callers hand in: a wrong number would otherwise become a wrong plan without a word.
import type { Demand, FlowEndpoint, PlanInput } from './types.ts';

const require = (holds: boolean, message: string): void => {
  if (!holds) throw new RangeError(message);
};

export const checkDemand = (demand: Demand): void => {
  for (const [zone, cores] of Object.entries(demand)) {
    require(Number.isFinite(cores) && cores >= 0, `demand of zone "${zone}" must be 0 or more, got ${cores}`);
  }
};

export const checkEndpoints = (endpoints: readonly FlowEndpoint[]): void => {
  const names = new Set<string>();
  for (const { name, capacity } of endpoints) {
    require(!names.has(name), `endpoint "${name}" is listed twice`);
    require(Number.isFinite(capacity) &&
      capacity > 0, `capacity of endpoint "${name}" must be above 0, got ${capacity}`);
    names.add(name);
  }
};

export const checkTarget = (targetUtilization: number): void =>
  require(Number.isFinite(targetUtilization) &&
    targetUtilization > 0, `targetUtilization must be above 0, got ${targetUtilization}`);

/** Throws a RangeError that names the field. */
export const checkPlanInput = ({
  endpoints,
  demand,
  targetUtilization,
  minEndpoints = 1,
  stickiness = 0,
}: PlanInput): void => {
  checkDemand(demand);
  checkEndpoints(endpoints);
  checkTarget(targetUtilization);
  require(Number.isInteger(minEndpoints) &&
    minEndpoints >= 1, `minEndpoints must be a whole number above 0, got ${minEndpoints}`);
  require(stickiness >= 0, `stickiness must be 0 or more, got ${stickiness}`);
};

/** Throws a RangeError for a cost that cannot be compared. */
export const checkedCost = (clientZone: string, endpointZone: string, cost: number): number => {
  require(Number.isFinite(cost) &&
    cost >= 0, `cost from zone "${clientZone}" to "${endpointZone}" must be 0 or more, got ${cost}`);
  return cost;
};
