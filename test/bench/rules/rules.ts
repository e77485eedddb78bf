// Rules of other projects, from their documentation, in the plant that ours is measured in.
import { DEFAULT_LOOP_POLICY } from '../../../pkg/flow/loop/from-spec.ts';
import { allocate } from '../../../pkg/upstream/controller/allocation.ts';
import { planLending } from '../../../pkg/upstream/controller/proportional.ts';
import type { HintsInForce } from '../../../pkg/flow/demand/arrivals.ts';
import { COUNTED_SECONDS } from '../loop/counter.ts';
import { band, informed, loopRule, sameZone, spread } from '../loop/rules.ts';
import type { PlantEndpoint, Rule } from '../loop/types.ts';

export interface ComparedRule {
  readonly name: string;
  readonly rule: Rule;
  /** How often it decides, seconds; default: when the scenario's metrics come. */
  readonly everySeconds?: number;
}

type Mutable = Map<string, Map<string, number>>;

const byZone = (endpoints: readonly PlantEndpoint[]): Map<string, PlantEndpoint[]> => {
  const zones = new Map<string, PlantEndpoint[]>();
  for (const endpoint of endpoints) zones.set(endpoint.zone, [...(zones.get(endpoint.zone) ?? []), endpoint]);
  return zones;
};

/** Weights of zones as weights of their endpoints: a zone's are asked alike. */
const spreadInZones = (
  weights: ReadonlyMap<string, number>,
  zones: ReadonlyMap<string, readonly PlantEndpoint[]>,
): Map<string, number> =>
  new Map(
    [...zones].flatMap(([zone, endpoints]) =>
      endpoints.map(({ name }) => [name, (weights.get(zone) ?? 0) / endpoints.length] as const),
    ),
  );

/** Kubernetes' annotation value Auto, all zones having the same CPUs: hints by number of endpoints, none where a zone gets too much. */
export const upstreamAuto: Rule =
  () =>
  ({ endpoints, observation }): HintsInForce => {
    const none = { spread: true, endpoints: [] };
    const ratios = new Map(observation.zones.map((zone) => [zone, 1 / observation.zones.length]));
    const allocation = allocate(ratios, endpoints.length);
    if (allocation.kind === 'refused') return none;
    const counts = new Map(observation.zones.map((zone) => [zone, 0]));
    for (const { zone } of endpoints) counts.set(zone, (counts.get(zone) ?? 0) + 1);
    const { give, receive } = planLending(allocation.zones, counts);
    const giving = new Map(give);
    const receiving = new Map(receive);
    const targetOf = (zone: string): string => {
      const taker = [...receiving].find(([, count]) => count > 0)?.[0];
      if ((giving.get(zone) ?? 0) <= 0 || taker === undefined) return zone;
      giving.set(zone, (giving.get(zone) ?? 0) - 1);
      receiving.set(taker, (receiving.get(taker) ?? 0) - 1);
      return taker;
    };
    const sorted = [...endpoints].sort((left, right) => (left.name < right.name ? -1 : 1));
    return { spread: false, endpoints: sorted.map(({ name, zone }) => ({ name, forZones: [targetOf(zone)] })) };
  };

/** Defaults of Envoy 1.40's `load_aware_locality`. */
const ENVOY = { smoothingSeconds: 5, threshold: 0.1, probes: 0.03 };

/**
 * Envoy 1.40's `load_aware_locality`, as its documentation describes the five steps (Load-aware locality load balancing, "How it
 * works"), with defaults: every second, smoothed utilisation by zone from ORCA reports; all local while the own zone is at most 0.1
 * above the mean of the others by hosts; else hosts × (1 − utilisation); 3 % of what is local probes the others by hosts.
 */
export const envoy: Rule = () => {
  const smoothed = new Map<string, number>();
  const alpha = 1 - Math.exp(-1 / ENVOY.smoothingSeconds);
  return ({ endpoints, loads, observation }) => {
    const zones = byZone(endpoints);
    for (const [zone, own] of zones) {
      // An endpoint without a report yet counts in none of the means.
      const reports = own.flatMap(({ name, capacity }) => {
        const load = loads.get(name);
        return load === undefined ? [] : [load / capacity];
      });
      if (reports.length === 0) continue;
      const now = reports.reduce((sum, value) => sum + value, 0) / reports.length;
      const before = smoothed.get(zone);
      smoothed.set(zone, before === undefined ? now : before + alpha * (now - before));
    }
    const weights: Mutable = new Map();
    for (const zone of observation.zones)
      weights.set(zone, spreadInZones(localityWeights(zone, zones, smoothed), zones));
    return { weights };
  };
};

const localityWeights = (
  local: string,
  zones: ReadonlyMap<string, readonly PlantEndpoint[]>,
  smoothed: ReadonlyMap<string, number>,
): Map<string, number> => {
  const hosts = (zone: string): number => zones.get(zone)?.length ?? 0;
  const utilization = (zone: string): number => smoothed.get(zone) ?? 0;
  const remote = [...zones.keys()].filter((zone) => zone !== local);
  const others = remote.reduce((sum, zone) => sum + hosts(zone), 0);
  const mean = remote.reduce((sum, zone) => sum + hosts(zone) * utilization(zone), 0) / Math.max(1, others);
  const headroom = new Map([...zones.keys()].map((zone) => [zone, hosts(zone) * Math.max(0, 1 - utilization(zone))]));
  if (hosts(local) > 0 && utilization(local) <= mean + ENVOY.threshold)
    for (const zone of zones.keys()) headroom.set(zone, zone === local ? hosts(local) : 0);
  let sum = [...headroom.values()].reduce((all, weight) => all + weight, 0);
  // Everything is full: by hosts.
  if (sum === 0) for (const zone of zones.keys()) (headroom.set(zone, hosts(zone)), (sum += hosts(zone)));
  const away = 1 - (headroom.get(local) ?? 0) / sum;
  const lacking = Math.min(Math.max(0, ENVOY.probes - away), (headroom.get(local) ?? 0) / sum) * sum;
  for (const zone of remote)
    headroom.set(zone, (headroom.get(zone) ?? 0) + (others > 0 ? lacking * (hosts(zone) / others) : 0));
  if (others > 0) headroom.set(local, (headroom.get(local) ?? 0) - lacking);
  return headroom;
};

/** How slowly a waterfall's rates follow, seconds: the same smoothing as Envoy's. */
const RATE_SECONDS = 5;

/**
 * Google's `WATERFALL_BY_ZONE`: each zone has a configured capacity, here `cap` of what its endpoints can do; a zone's clients use
 * it up first, the rest goes to the others by what they have left, and what no zone has room for by capacity.
 */
export const waterfall =
  (cap: number): Rule =>
  () => {
    const rates = new Map<string, number>();
    const alpha = 1 - Math.exp(-1 / RATE_SECONDS);
    return ({ endpoints, asked, observation }) => {
      const zones = byZone(endpoints);
      const room = new Map(
        [...zones].map(([zone, own]) => [zone, cap * own.reduce((sum, { capacity }) => sum + capacity, 0)]),
      );
      for (const zone of observation.zones) {
        const before = rates.get(zone);
        const now = asked[zone] ?? 0;
        rates.set(zone, before === undefined ? now : before + alpha * (now - before));
      }
      const kept = new Map(
        observation.zones.map((zone) => [zone, Math.min(rates.get(zone) ?? 0, room.get(zone) ?? 0)]),
      );
      const left = new Map([...room].map(([zone, value]) => [zone, value - (kept.get(zone) ?? 0)]));
      const excess = observation.zones.reduce((sum, zone) => sum + (rates.get(zone) ?? 0) - (kept.get(zone) ?? 0), 0);
      const free = [...left.values()].reduce((sum, value) => sum + value, 0);
      const total = [...room.values()].reduce((sum, value) => sum + value, 0);
      const placed = excess > 0 ? Math.min(1, free / excess) : 1;
      const weights: Mutable = new Map();
      for (const zone of observation.zones) {
        const rate = rates.get(zone) ?? 0;
        const over = rate - (kept.get(zone) ?? 0);
        const byRoom = new Map(
          [...room].map(([name, capacity]) => [
            name,
            over * placed * (free > 0 ? (left.get(name) ?? 0) / free : 0) +
              over * (1 - placed) * (capacity / total) +
              (name === zone ? (kept.get(zone) ?? 0) : 0),
          ]),
        );
        weights.set(zone, spreadInZones(byRoom, zones));
      }
      return { weights };
    };
  };

export const COMPARED: readonly ComparedRule[] = [
  { name: 'spread', rule: spread },
  { name: 'same zone', rule: sameZone },
  { name: 'Auto (Kubernetes)', rule: upstreamAuto },
  { name: 'band (Linkerd HAZL)', rule: band },
  { name: 'load_aware_locality (Envoy)', rule: envoy, everySeconds: 1 },
  { name: 'waterfall, 60 %', rule: waterfall(0.6), everySeconds: 1 },
  { name: 'waterfall, 70 %', rule: waterfall(0.7), everySeconds: 1 },
  { name: 'waterfall, 80 %', rule: waterfall(0.8), everySeconds: 1 },
  { name: 'load-aware (ours)', rule: loopRule() },
  { name: 'load-aware, meters (ours)', rule: loopRule(DEFAULT_LOOP_POLICY, true), everySeconds: COUNTED_SECONDS },
  { name: 'true demand, 15–30 s late', rule: informed },
];
