// Ours, and the rules of other projects, from their documentation, in the same plant.
import type { HintsInForce } from '../../../pkg/flow/demand/arrivals.ts';
import { planWithin } from '../../../pkg/flow/loop/decide.ts';
import { DEFAULT_LOOP_POLICY } from '../../../pkg/flow/loop/from-spec.ts';
import { step } from '../../../pkg/flow/loop/step.ts';
import type { LoopPolicy, LoopState } from '../../../pkg/flow/loop/types.ts';
import { allocate } from '../../../pkg/upstream/controller/allocation.ts';
import { planLending } from '../../../pkg/upstream/controller/proportional.ts';
import { COUNTED_SECONDS } from './instruments.ts';
import { EAGER, METERED, OURS } from './table.ts';
import type { PlantEndpoint, Rule } from './types.ts';

const ownZones = (endpoints: readonly PlantEndpoint[]): HintsInForce => ({
  spread: false,
  endpoints: [...endpoints]
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map(({ name, zone }) => ({ name, forZones: [zone] })),
});

/** No hints. */
const spread: Rule = () => () => ({ spread: true, endpoints: [] });

/** Every endpoint serves its own zone, whatever the load. */
const sameZone: Rule =
  () =>
  ({ endpoints }) =>
    ownZones(endpoints);

/** The planner with the true demand of 15 to 30 seconds ago, anew each time: what a loop without hysteresis could reach. */
const informed: Rule =
  () =>
  ({ endpoints, idleCores = 0, trueDemand }) => {
    const left = endpoints.map((endpoint) => ({ ...endpoint, capacity: endpoint.capacity - idleCores }));
    const plan = planWithin({ ...DEFAULT_LOOP_POLICY, worthwhileSaving: 0 }, { endpoints: left, demand: trueDemand });
    return { spread: plan.spread, endpoints: plan.endpoints };
  };

const BAND = { low: 0.32, high: 0.8 };

/**
 * A band around the load of each zone's own endpoints, after Linkerd's HAZL: above it one endpoint of another zone joins, below
 * it one leaves; ratio of the band 0.4, as there.
 */
const band: Rule = () => {
  const remote = new Map<string, string[]>();
  return ({ observation, endpoints }) => {
    const loads = new Map(
      observation.endpoints.map(({ name, load, capacity }) => [name, load === null ? undefined : load / capacity]),
    );
    const present = new Set(endpoints.map(({ name }) => name));
    for (const zone of observation.zones) {
      const own = endpoints.filter((endpoint) => endpoint.zone === zone);
      const others = (remote.get(zone) ?? []).filter((name) => present.has(name));
      remote.set(zone, others);
      const active = [...own.map(({ name }) => name), ...others];
      const known = active.flatMap((name) => loads.get(name) ?? []);
      const mean = known.reduce((sum, load) => sum + load, 0) / known.length;
      const spare = endpoints
        .filter((endpoint) => endpoint.zone !== zone && !others.includes(endpoint.name))
        .sort(
          (left, right) =>
            (loads.get(left.name) ?? 0) - (loads.get(right.name) ?? 0) || (left.name < right.name ? -1 : 1),
        );
      if (active.length === 0 || mean > BAND.high) {
        const [next] = spare;
        if (next !== undefined) others.push(next.name);
      } else if (mean < BAND.low) others.pop();
    }
    return {
      spread: false,
      endpoints: ownZones(endpoints).endpoints.map(({ name, forZones }) => ({
        name,
        forZones: [
          ...forZones,
          ...observation.zones.filter((zone) => remote.get(zone)?.includes(name) === true),
        ].sort(),
      })),
    };
  };
};

/** The loop of this project: from the load of the endpoints alone, or with what traffic-meters count beside it. */
const loopRule =
  (policy: LoopPolicy = DEFAULT_LOOP_POLICY, metered = false): Rule =>
  () => {
    let state: LoopState | undefined;
    return ({ observation, counted }) => {
      const measured = metered && counted !== undefined ? { measured: counted } : {};
      const next = step(policy, state, { ...observation, ...measured });
      ({ state } = next);
      return { spread: next.decision.spread, endpoints: next.decision.endpoints };
    };
  };

/** The same without any hysteresis: every estimate is planned for at once. */
const eager: LoopPolicy = {
  ...DEFAULT_LOOP_POLICY,
  upperUtilization: DEFAULT_LOOP_POLICY.targetUtilization,
  upDwellSeconds: 0,
  downDwellSeconds: 0,
  planIntervalSeconds: 0,
  worthwhileSaving: 0,
};

interface ComparedRule {
  readonly name: string;
  readonly rule: Rule;
  /** How often it decides, seconds; default: when the scenario's metrics come. */
  readonly everySeconds?: number;
}

/** Kubernetes' annotation value Auto, all zones having the same CPUs: hints by number of endpoints, none where a zone gets too much. */
const upstreamAuto: Rule =
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

const byZone = (endpoints: readonly PlantEndpoint[]): Map<string, PlantEndpoint[]> =>
  Map.groupBy(endpoints, ({ zone }) => zone);

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

/** How slowly a waterfall's rates follow, seconds. */
const RATE_SECONDS = 5;

/**
 * Google's `WATERFALL_BY_ZONE`: each zone has a configured capacity, here `cap` of what its endpoints can do; a zone's clients use
 * it up first, the rest goes to the others by what they have left, and what no zone has room for by capacity.
 */
const waterfall =
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
      const weights = new Map<string, Map<string, number>>();
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

export const RULES: readonly ComparedRule[] = [
  { name: 'spread', rule: spread },
  { name: 'same zone', rule: sameZone },
  { name: 'Auto (Kubernetes)', rule: upstreamAuto },
  { name: 'band (Linkerd HAZL)', rule: band },
  { name: 'waterfall, 60 %', rule: waterfall(0.6), everySeconds: 1 },
  { name: 'waterfall, 70 %', rule: waterfall(0.7), everySeconds: 1 },
  { name: 'waterfall, 80 %', rule: waterfall(0.8), everySeconds: 1 },
  { name: EAGER, rule: loopRule(eager) },
  { name: OURS, rule: loopRule() },
  { name: METERED, rule: loopRule(DEFAULT_LOOP_POLICY, true), everySeconds: COUNTED_SECONDS },
  { name: 'true demand, 15–30 s late', rule: informed },
];
