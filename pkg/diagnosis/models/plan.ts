// The planner's hints for a Service as it is, at a demand or in proportion to weights: the report of `kubectl topology plan`.
import type { EndpointSlice, Service } from '../../apis/core.ts';
import { planHints, planProportional } from '../../flow/planner.ts';
import type { Demand } from '../../flow/types.ts';
import { firstFamilyOf, readyEndpoints } from './lookup.ts';

export interface PlanOptions {
  /** Cores by client zone. */
  readonly demand: Demand;
  /** Cores of each endpoint, above 0. */
  readonly capacity: number;
  /** Fraction of the capacity, above 0. */
  readonly targetUtilization: number;
  /** addressType; default: the Service's first family. */
  readonly family?: string;
}

/** In the report the capacity of an endpoint is its even share of the load, 1, and demand is given in such shares. */
export interface WeightedPlanOptions {
  /** Of each client zone, in any unit. */
  readonly weights: Readonly<Record<string, number>>;
  /** How far an endpoint may be above its even share, 0.2 = 20 %. */
  readonly maxOverload: number;
  /** addressType; default: the Service's first family. */
  readonly family?: string;
}

/** The strategy `load-aware` at a demand, or `proportional` where weights are given. */
export const planReport = (
  service: Service,
  slices: readonly EndpointSlice[],
  options: PlanOptions | WeightedPlanOptions,
) => {
  const ready = readyEndpoints(slices, options.family ?? firstFamilyOf(service, slices));
  const endpoints = ready.map(({ address, zone, forZones }) => ({ name: address, zone, forZones }));
  const plan =
    'weights' in options
      ? planProportional({ endpoints, weights: options.weights, maxOverload: options.maxOverload })
      : planHints({
          endpoints: endpoints.map((endpoint) => ({ ...endpoint, capacity: options.capacity })),
          demand: options.demand,
          targetUtilization: options.targetUtilization,
        });
  const zoneOf = new Map(ready.map(({ address, zone }) => [address, zone]));
  const { zones, inZoneShare, maxUtilization, bounds } = plan;
  return {
    plan: {
      spread: plan.spread,
      endpoints: plan.endpoints.map(({ name: address, forZones }) => ({
        address,
        /** Empty where it has none. */
        zone: zoneOf.get(address) ?? '',
        forZones,
      })),
    },
    zones,
    inZoneShare,
    maxUtilization,
    bounds: { lp: bounds.lp, integrality: bounds.integrality },
  };
};

export type PlanReport = ReturnType<typeof planReport>;
