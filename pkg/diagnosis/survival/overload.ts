// Which Services an evacuation would overload, or leave without endpoints together with others that run, by what a controller has in its
// caches. `kubectl topology evacuate` sees more: routers, Pods, measured clients.
import type { EndpointSlice } from '../../apis/core.ts';
import { isEndpointReady } from '../../apis/readings.ts';
import { sumOf } from '../../apis/sum.ts';
import { decideInOrder, markOf } from '../../evacuation/decide.ts';
import type { Leave, ServiceDecision } from '../../evacuation/decide.ts';
import { baseUnder, isLeaving } from '../../evacuation/slice.ts';
import { peakOf, ROUNDING } from './load.ts';

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
