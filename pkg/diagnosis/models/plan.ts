// SPDX-License-Identifier: Apache-2.0
// The planner's hints for a Service as it is, at a demand that is given: the report of `kubectl topology plan`.
import type { EndpointSlice, Service } from '../../apis/core.ts';
import { planHints } from '../../flow/planner.ts';
import type { Bounds, Demand, FlowEndpoint, ZoneFigures } from '../../flow/types.ts';
import { byText, familyOf } from './lookup.ts';

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

/** Ready endpoints as a proxy reads them, each address once, in the order of addresses. */
const flowEndpoints = (slices: readonly EndpointSlice[], family: string, capacity: number): FlowEndpoint[] => {
  const found = new Map<string, FlowEndpoint>();
  for (const { addressType = 'IPv4', endpoints } of slices) {
    if (addressType !== family) continue;
    for (const { addresses, zone = '', conditions, hints } of endpoints ?? []) {
      const name = addresses[0];
      if (name === undefined || conditions?.ready === false || found.has(name)) continue;
      const forZones = (hints?.forZones ?? []).map((entry) => entry.name);
      found.set(name, { name, zone, capacity, forZones });
    }
  }
  return [...found.values()].sort((a, b) => byText(a.name, b.name));
};

export const planReport = (
  service: Service,
  slices: readonly EndpointSlice[],
  { demand, capacity, targetUtilization, family = familyOf(service, slices) }: PlanOptions,
): PlanReport => {
  const endpoints = flowEndpoints(slices, family, capacity);
  const plan = planHints({ endpoints, demand, targetUtilization });
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
