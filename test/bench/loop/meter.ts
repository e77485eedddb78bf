// What a run costs: load above capacity that had a place elsewhere, traffic between zones beyond the bound, changed hints.
import { type HintsInForce, hintsOf } from '../../../pkg/flow/demand/arrivals.ts';
import { planHints } from '../../../pkg/flow/planner.ts';
import type { Demand } from '../../../pkg/flow/types.ts';
import type { Experience, PlantEndpoint } from './types.ts';

/** Utilisation that the bound on traffic between zones is of. */
const TARGET = 0.7;

export interface Tick {
  readonly flows: readonly { readonly zone: string; readonly name: string; readonly load: number }[];
  readonly endpoints: readonly PlantEndpoint[];
  /** Without noise. */
  readonly demand: Demand;
}

export interface Meter {
  planned(before: HintsInForce | undefined, after: HintsInForce, endpoints: readonly PlantEndpoint[]): void;
  /** Returns the load by endpoint, cores. */
  tick(tick: Tick, time: number): ReadonlyMap<string, number>;
  outcome(seconds: number): Experience;
}

/** The fraction of demand beyond which a second counts as overloaded, or as crossing needlessly, and how long that is looked for. */
const OVERLOADED = { fraction: 0.01, seconds: 300 };
const CROSSING = { fraction: 0.05, seconds: 900 };

/** Seconds from `begin` to the last of the next `seconds` in which `value` was above `fraction`. */
const createLast = (begin: number | undefined, { fraction, seconds }: typeof CROSSING) => {
  let last = 0;
  return {
    seen: (time: number, value: number): void => {
      if (begin !== undefined && time >= begin && time < begin + seconds && value > fraction) last = time + 1 - begin;
    },
    seconds: (): number | undefined => (begin === undefined ? undefined : last),
  };
};

/** Computed once for all rules: the slowest part of a simulation. */
const bounds = new Map<string, number>();

/** The least fraction of demand that has to cross zones. */
const boundOf = (endpoints: readonly PlantEndpoint[], demand: Demand): number => {
  const rounded = Object.fromEntries(
    Object.entries(demand).map(([zone, value]) => [zone, Number(value.toPrecision(3))]),
  );
  const key = JSON.stringify([rounded, endpoints.map(({ name, zone, capacity }) => [name, zone, capacity])]);
  let bound = bounds.get(key);
  if (bound === undefined) {
    const capacity = endpoints.reduce((sum, endpoint) => sum + endpoint.capacity, 0);
    const level = Object.values(rounded).reduce((sum, value) => sum + value, 0) / capacity;
    // With more demand than the target allows, the least that has to cross is that of the level which all have to bear.
    const { bounds: upper } = planHints({ endpoints, demand: rounded, targetUtilization: Math.max(TARGET, level) });
    bound = 1 - (level > TARGET ? upper.lp : upper.integrality);
    bounds.set(key, bound);
  }
  return bound;
};

/** `surge`: begin and end of what reaction and recovery are counted from, seconds. */
export const createMeter = (surge?: readonly number[]): Meter => {
  const reaction = createLast(surge?.[0], OVERLOADED);
  const recovery = createLast(surge?.[1], CROSSING);
  let stayed = 0;
  let asked = 0;
  let overload = 0;
  let regret = 0;
  let changes = 0;
  let endpointSeconds = 0;
  return {
    planned: (before, after, endpoints) => {
      if (before === undefined) return;
      const [left, right] = [hintsOf(before), hintsOf(after)];
      for (const endpoint of endpoints) if (left(endpoint).join() !== right(endpoint).join()) changes += 1;
    },
    tick: ({ flows, endpoints, demand }, time) => {
      const zoneOf = new Map(endpoints.map(({ name, zone }) => [name, zone]));
      const loads = new Map<string, number>();
      let total = 0;
      let crossing = 0;
      for (const { zone, name, load } of flows) {
        loads.set(name, (loads.get(name) ?? 0) + load);
        total += load;
        if (zoneOf.get(name) !== zone) crossing += load;
      }
      const capacity = endpoints.reduce((sum, endpoint) => sum + endpoint.capacity, 0);
      const above = endpoints.reduce(
        (sum, { name, capacity: own }) => sum + Math.max(0, (loads.get(name) ?? 0) - own),
        0,
      );
      const avoidable = Math.max(0, above - Math.max(0, total - capacity));
      overload += avoidable;
      asked += total;
      stayed += total - crossing;
      if (total > 0) {
        const needless = Math.max(0, crossing - total * boundOf(endpoints, demand));
        regret += needless;
        reaction.seen(time, avoidable / total);
        recovery.seen(time, needless / total);
      }
      endpointSeconds += endpoints.length;
      return loads;
    },
    outcome: (seconds) => ({
      overload: asked === 0 ? 0 : overload / asked,
      regret: asked === 0 ? 0 : regret / asked,
      inZone: asked === 0 ? 1 : stayed / asked,
      reactSeconds: reaction.seconds(),
      recoverySeconds: recovery.seconds(),
      changes: endpointSeconds === 0 ? 0 : changes / (endpointSeconds / seconds) / (seconds / 3600),
    }),
  };
};
