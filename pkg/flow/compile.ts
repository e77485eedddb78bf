// Turns endpoints and zones with names into the numbers the planner works on, and groups of numbers back into hints.
import { byText } from '../apis/values.ts';
import { type EndpointClass, type Group, MAX_ZONES, type Problem, createProblem } from './problem.ts';
import type { Demand, FlowEndpoint, PlanInput, PlannedEndpoint } from './types.ts';

/** How many capacities are distinguished in all, and in one zone at most and at least. */
const MOST_IN_ALL = 192;
const MOST = 24;
const LEAST = 4;

/** How many capacities are distinguished in each of so many pools of endpoints, mostly zones. */
export const capacitiesFor = (pools: number): number =>
  Math.min(MOST, Math.max(LEAST, Math.floor(MOST_IN_ALL / Math.max(1, pools))));

/** From the smallest on: each takes in all that are larger by no more than this factor. `sorted` holds every value once. */
const cover = (sorted: readonly number[], factor: number): number[] => {
  const smallest: number[] = [];
  for (const value of sorted) if (value > (smallest.at(-1) ?? 0) * factor) smallest.push(value);
  return smallest;
};

/** Halvings of the range that the factor lies in: beyond them doubles do not distinguish two factors. */
const HALVINGS = 50;

/** Makes largest / smallest a factor that certainly reaches the largest: the quotient and the product are each rounded. */
const ROUNDING = 1 + 2 * Number.EPSILON;

/**
 * The smallest capacity of each class, in order: all different ones where there are no more than `most`, else the classes
 * whose largest is least far above its smallest. Between the smallest and the largest of all, no class spans more than
 * (largest / smallest)^(1 / most): where they differ by a factor of 2 and 24 are distinguished, 2.9 %.
 */
export const capacityClasses = (capacities: readonly number[], most: number): number[] => {
  const sorted = [...new Set(capacities)].sort((a, b) => a - b);
  if (sorted.length <= most) return sorted;
  let [low, high] = [1, ((sorted.at(-1) ?? 1) / (sorted[0] ?? 1)) * ROUNDING];
  for (let halving = 0; halving < HALVINGS; halving += 1) {
    const middle = Math.sqrt(low * high);
    if (cover(sorted, middle).length <= most) high = middle;
    else low = middle;
  }
  return cover(sorted, high);
};

/** What a capacity counts as: the smallest of its class, so that no plan asks an endpoint for more than it has. */
export const roundedDown = (capacity: number, classes: readonly number[]): number =>
  classes.findLast((smallest) => smallest <= capacity) ?? capacity;

const require = (holds: boolean, message: string): void => {
  if (!holds) throw new RangeError(message);
};

export const checkDemand = (demand: Demand): void => {
  for (const [zone, cores] of Object.entries(demand))
    require(Number.isFinite(cores) && cores >= 0, `demand of zone "${zone}" must be 0 or more, got ${cores}`);
};

export const checkEndpoints = (endpoints: readonly FlowEndpoint[]): void => {
  const names = new Set<string>();
  for (const { name, capacity } of endpoints) {
    require(!names.has(name), `endpoint "${name}" is listed twice`);
    require(Number.isFinite(capacity) &&
      capacity > 0, `capacity of endpoint "${name}" must be above 0, got ${capacity}`);
    names.add(name);
  }
};

export const checkTarget = (targetUtilization: number): void =>
  require(Number.isFinite(targetUtilization) &&
    targetUtilization > 0, `targetUtilization must be above 0, got ${targetUtilization}`);

/** Throws a RangeError that names the field. */
export const checkPlanInput = (input: PlanInput): void => {
  const { endpoints, demand, targetUtilization, minEndpoints = 1, stickiness = 0 } = input;
  checkDemand(demand);
  checkEndpoints(endpoints);
  checkTarget(targetUtilization);
  require(Number.isInteger(minEndpoints) &&
    minEndpoints >= 1, `minEndpoints must be a whole number above 0, got ${minEndpoints}`);
  require(stickiness >= 0, `stickiness must be 0 or more, got ${stickiness}`);
};

/** Throws a RangeError for a cost that cannot be compared. */
export const checkedCost = (clientZone: string, endpointZone: string, cost: number): number => {
  require(Number.isFinite(cost) &&
    cost >= 0, `cost from zone "${clientZone}" to "${endpointZone}" must be 0 or more, got ${cost}`);
  return cost;
};

export interface Compiled {
  /** Each endpoint counts as the smallest of its class. */
  readonly problem: Problem;
  /** Each counts as the largest: what bounds hold for. The same problem where no capacity was rounded. */
  readonly roomiest: Problem;
  readonly zones: readonly string[];
  /** By class, in name order. */
  readonly members: readonly (readonly FlowEndpoint[])[];
  /** Demand of clients outside of any zone, as a share of all. */
  readonly homeless: number;
  /** Hints in force of the endpoints that have hints which mean anything to the clients. */
  readonly inForce: readonly Group[];
}

type Price = (client: string, zone: string) => number;

/** A price for each pair of zones; undefined where all different ones cost the same. */
const priceOf = ({ cost }: PlanInput): Price | undefined =>
  cost === undefined
    ? undefined
    : (client, zone) => (zone === client ? 0 : checkedCost(client, zone, cost(client, zone)));

/** Endpoints that differ in nothing but their capacity: those of a zone; zones without clients are one where they cost the same. */
const poolsOf = (
  endpoints: readonly FlowEndpoint[],
  zones: readonly string[],
  price: Price | undefined,
): FlowEndpoint[][] => {
  const withClients = new Set(zones);
  const keyOf = (zone: string): string =>
    withClients.has(zone) || zone === '' ? zone : `\n${zones.map((client) => price?.(client, zone) ?? 1).join()}`;
  const names = [...new Set(endpoints.map(({ zone }) => zone))].sort(byText);
  const keys = new Map(names.map((zone) => [zone, keyOf(zone)]));
  const sorted = [...endpoints].sort((a, b) => byText(a.zone, b.zone));
  return [...Map.groupBy(sorted, ({ zone }) => keys.get(zone)).values()];
};

/** Endpoints that count as alike, the largest of a pool first. */
const alikeIn = (pool: readonly FlowEndpoint[], most: number) => {
  const capacities = capacityClasses(
    pool.map(({ capacity }) => capacity),
    most,
  );
  const classes = new Map(capacities.map((smallest) => [smallest, [] as FlowEndpoint[]]));
  for (const endpoint of pool) classes.get(roundedDown(endpoint.capacity, capacities))?.push(endpoint);
  return [...classes].reverse().map(([smallest, members]) => ({
    members: members.sort((a, b) => byText(a.name, b.name)),
    smallest,
    largest: members.reduce((most_, { capacity }) => Math.max(most_, capacity), 0),
  }));
};

/** Indices of the zones with clients that an endpoint is hinted for, in order; undefined if its hints reach no client at all. */
const projected = (
  { zone, forZones = [] }: FlowEndpoint,
  indexOf: ReadonlyMap<string, number>,
): number[] | undefined => {
  const zones = new Set(forZones.map((name) => indexOf.get(name)).filter((index) => index !== undefined));
  const own = forZones.includes(zone) && !indexOf.has(zone);
  return zones.size > 0 || own ? [...zones].sort((a, b) => a - b) : undefined;
};

const groupsInForce = (members: Compiled['members'], indexOf: ReadonlyMap<string, number>): Group[] =>
  members.flatMap((endpoints, kind) => {
    const hinted = endpoints.map((endpoint) => projected(endpoint, indexOf)).filter((zones) => zones !== undefined);
    const alike = [...Map.groupBy(hinted, (zones) => zones.join()).values()];
    return alike.map((own) => ({ kind, zones: own[0] ?? [], count: own.length }));
  });

/** Steps of the search; some tenths of a second. Small problems and those with few capacities need a hundredth of it. */
const EFFORT = 12_000_000;

/** Needs demand above 0 and an endpoint. */
export const compile = (input: PlanInput): Compiled => {
  const { endpoints, demand, targetUtilization, minEndpoints = 1, effort = EFFORT } = input;
  const names = Object.keys(demand).sort(byText);
  const total = names.reduce((sum, zone) => sum + (demand[zone] ?? 0), 0);
  const zones = names.filter((zone) => zone !== '' && (demand[zone] ?? 0) > 0);
  const indexOf = new Map(zones.map((zone, index) => [zone, index]));
  const homeless = (demand[''] ?? 0) / total;
  const price = priceOf(input);
  const pools = poolsOf(endpoints, zones, price);
  const most = capacitiesFor(pools.length);
  const alike = pools.flatMap((pool) => alikeIn(pool, most));
  const members = alike.map((one) => one.members);
  const zoneOf = (kind: number): string => members[kind]?.[0]?.zone ?? '';
  const cost = price ? { cost: zones.map((zone) => alike.map((_, kind) => price(zone, zoneOf(kind)))) } : {};
  const shares = zones.map((zone) => (demand[zone] ?? 0) / total);
  const problemWith = (capacityOf: (one: ReturnType<typeof alikeIn>[number]) => number): Problem => {
    const classes = alike.map((one, kind): EndpointClass => {
      const index = indexOf.get(zoneOf(kind)) ?? -1;
      // Clients outside of any zone use every endpoint, whatever the hints: that part of the limit is taken.
      const limit = (targetUtilization * capacityOf(one)) / total - homeless / endpoints.length;
      return { zone: index, limit, count: one.members.length, idle: index < 0 && zoneOf(kind) !== '' };
    });
    return createProblem({ demand: shares, classes, minEndpoints, effort: { left: effort }, ...cost });
  };
  const problem = problemWith(({ smallest }) => smallest);
  const rounded = alike.some(({ smallest, largest }) => smallest < largest);
  const roomiest = rounded ? problemWith(({ largest }) => largest) : problem;
  return { problem, roomiest, zones, members, homeless, inForce: groupsInForce(members, indexOf) };
};

const namesOf = ({ zones }: Compiled, indices: readonly number[], endpoint: FlowEndpoint, idle: boolean): string[] => {
  const names = indices.map((index) => zones[index] ?? '');
  // Its own zone has no clients now; if some come, they find it.
  if (idle && names.length < MAX_ZONES) names.push(endpoint.zone);
  return names.sort(byText);
};

/**
 * Hints by name: those whose hints in force are wanted keep them, the others get what is left in name order. So no choice of
 * the same groups changes fewer endpoints.
 */
export const plannedEndpoints = (compiled: Compiled, groups: readonly Group[]): PlannedEndpoint[] => {
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
    const sorted = [...left].sort(([a], [b]) => byText(a, b));
    const rest = sorted.flatMap(([, { zones, count }]) => Array.from({ length: count }, () => zones));
    return endpoints.map((endpoint): PlannedEndpoint => {
      if (kept.has(endpoint)) return { name: endpoint.name, forZones: [...new Set(endpoint.forZones)].sort(byText) };
      return { name: endpoint.name, forZones: namesOf(compiled, rest.shift() ?? [], endpoint, idle) };
    });
  });
  return hints.sort((a, b) => byText(a.name, b.name));
};
