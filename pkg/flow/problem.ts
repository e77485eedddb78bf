// The planner's problem in numbers: zones with clients, and classes of endpoints that are alike.

/** Loads and limits are shares of the whole demand; differences below this are rounding. */
export const EPSILON = 1e-9;

/** The API takes no more zones in an endpoint's hints. */
export const MAX_ZONES = 8;

/**
 * What may still be spent on a problem: a unit is a look at a class or a group of endpoints. Counted and not timed, so that a
 * plan depends on its input alone.
 */
interface Effort {
  left: number;
}

/** Takes so many units; false once none are left: then the best plan found so far has to do. */
export const spend = (effort: Effort, units: number): boolean => {
  effort.left -= units;
  return effort.left >= 0;
};

/** Endpoints of one zone with the same capacity: which of them serves a zone makes no difference. */
export interface EndpointClass {
  /** Index of their zone among the zones with clients; -1 where it has none. */
  readonly zone: number;
  /** What one of them should carry at most, as a share of the whole demand. */
  readonly limit: number;
  readonly count: number;
  /** Their zone has a name and no clients: hinted for it alone they get no traffic. */
  readonly idle: boolean;
}

export interface Problem {
  /** Share of the whole demand by zone with clients, above 0. Without clients outside of any zone they add up to 1. */
  readonly demand: readonly number[];
  readonly classes: readonly EndpointClass[];
  /** By zone with clients, then class: what its share of the demand costs there; 0 in its own zone. */
  readonly cost: readonly (readonly number[])[];
  /** By zone with clients: classes, cheapest first, own zone before others. */
  readonly cheapest: readonly (readonly number[])[];
  readonly total: number;
  readonly minEndpoints: number;
  /** Shared by all steps of the search. */
  readonly effort: Effort;
}

/** `count` endpoints of a class that are hinted for the same zones: indices in order; empty for their own, idle zone, or for spread. */
export interface Group {
  readonly kind: number;
  readonly zones: readonly number[];
  readonly count: number;
}

type ProblemInput = Pick<Problem, 'demand' | 'classes' | 'minEndpoints'> & {
  /** Default: 1 between zones. */
  readonly cost?: Problem['cost'];
  /** Default: no limit. */
  readonly effort?: Effort;
};

export const createProblem = (input: ProblemInput): Problem => {
  const { demand, classes, effort = { left: Infinity } } = input;
  const cost = input.cost ?? demand.map((_, zone) => classes.map((kind) => (kind.zone === zone ? 0 : 1)));
  let total = 0;
  for (const { count } of classes) total += count;
  const cheapest = demand.map((_, zone) => {
    const row = cost[zone] ?? [];
    const rank = (kind: number): number => (classes[kind]?.zone === zone ? -1 : (row[kind] ?? 0));
    return classes.map((_kind, kind) => kind).sort((a, b) => rank(a) - rank(b) || a - b);
  });
  const minEndpoints = Math.min(Math.max(1, input.minEndpoints), total);
  return { demand, classes, cost, cheapest, total, minEndpoints, effort };
};

/** No hints: no endpoint serves a zone in particular, so all serve every zone. */
export const spreadGroups = ({ classes }: Problem): Group[] =>
  classes.map(({ count }, kind) => ({ kind, zones: [], count }));

/** Every endpoint for its own zone; undefined where one has none that it could be hinted for. */
export const sameZoneGroups = ({ classes }: Problem): Group[] | undefined =>
  classes.some(({ zone, idle }) => zone < 0 && !idle)
    ? undefined
    : classes.map(({ zone, count }, kind) => ({ kind, zones: zone < 0 ? [] : [zone], count }));

/** All as shares of the whole demand. */
export interface Figures {
  /** Load above the limits, summed over the endpoints. */
  readonly overload: number;
  readonly cost: number;
}

export interface Solution extends Figures {
  readonly groups: readonly Group[];
}

/** Endpoints that serve each zone with clients; 0 where no endpoint is hinted for it. */
export const servedBy = (problem: Pick<Problem, 'demand'>, groups: readonly Group[]): number[] => {
  const served = problem.demand.map(() => 0);
  for (const { zones, count } of groups) for (const zone of zones) served[zone] = (served[zone] ?? 0) + count;
  return served;
};

/** A zone without hinted endpoints gets every endpoint. */
const figuresOf = (problem: Problem, groups: readonly Group[]): Figures => {
  const { demand, classes, cost, total } = problem;
  const rates = servedBy(problem, groups);
  let everywhere = 0;
  let paid = 0;
  for (let zone = 0; zone < rates.length; zone += 1) {
    const served = rates[zone] ?? 0;
    const rate = (demand[zone] ?? 0) / (served || total);
    rates[zone] = rate;
    if (served > 0) continue;
    everywhere += rate;
    for (let kind = 0; kind < classes.length; kind += 1)
      paid += rate * (classes[kind]?.count ?? 0) * (cost[zone]?.[kind] ?? 0);
  }
  let overload = 0;
  for (const { kind, zones, count } of groups) {
    let load = everywhere;
    for (const zone of zones) {
      const rate = rates[zone] ?? 0;
      load += rate;
      paid += rate * count * (cost[zone]?.[kind] ?? 0);
    }
    const above = load - (classes[kind]?.limit ?? 0);
    if (above > EPSILON) overload += above * count;
  }
  return { overload, cost: paid };
};

export const solutionOf = (problem: Problem, groups: readonly Group[]): Solution => ({
  ...figuresOf(problem, groups),
  groups,
});

/** Negative if `left` is better: less overload, then less cost. 0 where only rounding differs. */
export const compareFigures = (left: Figures, right: Figures): number => {
  const overload = left.overload - right.overload;
  if (Math.abs(overload) > EPSILON) return overload;
  const cost = left.cost - right.cost;
  return Math.abs(cost) > EPSILON ? cost : 0;
};

export const bestOf = (first: Solution, ...others: readonly (Solution | undefined)[]): Solution => {
  let best = first;
  for (const other of others) if (other !== undefined && compareFigures(other, best) < 0) best = other;
  return best;
};

/**
 * Every zone with hinted endpoints has its minimum of them, and either all endpoints are hinted or none: one endpoint
 * without would make proxies ignore the others' hints.
 */
export const isAllowed = (problem: Problem, groups: readonly Group[]): boolean => {
  const served = servedBy(problem, groups);
  if (served.some((count) => count > 0 && count < problem.minEndpoints)) return false;
  const bare = groups.some(({ kind, zones }) => zones.length === 0 && problem.classes[kind]?.idle !== true);
  return !bare || served.every((count) => count === 0);
};

/** A zone without hinted endpoints gets every endpoint; saying so is clearer where the API's eight zones allow it. */
export const hintedExplicitly = (problem: Problem, groups: readonly Group[]): readonly Group[] => {
  const left = servedBy(problem, groups).flatMap((count, zone) => (count === 0 ? [zone] : []));
  if (left.length === 0 || groups.some(({ zones }) => zones.length + left.length > MAX_ZONES)) return groups;
  return groups.map((group) => ({ ...group, zones: [...group.zones, ...left].sort((a, b) => a - b) }));
};
