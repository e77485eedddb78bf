// The planner's problem in numbers: zones with clients, and classes of endpoints that are alike.

/** Loads and limits are shares of the whole demand; differences below this are rounding. */
export const EPSILON = 1e-9;

/** The API takes no more zones in an endpoint's hints. */
export const MAX_ZONES = 8;

/**
 * What may still be spent on a problem: a unit is a look at a class or a group of endpoints. Counted and not timed, so that a
 * plan depends on its input alone.
 */
export interface Effort {
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
  /** All endpoints. */
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

export type ProblemInput = Pick<Problem, 'demand' | 'classes' | 'minEndpoints'> & {
  /** Default: 1 between zones. */
  readonly cost?: Problem['cost'];
  /** Default: no limit. */
  readonly effort?: Effort;
};

const unitCost = ({ demand, classes }: ProblemInput): Problem['cost'] =>
  demand.map((_, zone) => classes.map((kind) => (kind.zone === zone ? 0 : 1)));

export const createProblem = (input: ProblemInput): Problem => {
  const { demand, classes, effort = { left: Infinity } } = input;
  const cost = input.cost ?? unitCost(input);
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
