// Load of the busiest endpoint by zones: which share of the demand each endpoint of a zone gets, and how many more bring it down.
import { byText } from '../../apis/order.ts';
import { sumOf } from '../../apis/sum.ts';

/** One Service, zones by name; the empty name is for no zone. */
export interface ZoneLoad {
  /** Endpoints that serve, by zone. Zones with none may be left out. */
  readonly endpoints: ReadonlyMap<string, number>;
  /** Of the clients of each zone, in any unit. */
  readonly demand: ReadonlyMap<string, number>;
  /** Fraction of the clients of a zone that keep to its endpoints while it has any; the others spread over all. Default 0. */
  readonly keeps: ReadonlyMap<string, number>;
}

export interface ZonePeak {
  /** The first in name order of equals; empty where nothing serves. */
  readonly zone: string;
  /** Demand on one endpoint, in the unit of the demand; Infinity where there is demand and no endpoint. */
  readonly load: number;
}

interface Shares {
  /** Endpoints of the zones that have any, in name order. */
  readonly counts: ReadonlyMap<string, number>;
  readonly kept: (zone: string) => number;
  /** On every endpoint, from clients that keep to no zone. */
  readonly spread: number;
}

const sharesOf = ({ endpoints, demand, keeps }: ZoneLoad): Shares => {
  const counts = new Map([...endpoints].filter(([, count]) => count > 0).sort(([a], [b]) => byText(a, b)));
  const kept = (zone: string): number => (counts.has(zone) && zone !== '' ? (keeps.get(zone) ?? 0) : 0);
  const roaming = sumOf([...demand].map(([zone, amount]) => amount * (1 - kept(zone))));
  return { counts, kept, spread: roaming / sumOf(counts.values()) };
};

/** Demand on one endpoint of each zone that has any. */
export const loadByZone = (load: ZoneLoad): ReadonlyMap<string, number> => {
  const { counts, kept, spread } = sharesOf(load);
  return new Map(
    [...counts].map(([zone, count]) => [zone, spread + ((load.demand.get(zone) ?? 0) * kept(zone)) / count]),
  );
};

/** Rounding of doubles alone must not look like load. */
export const ROUNDING = 1e-9;

/** `weigh`: what a load means in the zone, where endpoints differ. Default: the load itself. */
export const peakOf = (load: ZoneLoad, weigh: (load: number, zone: string) => number = (own) => own): ZonePeak => {
  const loads = loadByZone(load);
  if (loads.size === 0) return { zone: '', load: sumOf(load.demand.values()) > 0 ? Infinity : 0 };
  return [...loads]
    .map(([zone, own]) => ({ zone, load: weigh(own, zone) }))
    .reduce((most, next) => (next.load > most.load + ROUNDING ? next : most));
};

/** More would be a mistake in the figures, not a plan. */
const MOST_REPLICAS = 10_000;

/** The zone whose endpoints are busiest, or would be; of equals the one with fewest. */
const neediest = (
  load: ZoneLoad,
  zones: readonly string[],
  weigh: (load: number, zone: string) => number,
): string | undefined => {
  const loads = loadByZone(load);
  const { spread } = sharesOf(load);
  const rank = (zone: string): number => weigh(loads.get(zone) ?? spread, zone);
  const countOf = (zone: string): number => load.endpoints.get(zone) ?? 0;
  return [...zones].sort(
    (a, b) =>
      (Math.abs(rank(a) - rank(b)) < ROUNDING ? 0 : rank(b) - rank(a)) || countOf(a) - countOf(b) || byText(a, b),
  )[0];
};

/**
 * Endpoints to add, one at a time where the load is highest, until the busiest is at `limit` or below; by zone. Null
 * where no zone can take any, or more than 10,000 are needed.
 */
export const replicasToAdd = (
  load: ZoneLoad,
  zones: readonly string[],
  limit: number,
  weigh: (load: number, zone: string) => number = (own) => own,
): Readonly<Record<string, number>> | null => {
  const added = new Map<string, number>();
  const endpoints = new Map(load.endpoints);
  for (let count = 0; count <= MOST_REPLICAS; count += 1) {
    const next = { ...load, endpoints };
    if (peakOf(next, weigh).load <= limit + ROUNDING) {
      return Object.fromEntries([...added].sort(([a], [b]) => byText(a, b)));
    }
    const zone = neediest(next, zones, weigh);
    if (zone === undefined) return null;
    endpoints.set(zone, (endpoints.get(zone) ?? 0) + 1);
    added.set(zone, (added.get(zone) ?? 0) + 1);
  }
  return null;
};
