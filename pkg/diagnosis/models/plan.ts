// The planner's hints for a Service as it is, at a demand or in proportion to weights: the report of `kubectl topology plan`.
import type { EndpointSlice, Service } from '../../apis/core.ts';
import { planHints } from '../../flow/planner.ts';
import { planProportional } from '../../flow/proportional.ts';
import type { Bounds, Demand, FlowEndpoint, Plan, ZoneFigures } from '../../flow/types.ts';
import { firstFamilyOf } from './lookup.ts';
import { byText } from '../../apis/order.ts';

export interface PlanReport {
  readonly plan: {
    readonly spread: boolean;
    readonly endpoints: readonly {
      readonly address: string;
      /** Empty where it has none. */
      readonly zone: string;
      readonly forZones: readonly string[];
    }[];
  };
  readonly zones: Readonly<Record<string, ZoneFigures>>;
  readonly inZoneShare: number;
  readonly maxUtilization: number;
  readonly bounds: Bounds;
}

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

/** Ready endpoints as a proxy reads them, each address once, in the order of addresses. */
const readyEndpoints = (slices: readonly EndpointSlice[], family: string): Omit<FlowEndpoint, 'capacity'>[] => {
  const found = new Map<string, Omit<FlowEndpoint, 'capacity'>>();
  for (const { addressType = 'IPv4', endpoints } of slices) {
    if (addressType !== family) continue;
    for (const { addresses, zone = '', conditions, hints } of endpoints ?? []) {
      const name = addresses[0];
      if (name === undefined || conditions?.ready === false || found.has(name)) continue;
      const forZones = (hints?.forZones ?? []).map((entry) => entry.name);
      found.set(name, { name, zone, forZones });
    }
  }
  return [...found.values()].sort((a, b) => byText(a.name, b.name));
};

const planOf = (
  endpoints: readonly Omit<FlowEndpoint, 'capacity'>[],
  options: PlanOptions | WeightedPlanOptions,
): Plan => {
  if ('weights' in options) {
    return planProportional({ endpoints, weights: options.weights, maxOverload: options.maxOverload });
  }
  const { demand, capacity, targetUtilization } = options;
  return planHints({
    endpoints: endpoints.map((endpoint) => ({ ...endpoint, capacity })),
    demand,
    targetUtilization,
  });
};

/** The strategy `load-aware` at a demand, or `proportional` where weights are given. */
export const planReport = (
  service: Service,
  slices: readonly EndpointSlice[],
  options: PlanOptions | WeightedPlanOptions,
): PlanReport => {
  const endpoints = readyEndpoints(slices, options.family ?? firstFamilyOf(service, slices));
  const plan = planOf(endpoints, options);
  const zoneOf = new Map(endpoints.map(({ name, zone }) => [name, zone]));
  const { zones, inZoneShare, maxUtilization, bounds } = plan;
  return {
    plan: {
      spread: plan.spread,
      endpoints: plan.endpoints.map(({ name, forZones }) => ({
        address: name,
        zone: zoneOf.get(name) ?? '',
        forZones,
      })),
    },
    zones,
    inZoneShare,
    maxUtilization,
    bounds: { lp: bounds.lp, integrality: bounds.integrality },
  };
};
