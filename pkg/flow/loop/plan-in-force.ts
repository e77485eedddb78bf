// SPDX-License-Identifier: Apache-2.0
// The plan in force, told for the endpoints that are ready now.
import { hintsOf } from '../demand/in-force.ts';
import type { HintsInForce } from '../demand/in-force.ts';
import { evaluatePlan } from '../evaluate.ts';
import type { Demand, FlowEndpoint, PlanFigures } from '../types.ts';
import type { LoopPolicy } from './types.ts';

/** The plan with these endpoints: those that it does not know serve their own zone. */
export const planFor = (plan: HintsInForce, endpoints: readonly FlowEndpoint[]): HintsInForce => {
  if (plan.spread) return { spread: true, endpoints: [] };
  const hints = hintsOf(plan);
  return {
    spread: false,
    endpoints: endpoints.map((endpoint) => ({ name: endpoint.name, forZones: hints(endpoint) })),
  };
};

/** The endpoints with the hints that the plan gives them. */
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

/** What a plan does to a demand. */
export const figuresUnder = (
  plan: HintsInForce,
  endpoints: readonly FlowEndpoint[],
  demand: Demand,
  { targetUtilization, cost }: LoopPolicy,
): PlanFigures =>
  evaluatePlan({
    endpoints: endpointsWithHints(plan, endpoints),
    demand,
    targetUtilization,
    ...(cost === undefined ? {} : { cost }),
  });
