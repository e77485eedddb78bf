// Which stored slices keep their proportional hints.
import type { EndpointSlice } from '../../apis/core.ts';
import { endpointsOf, hintedZones } from '../names.ts';
import type { ZoneAllocation } from './allocation.ts';
import { isReadyToController } from './slice-plan.ts';

export interface PodState {
  /** The Pod's Ready condition. */
  readonly ready: boolean;
  /** The Pod has a deletion timestamp. */
  readonly deleting: boolean;
  /** `spec.publishNotReadyAddresses` of the Service. */
  readonly publishNotReady: boolean;
}

export interface EndpointConditions {
  ready: boolean;
  serving: boolean;
  terminating: boolean;
}

/** publishNotReady lifts `ready` only: `serving` and `terminating` always show the Pod's own state. */
export const endpointConditions = ({ ready, deleting, publishNotReady }: PodState): EndpointConditions => ({
  ready: publishNotReady || (ready && !deleting),
  serving: ready,
  terminating: deleting,
});

/** Hints of a slice's ready endpoints by zone; undefined when one has none or names a zone without allocation. */
const hintsByZone = (
  slice: EndpointSlice,
  zones: ReadonlyMap<string, ZoneAllocation>,
): ReadonlyMap<string, number> | undefined => {
  const own = new Map<string, number>();
  for (const endpoint of endpointsOf(slice).filter(isReadyToController)) {
    const hinted = hintedZones(endpoint);
    if (hinted.length === 0) return undefined;
    for (const zone of hinted) {
      if (!zones.has(zone)) return undefined;
      own.set(zone, (own.get(zone) ?? 0) + 1);
    }
  }
  return own;
};

/**
 * Splits stored slices, in order, into those whose hints still fit and those to be hinted anew. A slice fits when no zone
 * comes above its maximum, counting the valid slices before it.
 */
export const splitByValidity = (
  slices: readonly EndpointSlice[],
  zones: ReadonlyMap<string, ZoneAllocation>,
): { valid: EndpointSlice[]; invalid: EndpointSlice[]; counts: Map<string, number> } => {
  const valid: EndpointSlice[] = [];
  const invalid: EndpointSlice[] = [];
  const counts = new Map<string, number>();
  for (const slice of slices) {
    const own = hintsByZone(slice, zones);
    const above = ([zone, count]: readonly [string, number]): boolean =>
      (counts.get(zone) ?? 0) + count > (zones.get(zone)?.maximum ?? 0);
    if (own === undefined || [...own].some(above)) {
      invalid.push(slice);
      continue;
    }
    valid.push(slice);
    for (const [zone, count] of own) counts.set(zone, (counts.get(zone) ?? 0) + count);
  }
  return { valid, invalid, counts };
};
