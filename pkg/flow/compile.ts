// SPDX-License-Identifier: Apache-2.0
// Turns endpoints and zones with names into the numbers the planner works on, and groups of numbers back into hints.
import { byName, checkedCost } from './input.ts';
import { createProblem, MAX_ZONES } from './problem.ts';
import type { EndpointClass, Group, Problem } from './problem.ts';
import type { FlowEndpoint, PlanInput, PlannedEndpoint } from './types.ts';

export interface Compiled {
  readonly problem: Problem;
  /** Names of the zones with clients, by index. */
  readonly zones: readonly string[];
  /** By class, in name order. */
  readonly members: readonly (readonly FlowEndpoint[])[];
  /** Demand of clients outside of any zone, as a share of all. */
  readonly homeless: number;
  /** Hints in force of the endpoints that have hints which mean anything to the clients. */
  readonly inForce: readonly Group[];
}

const classKey = ({ zone, capacity }: FlowEndpoint): string => `${zone}\n${capacity}`;

const classesOf = (endpoints: readonly FlowEndpoint[]): FlowEndpoint[][] => {
  const sorted = [...endpoints].sort(
    (a, b) => byName(a.zone, b.zone) || b.capacity - a.capacity || byName(a.name, b.name),
  );
  const byKey = new Map<string, FlowEndpoint[]>();
  for (const endpoint of sorted) {
    const members = byKey.get(classKey(endpoint));
    if (members === undefined) byKey.set(classKey(endpoint), [endpoint]);
    else members.push(endpoint);
  }
  return [...byKey.values()];
};

/** Indices of the zones with clients that an endpoint is hinted for, in order; undefined if its hints reach no client at all. */
const projected = (endpoint: FlowEndpoint, indexOf: ReadonlyMap<string, number>): number[] | undefined => {
  const zones = new Set<number>();
  let own = false;
  for (const name of endpoint.forZones ?? []) {
    const index = indexOf.get(name);
    if (index !== undefined) zones.add(index);
    own ||= name === endpoint.zone;
  }
  return zones.size > 0 || (own && !indexOf.has(endpoint.zone)) ? [...zones].sort((a, b) => a - b) : undefined;
};

const groupsInForce = (members: Compiled['members'], indexOf: ReadonlyMap<string, number>): Group[] =>
  members.flatMap((endpoints, kind) => {
    const byZones = new Map<string, Group>();
    for (const endpoint of endpoints) {
      const zones = projected(endpoint, indexOf);
      if (zones === undefined) continue;
      const count = (byZones.get(zones.join())?.count ?? 0) + 1;
      byZones.set(zones.join(), { kind, zones, count });
    }
    return [...byZones.values()];
  });

const costsOf = (
  { cost }: PlanInput,
  zones: readonly string[],
  members: Compiled['members'],
): Problem['cost'] | undefined =>
  cost === undefined
    ? undefined
    : zones.map((client) =>
        members.map(([first]) => {
          const zone = first?.zone ?? '';
          return zone === client ? 0 : checkedCost(client, zone, cost(client, zone));
        }),
      );

/** Needs demand above 0 and an endpoint. */
export const compile = (input: PlanInput): Compiled => {
  const { endpoints, demand, targetUtilization, minEndpoints = 1 } = input;
  const names = Object.keys(demand).sort(byName);
  const total = names.reduce((sum, zone) => sum + (demand[zone] ?? 0), 0);
  const zones = names.filter((zone) => zone !== '' && (demand[zone] ?? 0) > 0);
  const indexOf = new Map(zones.map((zone, index) => [zone, index]));
  const homeless = (demand[''] ?? 0) / total;
  const members = classesOf(endpoints);
  const classes = members.map((group): EndpointClass => {
    const { zone = '', capacity = 0 } = group[0] ?? {};
    const index = indexOf.get(zone) ?? -1;
    // Clients outside of any zone use every endpoint, whatever the hints: that part of the limit is taken.
    const limit = (targetUtilization * capacity) / total - homeless / endpoints.length;
    return { zone: index, limit, count: group.length, idle: index < 0 && zone !== '' };
  });
  const cost = costsOf(input, zones, members);
  const problem = createProblem({
    demand: zones.map((zone) => (demand[zone] ?? 0) / total),
    classes,
    minEndpoints,
    ...(cost === undefined ? {} : { cost }),
  });
  return { problem, zones, members, homeless, inForce: groupsInForce(members, indexOf) };
};

const namesOf = ({ zones }: Compiled, indices: readonly number[], endpoint: FlowEndpoint, idle: boolean): string[] => {
  const names = indices.map((index) => zones[index] ?? '');
  // Its own zone has no clients now; if some come, they find it.
  if (idle && names.length < MAX_ZONES) names.push(endpoint.zone);
  return names.sort(byName);
};

/**
 * Hints by name: those whose hints in force are wanted keep them, the others get what is left in name order. So no choice of
 * the same groups changes fewer endpoints.
 */
export const hintsOf = (compiled: Compiled, groups: readonly Group[]): PlannedEndpoint[] => {
  const indexOf = new Map(compiled.zones.map((zone, index) => [zone, index]));
  const hints = compiled.members.flatMap((endpoints, kind) => {
    const idle = compiled.problem.classes[kind]?.idle ?? false;
    const left = new Map<string, { readonly zones: readonly number[]; count: number }>();
    for (const group of groups) {
      if (group.kind !== kind) continue;
      const entry = left.get(group.zones.join()) ?? { zones: group.zones, count: 0 };
      left.set(group.zones.join(), { ...entry, count: entry.count + group.count });
    }
    const kept = new Set<FlowEndpoint>();
    for (const endpoint of endpoints) {
      const entry = left.get(projected(endpoint, indexOf)?.join() ?? 'none');
      if (entry === undefined || entry.count === 0) continue;
      entry.count -= 1;
      kept.add(endpoint);
    }
    const rest = [...left]
      .sort(([a], [b]) => byName(a, b))
      .flatMap(([, { zones, count }]) => Array.from({ length: count }, () => zones));
    return endpoints.map((endpoint): PlannedEndpoint => {
      if (kept.has(endpoint)) return { name: endpoint.name, forZones: [...new Set(endpoint.forZones)].sort(byName) };
      return { name: endpoint.name, forZones: namesOf(compiled, rest.shift() ?? [], endpoint, idle) };
    });
  });
  return hints.sort((a, b) => byName(a.name, b.name));
};
