// From the slices of a Service to the endpoints that the loop plans for: one a Pod, whatever families and ports it has.
import { byText } from '../../apis/order.ts';
import type { HintsInForce } from '../demand/in-force.ts';
import { isZoneName } from '../../hints/names.ts';
import { whenReady } from '../../hints/readiness.ts';
import type { PlannedEndpoint } from '../types.ts';
import { endpointName, isSpread } from './slice.ts';
import type { FlowSlice } from './slice.ts';

export interface SliceView {
  readonly name: string;
  /** Empty where it has none. */
  readonly pod: string;
  readonly zone: string;
  /** In any slice. */
  readonly ready: boolean;
  /** Zones of its hints in the first slice that has some. */
  readonly forZones: readonly string[];
}

/** Endpoints in name order. Slices of host names are not planned: proxies ignore them. */
export const viewsOfEndpoints = (slices: readonly FlowSlice[]): SliceView[] => {
  const found = new Map<string, SliceView>();
  for (const { addressType, endpoints } of slices) {
    if (addressType === 'FQDN') continue;
    for (const endpoint of endpoints) {
      const name = endpointName(endpoint);
      const before = found.get(name);
      if (before === undefined) {
        const { pod, zone, ready, forZones } = endpoint;
        found.set(name, { name, pod, zone, ready, forZones });
      } else if ((endpoint.ready && !before.ready) || (before.forZones.length === 0 && endpoint.forZones.length > 0)) {
        const forZones = before.forZones.length === 0 ? endpoint.forZones : before.forZones;
        found.set(name, { ...before, ready: before.ready || endpoint.ready, forZones });
      }
    }
  }
  return [...found.values()].sort((one, other) => byText(one.name, other.name));
};

/**
 * The plan that slices hold: what a controller that starts goes on with. `remembered` is taken for endpoints without hints;
 * who has neither serves its own zone.
 */
export const planOnSlices = (slices: readonly FlowSlice[], remembered?: HintsInForce): HintsInForce => {
  if (slices.some(isSpread)) return { spread: true, endpoints: [] };
  const endpoints = viewsOfEndpoints(slices).filter(({ ready }) => ready);
  const bare = endpoints.every(({ forZones }) => forZones.length === 0);
  if (bare && remembered !== undefined) return remembered;
  const known = new Map((remembered?.endpoints ?? []).map(({ name, forZones }) => [name, forZones]));
  const planned = endpoints.flatMap(({ name, forZones }): PlannedEndpoint[] => {
    const stored = forZones.map(whenReady);
    const zones = stored.length > 0 && stored.every(isZoneName) ? stored : known.get(name);
    return zones === undefined ? [] : [{ name, forZones: [...zones].sort() }];
  });
  return { spread: false, endpoints: planned };
};

/** What proxies make of the slices now: one ready endpoint without hints, and they use every endpoint. */
export const hintsInForce = (slices: readonly FlowSlice[]): HintsInForce => {
  const endpoints = viewsOfEndpoints(slices).filter(({ ready }) => ready);
  if (endpoints.some(({ forZones }) => forZones.length === 0)) return { spread: true, endpoints: [] };
  return {
    spread: false,
    endpoints: endpoints.map(({ name, forZones }) => ({ name, forZones: [...forZones].sort() })),
  };
};
