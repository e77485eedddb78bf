// The planned strategies: the flow planner's hints, laid over slices as the flow controller would write them.
import type { Endpoint, EndpointSlice } from '../../apis/core.ts';
import { planHints } from '../../flow/planner.ts';
import { planProportional } from '../../flow/proportional.ts';
import type { Demand, Plan, ZoneCost } from '../../flow/types.ts';
import type { ProxyEndpoint } from '../../upstream/index.ts';
import { pricePerGigabyte } from '../prices.ts';
import type { Frame } from './outcome.ts';

/** Slices with a plan's hints; endpoints that it does not know (not ready ones) carry none. */
export const withPlan = (slices: readonly EndpointSlice[], plan: Plan, family: string): EndpointSlice[] => {
  const hints = new Map(plan.endpoints.map(({ name, forZones }) => [name, forZones]));
  const hinted = ({ hints: _, ...endpoint }: Endpoint): Endpoint => {
    const zones = hints.get(endpoint.addresses[0] ?? '') ?? [];
    return zones.length === 0 ? endpoint : { ...endpoint, hints: { forZones: zones.map((name) => ({ name })) } };
  };
  return slices.map((slice) =>
    (slice.addressType ?? 'IPv4') === family ? { ...slice, endpoints: (slice.endpoints ?? []).map(hinted) } : slice,
  );
};

/** Prices of pairs where money is asked for and crossing has any price: so the dearest crossings are avoided first. */
const costOf = ({ bill, weights }: Frame, endpoints: readonly ProxyEndpoint[]): { cost?: ZoneCost } => {
  if (bill === null) return {};
  const zones = new Set([...Object.keys(weights), ...endpoints.map(({ zone }) => zone)]);
  const cost: ZoneCost = (from, to) => pricePerGigabyte(bill.tariff, from, to);
  const priced = [...zones].some((from) => [...zones].some((to) => from !== to && cost(from, to) > 0));
  return priced ? { cost } : {};
};

/** Endpoints by address, each once; hints in force do not count, so that the plan is the same whatever is stored. */
const flowEndpoints = (endpoints: readonly ProxyEndpoint[]): { name: string; zone: string }[] => [
  ...new Map(endpoints.map(({ address, zone }) => [address, { name: address, zone }])).values(),
];

/** Weights are what the strategy goes by, whatever the demand is: it knows nothing of load. */
export const proportionalPlan = (
  endpoints: readonly ProxyEndpoint[],
  frame: Frame,
  { weights, maxOverload }: { readonly weights: Demand; readonly maxOverload: number },
): Plan =>
  planProportional({
    weights,
    maxOverload,
    endpoints: flowEndpoints(endpoints),
    ...costOf(frame, endpoints),
  });

export interface LoadAwareOptions {
  readonly demand: Demand;
  readonly capacity: ReadonlyMap<string, number>;
  readonly targetUtilization: number;
}

export const loadAwarePlan = (
  endpoints: readonly ProxyEndpoint[],
  frame: Frame,
  { demand, capacity, targetUtilization }: LoadAwareOptions,
): Plan =>
  planHints({
    endpoints: flowEndpoints(endpoints).map((endpoint) => ({
      ...endpoint,
      capacity: capacity.get(endpoint.name) ?? 0,
    })),
    demand,
    targetUtilization,
    ...costOf(frame, endpoints),
  });
