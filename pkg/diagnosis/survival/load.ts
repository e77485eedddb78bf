// Load of the busiest endpoint by zones: which share of the demand each endpoint of a zone gets, and how many more bring it down.
import { type EndpointSlice, isEndpointReady } from '../../apis/core.ts';
import { byText, sumOf } from '../../apis/values.ts';
import { type Leave, type ServiceDecision, decideInOrder, markOf } from '../../evacuation/decide.ts';
import { baseUnder, isLeaving } from '../../evacuation/slice.ts';

/** One Service, zones by name; the empty name is for no zone. */
export interface ZoneLoad {
  /** Endpoints that serve, by zone. Zones with none may be left out. */
  readonly endpoints: ReadonlyMap<string, number>;
  /** Of the clients of each zone, in any unit. */
  readonly demand: ReadonlyMap<string, number>;
  /** Fraction of the clients of a zone that keep to its endpoints while it has any; the others spread over all. Default 0. */
  readonly keeps: ReadonlyMap<string, number>;
}

interface ZonePeak {
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

// Which Services an evacuation would overload, or leave without endpoints together with others that run, by what a controller has in its
// caches. `kubectl topology evacuate` sees more: routers, Pods, measured clients.

/** What the flow-controller measured of a Service. */
export interface MeasuredLoad {
  /** By zone of the clients, in any unit; not all 0. */
  readonly demand: ReadonlyMap<string, number>;
  /** Of its busiest endpoint now, as a fraction of its capacity. */
  readonly utilization: number;
}

export interface OverloadInput {
  readonly slices: readonly EndpointSlice[];
  /** Evacuations that run and are about the Service, oldest first. */
  readonly running: readonly Leave[];
  readonly wanted: Leave;
  /** Number of Nodes by zone, which stands for clients where nothing is measured. */
  readonly nodes: ReadonlyMap<string, number>;
  readonly measured: MeasuredLoad | undefined;
}

/** `together`: the evacuation alone would leave it endpoints, and with the others there are none. */
export type Overload =
  | { readonly kind: 'together' }
  /** Times a fair share of today, or fractions of the capacity where load is measured. */
  | { readonly kind: 'overloaded'; readonly after: number; readonly limit: number };

/** Twice a fair share of today, as `kubectl topology evacuate` has it without `--max-overload`. */
const FAIR_SHARE_LIMIT = 2;
const CAPACITY_LIMIT = 1;

interface Seen {
  readonly zone: string;
  /** Already, under the evacuations that run. */
  readonly left: boolean;
  /** With the one that is wanted. */
  readonly leaves: boolean;
  readonly hinted: boolean;
}

const seenIn = (slices: readonly EndpointSlice[], before: ServiceDecision, decision: ServiceDecision): Seen[] =>
  slices.flatMap((slice) => {
    const mark = markOf(slice);
    const ready = (slice.endpoints ?? []).filter(isEndpointReady);
    return ready.map((endpoint) => ({
      zone: endpoint.zone ?? '',
      left: before.kind === 'moved' && isLeaving(endpoint, before),
      leaves: decision.kind === 'moved' && isLeaving(endpoint, decision),
      hinted: baseUnder(endpoint, mark).zones.length > 0,
    }));
  });

const countByZone = (seen: readonly Seen[]): Map<string, number> =>
  new Map([...Map.groupBy(seen, ({ zone }) => zone)].map(([zone, own]) => [zone, own.length]));

/** Of one address family: what one connection chooses among. */
const overloadIn = (seen: readonly Seen[], { nodes, measured, wanted }: OverloadInput): Overload | undefined => {
  const demand = measured?.demand ?? nodes;
  if (!seen.some(({ leaves, zone }) => leaves && zone === wanted.zone) || sumOf(demand.values()) === 0)
    return undefined;
  // Clients keep to their zone only where each endpoint has hints.
  const keeps = new Map(seen.every(({ hinted }) => hinted) ? [...demand.keys()].map((zone) => [zone, 1] as const) : []);
  const loadOf = (endpoints: readonly Seen[]): number =>
    peakOf({ endpoints: countByZone(endpoints), demand, keeps }).load;
  const [now, after] = [loadOf(seen.filter(({ left }) => !left)), loadOf(seen.filter(({ leaves }) => !leaves))];
  const found =
    measured === undefined
      ? {
          now: (now * seen.length) / sumOf(demand.values()),
          after: (after * seen.length) / sumOf(demand.values()),
          limit: FAIR_SHARE_LIMIT,
        }
      : { now: measured.utilization, after: (measured.utilization * after) / now, limit: CAPACITY_LIMIT };
  const isTooMuch = found.after > found.limit + ROUNDING && found.after > found.now + ROUNDING;
  return isTooMuch ? { kind: 'overloaded', after: found.after, limit: found.limit } : undefined;
};

/** Undefined where the Service is not moved, or its other endpoints can take over. */
export const overloadOf = (input: OverloadInput): Overload | undefined => {
  const { slices, running, wanted, nodes } = input;
  const clientZones = [...nodes.keys()].sort();
  const decide = (leaves: readonly Leave[]) => decideInOrder({ slices, clientZones, leaves });
  const { decision, refused } = decide([...running, wanted]);
  const left = refused.get(wanted.zone);
  if (left !== undefined) {
    const alone = running.length > 0 && left.reason === 'NoEndpointElsewhere' && decide([wanted]).refused.size === 0;
    return alone ? { kind: 'together' } : undefined;
  }
  const { decision: before } = decide(running);
  const families = Map.groupBy(slices, ({ addressType }) => addressType);
  const found = [...families.values()].flatMap((own) => overloadIn(seenIn(own, before, decision), input) ?? []);
  return found.sort((one, other) =>
    other.kind === 'overloaded' && one.kind === 'overloaded' ? other.after - one.after : 0,
  )[0];
};
