// Hints in proportion to CPU (annotation value Auto): own zones first, then lending; after topologycache.AddHints.
import type { Endpoint, EndpointSlice } from '../../apis/core.ts';
import { endpointsOf } from '../names.ts';
import type { ZoneAllocation } from './allocation.ts';
import { planLending } from './lending.ts';
import { isReadyToController, mapEndpoints, withHints } from './slice-plan.ts';
import type { SlicePlan } from './slice-plan.ts';
import { splitByValidity } from './slice-validity.ts';
import { byText } from '../../apis/order.ts';

export type Proportional =
  | {
      readonly kind: 'hinted';
      readonly plan: SlicePlan;
      /** Hinted ready endpoints by zone: what the overload check looks at later. */
      readonly counts: ReadonlyMap<string, number>;
    }
  | { readonly kind: 'refused'; readonly reason: 'EndpointWithoutZone' };

const add = (counts: Map<string, number>, zone: string, amount: number): void =>
  void counts.set(zone, (counts.get(zone) ?? 0) + amount);

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

const isWithoutZone = (endpoint: Endpoint): boolean =>
  isReadyToController(endpoint) && (endpoint.zone === undefined || endpoint.zone === '');

/**
 * Hints the slices of one Service and family. Valid stored slices stay untouched; hints of endpoints that are not ready are
 * left as they are, even stale ones, as upstream leaves them.
 */
export const hintProportionally = (plan: SlicePlan, zones: ReadonlyMap<string, ZoneAllocation>): Proportional => {
  const { valid, invalid, counts } = splitByValidity(plan.unchanged, zones);
  const update = [...plan.update, ...invalid];
  const open = [...plan.create, ...update].flatMap((slice) => endpointsOf(slice));
  if (open.some(isWithoutZone)) return { kind: 'refused', reason: 'EndpointWithoutZone' };
  for (const { zone = '' } of open.filter(isReadyToController)) add(counts, zone, 1);
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
