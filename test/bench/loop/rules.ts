// Ours, and the rules that it is compared with.
import { DEFAULT_LOOP_POLICY } from '../../../pkg/flow/loop/from-spec.ts';
import { step } from '../../../pkg/flow/loop/step.ts';
import type { LoopPolicy, LoopState } from '../../../pkg/flow/loop/types.ts';
import { planWithin } from '../../../pkg/flow/loop/decide.ts';
import type { HintsInForce } from '../../../pkg/flow/demand/arrivals.ts';
import { COUNTED_SECONDS } from './counter.ts';
import { METERED } from './table.ts';
import type { PlantEndpoint, Rule } from './types.ts';

const ownZones = (endpoints: readonly PlantEndpoint[]): HintsInForce => ({
  spread: false,
  endpoints: [...endpoints]
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map(({ name, zone }) => ({ name, forZones: [zone] })),
});

/** No hints. */
export const spread: Rule = () => () => ({ spread: true, endpoints: [] });

/** Every endpoint serves its own zone, whatever the load. */
export const sameZone: Rule =
  () =>
  ({ endpoints }) =>
    ownZones(endpoints);

/** The planner with the true demand of 15 to 30 seconds ago, anew each time: what a loop without hysteresis could reach. */
export const informed: Rule =
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
export const band: Rule = () => {
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
export const loopRule =
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
export const eager: LoopPolicy = {
  ...DEFAULT_LOOP_POLICY,
  upperUtilization: DEFAULT_LOOP_POLICY.targetUtilization,
  upDwellSeconds: 0,
  downDwellSeconds: 0,
  planIntervalSeconds: 0,
  worthwhileSaving: 0,
};

/** `askSeconds`: how often the rule is asked, where that is not the scenario's. */
export const RULES: readonly { readonly name: string; readonly rule: Rule; readonly askSeconds?: number }[] = [
  { name: 'spread', rule: spread },
  { name: 'same zone', rule: sameZone },
  { name: 'band', rule: band },
  { name: 'true demand, 15–30 s late', rule: informed },
  { name: 'loop without hysteresis', rule: loopRule(eager) },
  { name: 'loop', rule: loopRule() },
  { name: METERED, rule: loopRule(DEFAULT_LOOP_POLICY, true), askSeconds: COUNTED_SECONDS },
];
