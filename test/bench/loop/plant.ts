// A Service in seconds: kube-proxy's choice, endpoints with a capacity, noise, metrics that are averaged and late.
import { type HintsInForce, hintsOf, sharingOf } from '../../../pkg/flow/demand/arrivals.ts';
import type { Observation } from '../../../pkg/flow/loop/types.ts';
import { createAutoscaler, createCounter, createSampler, LATE, WINDOW } from './instruments.ts';
import type { Opened, Sampler } from './instruments.ts';
import { createMeter } from './meter.ts';
import { normalOf, randomOf } from './random.ts';
import type { Demand } from '../../../pkg/flow/types.ts';
import type { Experience, PlantEndpoint, Rule, Scenario, Weights } from './types.ts';

/** Demand changes in the middle of a sample's window as a rule: 2, 7 or 12 seconds into it, by seed. */
const phaseOf = (seed: number): number => (2 + 5 * seed) % WINDOW;
/** From a slice's write to the rules of every proxy, seconds. */
const PROXY_DELAY = 1;

/** Fractions of a zone's demand by endpoint. */
type Shares = ReadonlyMap<string, number>;

/** Connections are few enough that endpoints with the same share get different loads. */
const ENDPOINT_NOISE = 0.08;
const DEMAND_NOISE = 0.04;
/** How slowly noise changes, seconds. */
const NOISE_SECONDS = 10;

const uniform = (scenario: Scenario, endpoints: readonly PlantEndpoint[], plan: HintsInForce): Map<string, Shares> => {
  const { zones, sharers, orphans } = sharingOf([...scenario.zones].sort(), endpoints, plan);
  const hints = hintsOf(plan);
  return new Map(
    zones.map((zone, index) => {
      const users = endpoints.filter((endpoint) => orphans.includes(zone) || hints(endpoint).includes(zone));
      return [zone, new Map(users.map(({ name }) => [name, 1 / (sharers[index] ?? 1)]))];
    }),
  );
};

/** Weights as they work on the endpoints that are there; a zone for which none is left uses all alike. */
const weighted = (scenario: Scenario, endpoints: readonly PlantEndpoint[], { weights }: Weights): Map<string, Shares> =>
  new Map(
    scenario.zones.map((zone) => {
      const given = endpoints.map(({ name }) => [name, weights.get(zone)?.get(name) ?? 0] as const);
      const sum = given.reduce((all, [, share]) => all + share, 0);
      return [zone, new Map(given.map(([name, share]) => [name, sum > 0 ? share / sum : 1 / endpoints.length]))];
    }),
  );

/** Moves a share of long-lived connections towards where new ones go; those of endpoints that went are opened anew. */
const drift = (old: Shares | undefined, fresh: Shares, endpoints: ReadonlySet<string>, fraction: number): Shares => {
  if (old === undefined) return fresh;
  const kept = [...old].filter(([name]) => endpoints.has(name));
  const remaining = kept.reduce((sum, [, share]) => sum + share, 0);
  const moved = new Map<string, number>();
  for (const [name, share] of kept) moved.set(name, share * (1 - fraction));
  const opened = 1 - remaining * (1 - fraction);
  for (const [name, share] of fresh) moved.set(name, (moved.get(name) ?? 0) + share * opened);
  return moved;
};

/** What an endpoint's idle load leaves of it. */
const leaving =
  (idleCores: number) =>
  (endpoint: PlantEndpoint): PlantEndpoint => ({ ...endpoint, capacity: endpoint.capacity - idleCores });

interface Noise {
  readonly of: (key: string, deviation: number) => number;
}

/** Noise that changes slowly, one a key. */
const createNoise = (seed: number): Noise & { tick(): void } => {
  const normal = normalOf(randomOf(seed));
  const values = new Map<string, number>();
  const keep = Math.exp(-1 / NOISE_SECONDS);
  return {
    of: (key, deviation) => {
      let value = values.get(key);
      if (value === undefined) values.set(key, (value = normal()));
      return Math.max(0, 1 + deviation * value);
    },
    tick: () => {
      for (const [key, value] of values) values.set(key, keep * value + Math.sqrt(1 - keep * keep) * normal());
    },
  };
};

/** Runs a rule in a scenario. A rule of proxies (`everySeconds`) works from the next second on; hints take as long as kube-proxy. */
export const simulate = (scenario: Scenario, createRule: Rule, seed: number, askSeconds = WINDOW): Experience => {
  const rule = createRule();
  const noise = createNoise(seed);
  const meter = createMeter(scenario.surge?.map((time) => time + phaseOf(seed)));
  const autoscaler = scenario.autoscaler === undefined ? undefined : createAutoscaler(scenario, scenario.autoscaler);
  const demandAt = (time: number): Demand => scenario.demand(time - phaseOf(seed));
  let plans: { from: number; plan: HintsInForce | Weights }[] = [
    { from: -Infinity, plan: { spread: false, endpoints: [] } },
  ];
  const sampler = createSampler(scenario);
  const counter = createCounter(seed);
  let longLived = new Map<string, Shares>();
  let known = '';
  for (let time = 0; time < scenario.durationSeconds; time += 1) {
    noise.tick();
    const endpoints = autoscaler?.endpoints(time) ?? scenario.endpoints(time);
    // Endpoints are watched: a rule hears of a change at once, of load when it asks.
    const present = endpoints.map(({ name }) => name).join();
    if (time % askSeconds === 0 || present !== known) {
      known = present;
      const plan = rule({
        observation: observationAt(scenario, time, endpoints, sampler),
        trueDemand: demandAt(Math.max(0, time - LATE)),
        endpoints,
        idleCores: scenario.idleCores ?? 0,
        asked: demandAt(Math.max(0, time - 1)),
        counted: isWithout(scenario, time) ? undefined : counter.latest(time),
      });
      if (plan !== undefined) {
        const before = plans.at(-1)?.plan;
        if (!('weights' in plan) && before !== undefined && !('weights' in before))
          meter.planned(before, plan, endpoints);
        plans = [...plans.slice(-PROXY_DELAY), { from: time + PROXY_DELAY, plan }];
      }
    }
    const plan = plans.findLast(({ from }) => from <= time)?.plan ?? { spread: true, endpoints: [] };
    const fresh = 'weights' in plan ? weighted(scenario, endpoints, plan) : uniform(scenario, endpoints, plan);
    const names = new Set(endpoints.map(({ name }) => name));
    const life = scenario.longLivedSeconds ?? 600;
    longLived = new Map(
      [...fresh].map(([zone, shares]) => [zone, drift(longLived.get(zone), shares, names, 1 / life)]),
    );
    const sticky = scenario.longLivedShare ?? 0;
    const asked = demandAt(time);
    const flows: { zone: string; name: string; load: number }[] = [];
    const opened: Opened[] = [];
    const zoneOf = new Map(endpoints.map(({ name, zone }) => [name, zone]));
    for (const zone of scenario.zones) {
      const demand = (asked[zone] ?? 0) * noise.of(zone, DEMAND_NOISE);
      const shares = new Map<string, number>();
      for (const [name, share] of fresh.get(zone) ?? []) shares.set(name, share * (1 - sticky));
      for (const [name, share] of longLived.get(zone) ?? []) shares.set(name, (shares.get(name) ?? 0) + share * sticky);
      const noisy = [...shares].map(
        ([name, share]) => [name, share * noise.of(`${zone}/${name}`, ENDPOINT_NOISE)] as const,
      );
      const sum = noisy.reduce((all, [, share]) => all + share, 0);
      if (sum > 0) for (const [name, share] of noisy) flows.push({ zone, name, load: (demand * share) / sum });
      // Connections that stay where they are cause load, and are not opened again.
      for (const [name, share] of fresh.get(zone) ?? [])
        opened.push({ from: zone, to: zoneOf.get(name) ?? '', load: demand * share * (1 - sticky) });
    }
    counter.record(time, opened);
    const { idleCores = 0 } = scenario;
    const arriving = meter.tick({ flows, endpoints: endpoints.map(leaving(idleCores)), demand: asked }, time);
    let utilization = 0;
    const hanging = scenario.hanging?.(time);
    for (const { name, zone, capacity } of endpoints) {
      const load = zone === hanging ? 0 : Math.min(capacity, (arriving.get(name) ?? 0) + idleCores);
      utilization += load / capacity / endpoints.length;
      sampler.record(time, name, load);
    }
    autoscaler?.tick(time, utilization);
  }
  return meter.outcome(scenario.durationSeconds);
};

/** No measurement reaches the rule. */
const isWithout = ({ metricsGap: [from, to] = [Infinity, Infinity] }: Scenario, time: number): boolean =>
  time >= from && time < to;

const observationAt = (
  { zones }: Scenario,
  time: number,
  endpoints: readonly PlantEndpoint[],
  sampler: Sampler,
): Observation => ({
  time,
  zones,
  window: WINDOW,
  endpoints: endpoints.map(({ name, zone, capacity }) => {
    const { load = null, at = null } = sampler.latest(name, time) ?? {};
    return { name, zone, capacity, ready: true, load, sampledAt: at };
  }),
});
