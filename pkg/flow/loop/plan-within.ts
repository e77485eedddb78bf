// A plan for a demand that may be more than the target allows; endpoints that it sends to other zones alone serve their own as well
// where that costs nothing.
import { defined } from '../../apis/defined.ts';
import { sumOf } from '../../apis/sum.ts';
import { evaluatePlan } from '../evaluate.ts';
import { amountOf } from '../own.ts';
import { planHints } from '../planner.ts';
import type { EvaluateInput, FlowEndpoint, Plan, PlanInput } from '../types.ts';
import type { LoopPolicy } from './types.ts';

/** Cores that are rounding. */
const NEGLIGIBLE = 1e-9;

/** What is lost without need, as a fraction of the demand, before a spread is better. */
const TOLERATED_LOSS = 0.01;

type Limits = Pick<
  LoopPolicy,
  'targetUtilization' | 'upperUtilization' | 'minEndpoints' | 'worthwhileSaving' | 'cost' | 'effort'
>;

/** Loads to aim for, lowest first: the target, the upper threshold, half-way from there, the whole capacity. */
const levelsOf = ({ targetUtilization, upperUtilization }: Limits): number[] => [
  targetUtilization,
  ...[upperUtilization, (upperUtilization + 1) / 2, 1].filter((limit) => limit > targetUtilization),
];

/**
 * The plan at the lowest load that some hints keep to, from the target on; with more demand than capacity the one that
 * leaves no endpoint idle while others drown; where there is none of these, spread.
 *
 * Above a limit all ways of being too high count alike, so that a plan which drowns one endpoint looks as good as one that
 * loads all the same: the limit has to rise with what cannot be avoided.
 */
export const planWithin = (limits: Limits, input: Pick<PlanInput, 'endpoints' | 'demand' | 'spreadInForce'>): Plan => {
  const { minEndpoints, worthwhileSaving, cost, effort } = limits;
  const optional = defined({ cost, effort });
  const demand = sumOf(Object.values(input.demand));
  const lost = Math.max(0, demand - sumOf(input.endpoints.map(({ capacity }) => capacity)));
  let plan: Plan | undefined;
  for (const targetUtilization of levelsOf(limits)) {
    plan = planHints({ ...input, ...optional, minEndpoints, stickiness: worthwhileSaving, targetUtilization });
    if (plan.overload <= NEGLIGIBLE) return rejoined(plan, { ...input, ...optional, targetUtilization });
  }
  if (plan === undefined || plan.overload <= lost + TOLERATED_LOSS * demand)
    return plan ?? planHints({ ...input, ...optional, targetUtilization: 1 });
  const figures = evaluatePlan({
    ...optional,
    endpoints: input.endpoints.map(({ name, zone, capacity }) => ({ name, zone, capacity })),
    demand: input.demand,
    targetUtilization: 1,
  });
  if (figures.overload >= plan.overload) return plan;
  return {
    ...plan,
    ...figures,
    spread: true,
    endpoints: plan.endpoints.map(({ name }) => ({ name, forZones: [] })),
    exact: false,
  };
};

/** As many as the API takes for an endpoint. */
const MAX_ZONES = 8;

/** What the hints lead to so far, kept up to date endpoint by endpoint: evaluating a whole plan for each would take too long. */
interface Books {
  readonly load: Map<string, number>;
  readonly servers: Map<string, FlowEndpoint[]>;
  overload: number;
  cost: number;
}

const priceOf = ({ cost }: EvaluateInput, client: string, { zone }: FlowEndpoint): number =>
  zone === client && client !== '' ? 0 : (cost?.(client, zone) ?? 1);

const above = ({ targetUtilization }: EvaluateInput, { capacity }: FlowEndpoint, load: number): number =>
  Math.max(0, load - targetUtilization * capacity);

/** Takes a zone's demand off its servers, or gives it to them. */
const book = (
  books: Books,
  input: EvaluateInput,
  zone: string,
  servers: readonly FlowEndpoint[],
  sign: 1 | -1,
): void => {
  const rate = (sign * amountOf(input.demand, zone)) / servers.length;
  for (const server of servers) {
    const before = books.load.get(server.name) ?? 0;
    books.load.set(server.name, before + rate);
    books.overload += above(input, server, before + rate) - above(input, server, before);
    books.cost += rate * priceOf(input, zone, server);
  }
};

const booksOf = (input: EvaluateInput, hints: ReadonlyMap<string, readonly string[]>): Books => {
  const books: Books = { load: new Map(), servers: new Map(), overload: 0, cost: 0 };
  for (const endpoint of input.endpoints) {
    for (const zone of hints.get(endpoint.name) ?? []) {
      const servers = books.servers.get(zone);
      if (servers === undefined) books.servers.set(zone, [endpoint]);
      else servers.push(endpoint);
    }
  }
  for (const zone of Object.keys(input.demand))
    book(books, input, zone, (zone === '' ? undefined : books.servers.get(zone)) ?? input.endpoints, 1);
  return books;
};

/** Whether the endpoint may serve its own zone too; where not, everything stays as it was. */
const joins = (
  books: Books,
  input: EvaluateInput,
  endpoint: FlowEndpoint,
  most: Pick<Plan, 'overload' | 'crossZoneCost'>,
): boolean => {
  const { zone } = endpoint;
  const before = books.servers.get(zone);
  const after = [...(before ?? []), endpoint];
  book(books, input, zone, before ?? input.endpoints, -1);
  book(books, input, zone, after, 1);
  const fits = books.overload <= most.overload + NEGLIGIBLE && books.cost <= most.crossZoneCost + NEGLIGIBLE;
  if (fits) books.servers.set(zone, after);
  else {
    book(books, input, zone, after, -1);
    book(books, input, zone, before ?? input.endpoints, 1);
  }
  return fits;
};

/**
 * An endpoint that serves another zone alone is lost to its own when demand there rises, and the next samples are half a minute
 * away. Effort: endpoints that serve other zones alone, times those of their zone.
 */
export const rejoined = (plan: Plan, input: EvaluateInput): Plan => {
  if (plan.spread) return plan;
  const hints = new Map(plan.endpoints.map(({ name, forZones }) => [name, forZones]));
  const books = booksOf(input, hints);
  let changed = false;
  for (const endpoint of input.endpoints) {
    const zones = hints.get(endpoint.name) ?? [];
    if (zones.includes(endpoint.zone) || zones.length >= MAX_ZONES || endpoint.zone === '') continue;
    if (!joins(books, input, endpoint, plan)) continue;
    hints.set(endpoint.name, [...zones, endpoint.zone].sort());
    changed = true;
  }
  if (!changed) return plan;
  const hintsFor = (name: string): readonly string[] => hints.get(name) ?? [];
  return {
    ...plan,
    ...evaluatePlan({
      ...input,
      endpoints: input.endpoints.map((endpoint) => ({ ...endpoint, forZones: hintsFor(endpoint.name) })),
    }),
    endpoints: plan.endpoints.map(({ name }) => ({ name, forZones: hintsFor(name) })),
  };
};
