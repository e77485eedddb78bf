// Hints in proportion to CPU (annotation value Auto): own zones first, then lending; after topologycache.AddHints.
import type { EndpointSlice } from '../../apis/core.ts';
import { byText } from '../../apis/values.ts';
import { add, endpointsOf, hintedZones } from '../features.ts';
import { type SlicePlan, type ZoneAllocation, isReadyToController, mapEndpoints, withHints } from './allocation.ts';

/** Whole endpoints by zone. */
export interface Lending {
  readonly give: ReadonlyMap<string, number>;
  readonly receive: ReadonlyMap<string, number>;
}

const WHOLE = 1;
const WORTHWHILE = 0.5;

/** Largest value above zero; ties, random in the original, go to the first name. */
const largest = (values: ReadonlyMap<string, number>): string | undefined =>
  [...values].filter(([, value]) => value > 0).sort(([a, more], [b, less]) => less - more || byText(a, b))[0]?.[0];

/** `counts` are hinted endpoints by zone so far; zones without allocation neither give nor receive. */
export const planLending = (
  zones: ReadonlyMap<string, Pick<ZoneAllocation, 'desired'>>,
  counts: ReadonlyMap<string, number>,
): Lending => {
  const surplus = new Map<string, number>();
  const demand = new Map<string, number>();
  for (const [zone, { desired }] of zones) {
    const count = counts.get(zone) ?? 0;
    if (count > desired) surplus.set(zone, count - desired);
    if (count < desired) demand.set(zone, desired - count);
  }
  const give = new Map<string, number>();
  const receive = new Map<string, number>();
  for (;;) {
    const [giver, taker] = [largest(surplus), largest(demand)];
    if (giver === undefined || taker === undefined) break;
    const [spare, wanted] = [surplus.get(giver) ?? 0, demand.get(taker) ?? 0];
    if ((spare < WHOLE && wanted < WHOLE) || spare < WORTHWHILE || wanted < WORTHWHILE) break;
    add(give, giver, 1);
    add(receive, taker, 1);
    add(surplus, giver, -1);
    add(demand, taker, -1);
  }
  return { give, receive };
};

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
const hintsByZone = (slice: EndpointSlice, zones: ReadonlyMap<string, ZoneAllocation>) => {
  const hinted = endpointsOf(slice).filter(isReadyToController).map(hintedZones);
  const fits = (own: readonly string[]): boolean => own.length > 0 && own.every((zone) => zones.has(zone));
  if (!hinted.every(fits)) return undefined;
  const byZone = [...Map.groupBy(hinted.flat(), (zone) => zone)];
  return new Map(byZone.map(([zone, own]) => [zone, own.length]));
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
    const isValid = own !== undefined && ![...own].some(above);
    (isValid ? valid : invalid).push(slice);
    if (isValid) for (const [zone, count] of own) add(counts, zone, count);
  }
  return { valid, invalid, counts };
};

export type Proportional =
  | {
      readonly kind: 'hinted';
      readonly plan: SlicePlan;
      /** Hinted ready endpoints by zone: what the overload check looks at later. */
      readonly counts: ReadonlyMap<string, number>;
    }
  | { readonly kind: 'refused'; readonly reason: 'EndpointWithoutZone' };

/** The zone that each open ready endpoint of a giving zone is lent to, walking the slices in order. */
const lender = (give: ReadonlyMap<string, number>, receive: ReadonlyMap<string, number>) => {
  const giving = new Map(give);
  const receiving = new Map(receive);
  const takers = [...receive.keys()].sort(byText);
  return (zone: string): string => {
    if ((giving.get(zone) ?? 0) <= 0) return zone;
    const taker = takers.find((name) => (receiving.get(name) ?? 0) > 0);
    if (taker === undefined) return zone;
    add(giving, zone, -1);
    add(receiving, taker, -1);
    return taker;
  };
};

/**
 * Hints the slices of one Service and family. Valid stored slices stay untouched; hints of endpoints that are not ready are
 * left as they are, even stale ones, as upstream leaves them.
 */
export const hintProportionally = (plan: SlicePlan, zones: ReadonlyMap<string, ZoneAllocation>): Proportional => {
  const { valid, invalid, counts } = splitByValidity(plan.unchanged, zones);
  const update = [...plan.update, ...invalid];
  const open = [...plan.create, ...update].flatMap(endpointsOf).filter(isReadyToController);
  if (open.some(({ zone = '' }) => zone === '')) return { kind: 'refused', reason: 'EndpointWithoutZone' };
  for (const { zone = '' } of open) add(counts, zone, 1);
  const { give, receive } = planLending(zones, counts);
  const lend = lender(give, receive);
  const hint = (slice: EndpointSlice): EndpointSlice =>
    mapEndpoints(slice, (endpoint) => {
      if (!isReadyToController(endpoint)) return endpoint;
      const { zone = '' } = endpoint;
      const target = lend(zone);
      add(counts, zone, -1);
      add(counts, target, 1);
      return withHints(endpoint, { forZones: [{ name: target }] });
    });
  // Evaluated in this order: lending walks the slices to create first.
  const created = plan.create.map(hint);
  return { kind: 'hinted', plan: { create: created, update: update.map(hint), unchanged: valid }, counts };
};
