// The N-1 model: what the busiest endpoint of a Service gets when endpoints of a zone are gone, and how many more it would take.
// Its callers (acceptance of a ZoneEvacuation, `evacuate`, `audit --without`) differ only in what they know of clients and endpoints.
import { type Endpoint, type EndpointSlice, isEndpointReady } from '../apis/core.ts';
import { byText, countBy, sumOf } from '../apis/values.ts';
import { type ZoneRequest, decideInOrder } from './decide.ts';
import { baseUnder, isLeaving, markOf, zonesIn } from './slice.ts';

/** One Service, zones by name; the empty name is for no zone. */
export interface ZoneLoad {
  /** Endpoints that serve, by zone. Zones with none may be left out. */
  readonly endpoints: ReadonlyMap<string, number>;
  /** Of the clients of each zone, in any unit. */
  readonly demand: ReadonlyMap<string, number>;
  /** Fraction of the clients of a zone that keep to its endpoints while it has any; the others spread over all. Default 0. */
  readonly keeps: ReadonlyMap<string, number>;
}

/** What a load means in a zone, where endpoints differ. */
type Weigh = (load: number, zone: string) => number;

const asItIs: Weigh = (load) => load;

/** `loads`: demand on one endpoint of each zone that has any, in name order; `spread`: of it, from clients that keep to no zone. */
export const loadByZone = ({ endpoints, demand, keeps }: ZoneLoad) => {
  const counts = new Map([...endpoints].filter(([, count]) => count > 0).sort(([a], [b]) => byText(a, b)));
  const kept = (zone: string): number =>
    counts.has(zone) && zone !== '' ? (demand.get(zone) ?? 0) * (keeps.get(zone) ?? 0) : 0;
  const roaming = sumOf([...demand].map(([zone, amount]) => amount - kept(zone)));
  const spread = roaming / sumOf(counts.values());
  return { spread, loads: new Map([...counts].map(([zone, count]) => [zone, spread + kept(zone) / count])) };
};

/** Rounding of doubles alone must not look like load. */
export const ROUNDING = 1e-9;

/** The zone of the busiest, of equals the first by name; Infinity without a zone where there is demand and no endpoint. */
export const peakOf = (load: ZoneLoad, weigh = asItIs): { readonly zone: string; readonly load: number } => {
  const { loads } = loadByZone(load);
  if (loads.size === 0) return { zone: '', load: sumOf(load.demand.values()) > 0 ? Infinity : 0 };
  const weighed = Array.from(loads, ([zone, own]) => ({ zone, load: weigh(own, zone) }));
  return weighed.reduce((most, next) => (next.load > most.load + ROUNDING ? next : most));
};

/** The busiest endpoint now and when only `left` of the endpoints serve. It is too much where it is above the limit, and was not before. */
export const withoutOthers = (
  load: ZoneLoad,
  left: ReadonlyMap<string, number>,
  { weigh = asItIs, limit }: { readonly weigh?: Weigh; readonly limit: number },
) => {
  const now = peakOf(load, weigh).load;
  const { zone, load: after } = peakOf({ ...load, endpoints: left }, weigh);
  return { now, after, limit, zone, tooMuch: after > limit + ROUNDING && after > now + ROUNDING };
};

/** More would be a mistake in the figures, not a plan. */
const MOST_REPLICAS = 10_000;

/** The zone whose endpoints are busiest, or would be; of equals the one with fewest. */
const neediest = (load: ZoneLoad, zones: readonly string[], weigh: Weigh): string | undefined => {
  const { loads, spread } = loadByZone(load);
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
  weigh = asItIs,
): Readonly<Record<string, number>> | null => {
  const added = new Map<string, number>();
  const endpoints = new Map(load.endpoints);
  for (let count = 0; count <= MOST_REPLICAS; count += 1) {
    const next = { ...load, endpoints };
    if (peakOf(next, weigh).load <= limit + ROUNDING)
      return Object.fromEntries([...added].sort(([a], [b]) => byText(a, b)));
    const zone = neediest(next, zones, weigh);
    if (zone === undefined) return null;
    endpoints.set(zone, (endpoints.get(zone) ?? 0) + 1);
    added.set(zone, (added.get(zone) ?? 0) + 1);
  }
  return null;
};

/** A fair share of today: what each endpoint would get if all got the same. The limit is twice as much unless another is given. */
export const fairShareScale = (demand: ReadonlyMap<string, number>, endpoints: number, maxOverload = 1) => ({
  weigh: (load: number) => (load * endpoints) / sumOf(demand.values()),
  limit: 1 + maxOverload,
});

/** Fraction of its capacity that an endpoint may reach where load is measured. */
export const CAPACITY_LIMIT = 1;

export interface MeasuredLoad {
  /** By zone of the clients, in any unit; not all 0. */
  readonly demand: ReadonlyMap<string, number>;
  /** Of its busiest endpoint now, as a fraction of its capacity. */
  readonly utilization: number;
}

/** Whether the wanted one is refused for a Service, by what; `together`: only because of those that run. */
export const refusalFor = (
  slices: readonly EndpointSlice[],
  clientZones: readonly string[],
  running: readonly ZoneRequest[],
  wanted: ZoneRequest,
) => {
  const refused = (requests: readonly ZoneRequest[]) =>
    decideInOrder({ slices, clientZones, requests }).refused.get(wanted.zone)?.reason;
  const reason = refused([...running, wanted]);
  const together = reason === 'NoEndpointElsewhere' && running.length > 0 && refused([wanted]) === undefined;
  return { reason, together };
};

/**
 * By what a controller has in its caches; `kubectl topology evacuate` sees more: routers, Pods, measured clients. Undefined where the Service is
 * not moved, or its other endpoints can take over. `together`: the evacuation alone would leave it endpoints, and with those that run there are
 * none. `after`, `limit`: times a fair share of today, or fractions of the capacity where load is measured.
 */
export const overloadOf = (options: {
  readonly slices: readonly EndpointSlice[];
  /** Evacuations that run and are about the Service, oldest first. */
  readonly running: readonly ZoneRequest[];
  readonly wanted: ZoneRequest;
  /** Number of Nodes by zone, which stands for clients where nothing is measured. */
  readonly nodes: ReadonlyMap<string, number>;
  readonly measured: MeasuredLoad | undefined;
}) => {
  const { slices, running, wanted, nodes, measured } = options;
  const clientZones = [...nodes.keys()].sort();
  const { reason, together } = refusalFor(slices, clientZones, running, wanted);
  if (reason !== undefined) return together ? ({ kind: 'together' } as const) : undefined;
  const demand = measured?.demand ?? nodes;
  if (sumOf(demand.values()) === 0) return undefined;
  const leavesBy = (requests: readonly ZoneRequest[]) => {
    const { decision } = decideInOrder({ slices, clientZones, requests });
    return (endpoint: Endpoint): boolean => decision.kind === 'moved' && isLeaving(endpoint, decision);
  };
  const [leftBefore, leaves] = [leavesBy(running), leavesBy([...running, wanted])];
  const count = (endpoints: readonly Endpoint[]) => countBy(endpoints, ({ zone }) => zone ?? '');
  const found = [...Map.groupBy(slices, ({ addressType }) => addressType).values()].flatMap((own) => {
    // What one connection chooses among.
    const seen = own.flatMap((slice) => (slice.endpoints ?? []).filter(isEndpointReady));
    if (!seen.some((endpoint) => endpoint.zone === wanted.zone && leaves(endpoint))) return [];
    // Clients keep to their zone only where each endpoint has hints.
    const hinted = own.every((slice) => {
      const mark = markOf(slice);
      return (slice.endpoints ?? []).every((one) => !isEndpointReady(one) || zonesIn(baseUnder(one, mark)).length > 0);
    });
    const keeps = new Map(hinted ? [...demand.keys()].map((zone) => [zone, 1] as const) : []);
    const today = { endpoints: count(seen.filter((endpoint) => !leftBefore(endpoint))), demand, keeps };
    const scale =
      measured === undefined
        ? fairShareScale(demand, seen.length)
        : { weigh: (load: number) => (measured.utilization * load) / peakOf(today).load, limit: CAPACITY_LIMIT };
    const { tooMuch, after, limit } = withoutOthers(today, count(seen.filter((endpoint) => !leaves(endpoint))), scale);
    return tooMuch ? [{ kind: 'overloaded', after, limit } as const] : [];
  });
  return found.sort((one, other) => other.after - one.after)[0];
};
