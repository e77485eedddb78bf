// The planner: hints for the endpoints of one Service that keep as much demand in its zone as their capacity allows.
import { byText, sumBy, sumOf } from '../apis/values.ts';
import { integralityBounds, transportationBound } from './bounds.ts';
import { type Compiled, checkPlanInput, compile, plannedEndpoints } from './compile.ts';
import { evaluatePlan } from './evaluate.ts';
import {
  EPSILON,
  compareFigures,
  hintedExplicitly,
  isAllowed,
  sameZoneGroups,
  servedBy,
  solutionOf,
  spreadGroups,
} from './problem.ts';
import type { Group, Problem, Solution } from './problem.ts';
import { solve } from './solve.ts';
import type { Bounds, Plan, PlanFigures, PlanInput, PlannedEndpoint, ProportionalInput } from './types.ts';

export const sameZones = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && [...left].sort(byText).join('\n') === [...right].sort(byText).join('\n');

const changesOf = ({ endpoints }: PlanInput, planned: readonly PlannedEndpoint[]): number => {
  const hints = new Map(planned.map(({ name, forZones }) => [name, forZones]));
  return endpoints.filter(({ name, forZones = [] }) => !sameZones(forZones, hints.get(name) ?? [])).length;
};

const toPlan = (input: PlanInput, decided: Omit<Plan, keyof PlanFigures | 'changes'>): Plan => {
  const { endpoints } = decided;
  const hints = new Map(endpoints.map(({ name, forZones }) => [name, forZones]));
  const evaluated = input.endpoints.map((endpoint) => ({ ...endpoint, forZones: hints.get(endpoint.name) ?? [] }));
  return { ...decided, changes: changesOf(input, endpoints), ...evaluatePlan({ ...input, endpoints: evaluated }) };
};

/** Nothing to divide: own zones, or where an endpoint has none, no hints. */
const withoutDemand = (input: PlanInput): Plan => {
  const none = input.endpoints.length === 0;
  const spread = none || input.spreadInForce === true || input.endpoints.some(({ zone }) => zone === '');
  const sorted = [...input.endpoints].sort((a, b) => byText(a.name, b.name));
  const endpoints = sorted.map(({ name, zone }) => ({ name, forZones: spread ? [] : [zone] }));
  const share = none ? 0 : 1;
  return toPlan(input, { spread, endpoints, bounds: { lp: share, integrality: share }, exact: true, cutShort: false });
};

/**
 * Hints in force, with its own zone for each endpoint that has none: what admission gives to a new one. Undefined if they are
 * not a plan: an endpoint stays without hint, a zone is left out, or has too few endpoints.
 */
const completed = (problem: Problem, inForce: readonly Group[]): readonly Group[] | undefined => {
  const missing = problem.classes.flatMap(({ count, zone }, kind): Group[] => {
    const hinted = inForce.reduce((sum, group) => (group.kind === kind ? sum + group.count : sum), 0);
    return hinted < count ? [{ kind, zones: zone < 0 ? [] : [zone], count: count - hinted }] : [];
  });
  const groups = [...inForce, ...missing];
  return isAllowed(problem, groups) && hintedExplicitly(problem, groups) === groups ? groups : undefined;
};

/** What is in force, if it is near enough to the best to stay. */
const stay = (
  problem: Problem,
  kept: readonly Group[] | undefined,
  best: Solution,
  stickiness: number,
): Solution | undefined => {
  if (kept === undefined) return undefined;
  const current = solutionOf(problem, kept);
  if (compareFigures(current, best) <= 0) return current;
  const dearest = problem.cost.flat().reduce((most, cost) => Math.max(most, cost), 0);
  const near = current.overload <= best.overload + EPSILON && current.cost - best.cost < stickiness * dearest;
  return near ? current : undefined;
};

/** Hints that give every zone every endpoint say in many words what no hints say. */
const isSpread = (problem: Problem, groups: readonly Group[]): boolean =>
  servedBy(problem, groups).every((count) => count === 0 || count === problem.total);

const withoutHints = ({ endpoints }: PlanInput): PlannedEndpoint[] =>
  endpoints.map(({ name }) => ({ name, forZones: [] })).sort((a, b) => byText(a.name, b.name));

const newHints = (input: PlanInput, compiled: Compiled, { groups }: Solution): readonly PlannedEndpoint[] =>
  isSpread(compiled.problem, groups)
    ? withoutHints(input)
    : plannedEndpoints(compiled, hintedExplicitly(compiled.problem, groups));

/** No hints, where that is as good and changes fewer endpoints. */
const orNone = (
  input: PlanInput,
  { problem }: Compiled,
  chosen: Solution,
  hints: readonly PlannedEndpoint[],
): readonly PlannedEndpoint[] => {
  if (compareFigures(solutionOf(problem, spreadGroups(problem)), chosen) > 0) return hints;
  const none = withoutHints(input);
  return changesOf(input, none) < changesOf(input, hints) ? none : hints;
};

/** No hints, and own zones where these are a plan. */
const simplerPlans = (input: PlanInput, { problem }: Compiled): (readonly PlannedEndpoint[])[] => {
  const groups = sameZoneGroups(problem);
  const none = withoutHints(input);
  if (groups === undefined || !isAllowed(problem, groups)) return [none];
  const zones = new Map(input.endpoints.map(({ name, zone }) => [name, zone]));
  return [none, none.map(({ name }) => ({ name, forZones: [zones.get(name) ?? ''] }))];
};

/** The search took endpoints for smaller than they are: a simpler plan may be better by what they really have. */
const orSimpler = (plan: Plan, simpler: readonly Plan[]): Plan => {
  const figures = ({ overload, crossZoneCost }: Plan) => ({ overload, cost: crossZoneCost });
  return simpler.reduce((best, other) => (compareFigures(figures(other), figures(best)) < 0 ? other : best), plan);
};

/**
 * Plans hints: least load above the target; then least demand served from other zones, or least cost of it; then fewest
 * endpoints whose hints change; then by name. The result depends on the input alone, not on its order, and planning again with
 * its own result in force changes nothing. Throws a RangeError that names the field for a number that makes no sense.
 *
 * More than eight zones with clients: an endpoint is hinted for eight at most, so a zone that needs every endpoint is left out
 * of all hints, which proxies take as all. Where that does not do, the plan is to spread.
 */
export const planHints = (input: PlanInput): Plan => {
  checkPlanInput(input);
  if (input.endpoints.length === 0 || sumOf(Object.values(input.demand)) === 0) return withoutDemand(input);
  const compiled = compile(input);
  const { problem, roomiest, inForce, homeless } = compiled;
  const spreading = input.spreadInForce === true && inForce.length === 0;
  const hinted = inForce.length > 0 ? completed(problem, inForce) : undefined;
  const kept = spreading ? spreadGroups(problem) : hinted;
  const stays = (best: Solution): Solution | undefined => stay(problem, kept, best, input.stickiness ?? 0);
  const { solution, exact, cutShort, crossing } = solve(problem, {
    inForce: inForce.length > 0 ? inForce : undefined,
    stays: (best) => stays(best) !== undefined,
    roomiest,
  });
  const staying = stays(solution);
  const chosen = staying ?? solution;
  const hints = staying ? plannedEndpoints(compiled, staying.groups) : newHints(input, compiled, solution);
  const endpoints = spreading && staying !== undefined ? withoutHints(input) : orNone(input, compiled, chosen, hints);
  const planned = (which: readonly PlannedEndpoint[]): Plan =>
    toPlan(input, {
      spread: which.every(({ forZones }) => forZones.length === 0),
      endpoints: which,
      bounds: { lp: 1 - homeless - crossing.transportation, integrality: 1 - homeless - crossing.integrality },
      exact: exact && compareFigures(chosen, solution) <= 0,
      cutShort,
    });
  const plan = planned(endpoints);
  return roomiest === problem || staying !== undefined
    ? plan
    : orSimpler(plan, simplerPlans(input, compiled).map(planned));
};

/**
 * What no plan at the target could beat: a fraction of the effort of a plan. Where demand is above what the endpoints take at the
 * target, with no more overload than that.
 */
export const boundsAtTarget = (input: PlanInput): Bounds => {
  checkPlanInput(input);
  const demand = sumOf(Object.values(input.demand));
  if (input.endpoints.length === 0 || demand === 0) return withoutDemand(input).bounds;
  const { roomiest, homeless } = compile(input);
  const capacity = sumBy(input.endpoints, (one) => one.capacity);
  const overload = Math.max(0, 1 - (input.targetUtilization * capacity) / demand);
  const lp = 1 - homeless - transportationBound(roomiest, overload);
  const { crossing } = integralityBounds(roomiest);
  return { lp, integrality: Number.isFinite(crossing) ? Math.min(lp, 1 - homeless - crossing) : lp };
};

/**
 * No hints without overload cost less between zones than this, in cores (times what the pairs cost); Infinity where there are
 * none without overload. A fraction of the effort of a plan.
 */
export const leastCrossZoneCost = (input: PlanInput): number => {
  checkPlanInput(input);
  const demand = sumOf(Object.values(input.demand));
  if (demand === 0) return 0;
  return input.endpoints.length === 0 ? Infinity : integralityBounds(compile(input).roomiest).cost * demand;
};

/**
 * Clients of each zone are taken to need as much as their weight says, and all endpoints to be alike: with n of them the fair
 * share of each is 1 core of n, so utilisations of the plan are loads by the fair share, and none is above 1 + `maxOverload`. An
 * endpoint serves several zones where one each would not do. Throws a RangeError for a wrong number.
 */
export const planProportional = ({ weights, endpoints, maxOverload = 0.2, ...rest }: ProportionalInput): Plan => {
  if (!(maxOverload >= 0)) throw new RangeError(`maxOverload must be 0 or more, got ${maxOverload}`);
  const total = sumOf(Object.values(weights));
  const scale = total > 0 ? endpoints.length / total : 0;
  return planHints({
    ...rest,
    endpoints: endpoints.map((endpoint) => ({ ...endpoint, capacity: 1 })),
    demand: Object.fromEntries(Object.entries(weights).map(([zone, weight]) => [zone, weight * scale])),
    targetUtilization: 1 + maxOverload,
  });
};
