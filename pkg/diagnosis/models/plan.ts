// The planner's hints for a Service as it is, at a demand or in proportion to weights: the report of `kubectl topology plan`.
import type { EndpointSlice, Service } from '../../apis/core.ts';
import { planHints, planProportional } from '../../flow/planner.ts';
import type { Demand } from '../../flow/types.ts';
import { firstFamilyOf, readyEndpoints } from './lookup.ts';

/**
 * What to plan for: a demand in cores by client zone, with cores of each endpoint and the fraction of them to aim at, both above 0; or weights
 * of the client zones in any unit, with how far an endpoint may be above its even share of the load, 0.2 = 20 %. In the report that share is 1
 * then, and demand is given in such shares.
 */
type PlanFor =
  | { readonly demand: Demand; readonly capacity: number; readonly targetUtilization: number }
  | { readonly weights: Demand; readonly maxOverload: number };

/** The strategy `load-aware` at a demand, or `proportional` where weights are given; of the Service's first family. */
export const planReport = (service: Service, slices: readonly EndpointSlice[], wanted: PlanFor) => {
  const ready = readyEndpoints(slices, firstFamilyOf(service, slices));
  const endpoints = ready.map(({ address, zone, forZones }) => ({ name: address, zone, forZones }));
  const byLoad = ({ capacity, ...load }: Exclude<PlanFor, { weights: Demand }>) =>
    planHints({ ...load, endpoints: endpoints.map((endpoint) => ({ ...endpoint, capacity })) });
  const plan = 'weights' in wanted ? planProportional({ ...wanted, endpoints }) : byLoad(wanted);
  const zoneOf = (address: string): string => ready.find((own) => own.address === address)?.zone ?? '';
  const hinted = plan.endpoints.map(({ name: address, forZones }) => ({ address, zone: zoneOf(address), forZones }));
  const { spread, zones, inZoneShare, maxUtilization, bounds } = plan;
  const { lp, integrality } = bounds;
  return { plan: { spread, endpoints: hinted }, zones, inZoneShare, maxUtilization, bounds: { lp, integrality } };
};

export type PlanReport = ReturnType<typeof planReport>;
