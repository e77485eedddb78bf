// The optimum by brute force, written from the rules of the proxies alone and without any of the planner's code.
import type { FlowEndpoint, PlanInput } from '../../../pkg/flow/types.ts';

export interface Optimum {
  readonly overload: number;
  readonly cost: number;
  readonly inZoneShare: number;
  /** Fewest endpoints that change among all plans that are as good. */
  readonly changes: number;
}

const subsets = (zones: readonly string[]): string[][] =>
  zones.reduce<string[][]>((all, zone) => all.concat(all.map((set) => set.concat(zone))), [[]]);

/** What hints lead to; an empty list for every endpoint is spread. */
export const judge = (input: PlanInput, hints: readonly (readonly string[])[]): Omit<Optimum, 'changes'> => {
  const { endpoints, demand, targetUtilization, cost = () => 1 } = input;
  const ignored = hints.some((set) => set.length === 0);
  const load = endpoints.map(() => 0);
  const all = endpoints.map((_, index) => index);
  let [local, paid, total] = [0, 0, 0];
  for (const [zone, cores] of Object.entries(demand)) {
    total += cores;
    let members = ignored || zone === '' ? all : all.filter((index) => hints[index]?.includes(zone));
    if (members.length === 0) members = all;
    for (const index of members) {
      load[index]! += cores / members.length;
      if (zone !== '' && endpoints[index]!.zone === zone) local += cores / members.length;
      else if (cores > 0) paid += (cores / members.length) * cost(zone, endpoints[index]!.zone);
    }
  }
  const overload = endpoints.reduce((sum, { capacity }, index) => {
    const above = load[index]! - targetUtilization * capacity;
    return above > 1e-9 * total ? sum + above : sum;
  }, 0);
  return { overload, cost: paid, inZoneShare: local / total };
};

const differs = ({ forZones = [] }: FlowEndpoint, hints: readonly string[]): boolean =>
  [...forZones].sort().join() !== [...hints].sort().join();

const enough = ({ demand, endpoints, minEndpoints = 1 }: PlanInput, hints: readonly (readonly string[])[]): boolean =>
  Object.entries(demand).every(([zone, cores]) => {
    const serving = hints.filter((set) => set.includes(zone)).length;
    return cores === 0 || zone === '' || serving >= Math.min(minEndpoints, endpoints.length);
  });

/** Tries every non-empty set of zones for every endpoint, and spread. */
export const bruteForce = (input: PlanInput): Optimum => {
  const clients = Object.keys(input.demand).filter((zone) => zone !== '' && input.demand[zone]! > 0);
  const choices = input.endpoints.map(({ zone }) => {
    const sets = subsets(clients).filter((set) => set.length > 0);
    return clients.includes(zone) || zone === '' ? sets : [[zone], ...sets.map((set) => [...set, zone])];
  });
  const total = Object.values(input.demand).reduce((sum, cores) => sum + cores, 0);
  const same = (left: number, right: number): boolean => Math.abs(left - right) <= 1e-9 * total;
  let best: Optimum | undefined;
  const look = (hints: readonly (readonly string[])[]): void => {
    if (hints[0]!.length > 0 && !enough(input, hints)) return;
    const found = judge(input, hints);
    const order =
      best === undefined
        ? -1
        : !same(found.overload, best.overload)
          ? found.overload - best.overload
          : same(found.cost, best.cost)
            ? 0
            : found.cost - best.cost;
    if (order > 0) return;
    const changes = input.endpoints.filter((endpoint, index) => differs(endpoint, hints[index]!)).length;
    if (order < 0 || changes < best!.changes) best = { ...found, changes };
  };
  look(input.endpoints.map(() => []));
  // Without any client zone an endpoint that is in none cannot be hinted.
  if (choices.some(({ length }) => length === 0)) return best!;
  const chosen = choices.map(() => 0);
  for (;;) {
    look(chosen.map((choice, index) => choices[index]![choice]!));
    let index = 0;
    while (index < chosen.length && chosen[index] === choices[index]!.length - 1) {
      chosen[index] = 0;
      index += 1;
    }
    if (index === chosen.length) return best!;
    chosen[index]! += 1;
  }
};
