// Whether a Service's hints change now, and to what: the step rule.
import { countBy, sumBy, sumOf } from '../../apis/values.ts';
import { type HintsInForce, endpointsWithHints } from '../demand/arrivals.ts';
import { evaluatePlan } from '../evaluate.ts';
import { amountOf } from '../types.ts';
import type { Demand, EvaluateInput, FlowEndpoint, Plan, PlanFigures, PlanInput } from '../types.ts';
import { leastCrossZoneCost, planHints } from '../planner.ts';
import { MAX_ZONES } from '../problem.ts';
import type { Observed } from './observe.ts';
import type { LoopPolicy, LoopReason, LoopState, PastDemand } from './types.ts';

/** What is lost without need, as a fraction of the demand, before a spread is better. */
const TOLERATED_LOSS = 0.01;

type Limits = Pick<
  LoopPolicy,
  'targetUtilization' | 'upperUtilization' | 'minEndpoints' | 'worthwhileSaving' | 'cost' | 'effort'
>;

/** Demand that takes more than this of the room at a level fits there only where nearly every client uses every endpoint. */
const FITTING = 0.95;

/**
 * Loads to aim for, lowest first: the target, the upper threshold, half-way from there, the whole capacity; of them those at which the
 * demand, as a fraction of all capacity, leaves some choice.
 */
const levelsOf = ({ targetUtilization, upperUtilization }: Limits, load: number): number[] =>
  [targetUtilization, upperUtilization, (upperUtilization + 1) / 2, 1].filter(
    (level) => level === 1 || (level >= targetUtilization && load <= FITTING * level),
  );

/**
 * The plan at the lowest load that some hints keep to, from the target on; with more demand than capacity the one that
 * leaves no endpoint idle while others drown; where there is none of these, spread.
 *
 * Above a limit all ways of being too high count alike, so that a plan which drowns one endpoint looks as good as one that
 * loads all the same: the limit has to rise with what cannot be avoided.
 */
export const planWithin = (limits: Limits, input: Pick<PlanInput, 'endpoints' | 'demand' | 'spreadInForce'>): Plan => {
  const { minEndpoints, worthwhileSaving: stickiness, cost, effort } = limits;
  const problem = { ...input, cost, effort };
  const demand = sumOf(Object.values(input.demand));
  const whole = sumOf(input.endpoints.map(({ capacity }) => capacity));
  const lost = Math.max(0, demand - whole);
  let plan: Plan | undefined;
  for (const targetUtilization of levelsOf(limits, demand / whole)) {
    plan = planHints({ ...problem, minEndpoints, stickiness, targetUtilization });
    if (plan.overload <= NEGLIGIBLE) return rejoined(plan, { ...problem, targetUtilization });
  }
  if (plan === undefined || plan.overload <= lost + TOLERATED_LOSS * demand)
    return plan ?? planHints({ ...problem, targetUtilization: 1 });
  const bare = input.endpoints.map(({ name, zone, capacity }) => ({ name, zone, capacity }));
  const figures = evaluatePlan({ ...problem, endpoints: bare, targetUtilization: 1 });
  if (figures.overload >= plan.overload) return plan;
  return {
    ...plan,
    ...figures,
    spread: true,
    endpoints: plan.endpoints.map(({ name }) => ({ name, forZones: [] })),
    exact: false,
  };
};

/**
 * An endpoint that serves another zone alone is lost to its own when demand there rises, and the next samples are half a minute
 * away: it serves its own zone too, where it has room for that. Its own clients pay no more, and no other endpoint carries more: the
 * plan has to be without overload, and stays so.
 */
export const rejoined = (plan: Plan, input: EvaluateInput): Plan => {
  if (plan.spread) return plan;
  const { demand, targetUtilization } = input;
  const hints = new Map(plan.endpoints.map(({ name, forZones }) => [name, forZones]));
  const servers = countBy([...hints.values()].flat(), (zone) => zone);
  const loadOf = (zones: readonly string[]): number =>
    sumBy(Object.keys(demand), (zone) => {
      const count = servers.get(zone) ?? 0;
      if (count > 0) return zones.includes(zone) ? amountOf(demand, zone) / count : 0;
      return amountOf(demand, zone) / input.endpoints.length;
    });
  let changed = false;
  for (const { name, zone, capacity } of input.endpoints) {
    const zones = hints.get(name) ?? [];
    if (zones.includes(zone) || zones.length >= MAX_ZONES || zone === '') continue;
    const before = servers.get(zone) ?? 0;
    servers.set(zone, before + 1);
    if (loadOf([...zones, zone]) <= targetUtilization * capacity + NEGLIGIBLE) {
      hints.set(name, [...zones, zone].sort());
      changed = true;
    } else servers.set(zone, before);
  }
  if (!changed) return plan;
  const endpoints = input.endpoints.map((one) => ({ ...one, forZones: hints.get(one.name) ?? [] }));
  return {
    ...plan,
    ...evaluatePlan({ ...input, endpoints }),
    endpoints: plan.endpoints.map(({ name }) => ({ name, forZones: hints.get(name) ?? [] })),
  };
};

interface DecideInput {
  readonly policy: LoopPolicy;
  readonly time: number;
  readonly before: LoopState;
  readonly observed: Observed;
  readonly endpoints: readonly FlowEndpoint[];
  readonly current: HintsInForce;
  /** What the hints in force do to the demand. */
  readonly figures: PlanFigures;
  readonly demand: Demand;
  /** Demand within the down dwell, oldest first. */
  readonly past: readonly PastDemand[];
  /** Since when demand is lower than before by more than noise explains. */
  readonly fellAt: number | null;
  readonly first: boolean;
  readonly topologyChanged: boolean;
  /** Load was above the upper threshold for long enough. */
  readonly highEnough: boolean;
}

interface Choice {
  readonly plan: HintsInForce;
  readonly reason: LoopReason;
  readonly safe: boolean;
  /** A search that this rests on was cut short by its effort. */
  readonly cutShort: boolean;
  /** The plan went back without waiting for the down dwell. */
  readonly quick?: boolean;
  /** It is made for a demand that was guessed. */
  readonly guessed?: boolean;
}

/** Hints that are worth a change; none where no plan is. */
interface Found {
  readonly hints: HintsInForce | undefined;
  readonly cutShort: boolean;
}

const NOTHING: Found = { hints: undefined, cutShort: false };

/** An improvement of less than this fraction of the demand, or of the target, is noise. */
const NOTICEABLE = 0.01;

/** Cores that are rounding. */
const NEGLIGIBLE = 1e-9;

/** Demand is a guess: endpoints are saturated, or it has jumped above the upper threshold. */
const isGuess = ({ policy, observed: { saturated, jump }, figures }: DecideInput): boolean =>
  saturated || (jump !== null && figures.maxUtilization > policy.upperUtilization);

export const figuresUnder = (
  plan: HintsInForce,
  endpoints: readonly FlowEndpoint[],
  demand: Demand,
  { targetUtilization, cost }: LoopPolicy,
): PlanFigures => evaluatePlan({ endpoints: endpointsWithHints(plan, endpoints), demand, targetUtilization, cost });

const hintsIn = ({ spread, endpoints }: Plan): HintsInForce => ({ spread, endpoints: spread ? [] : endpoints });

/** The largest demand of each zone within the down dwell. */
const largest = (past: readonly PastDemand[], demand: Demand): Demand =>
  Object.fromEntries(
    Object.entries(demand).map(([zone, now]) => [
      zone,
      past.reduce((most, entry) => Math.max(most, amountOf(entry.demand, zone)), now),
    ]),
  );

/**
 * A plan with noticeably less load above the target, or on the busiest endpoint, than the hints in force. Where none keeps to the target,
 * these stay until they are as far above it as the threshold is above the target: noise would move the loop between the two.
 */
const relieve = (input: DecideInput): Found => {
  const { policy, endpoints, current, demand, figures } = input;
  // A guess is made on the high side already: what is planned for it may use the room up to the threshold.
  const targetUtilization = isGuess(input) ? policy.upperUtilization : policy.targetUtilization;
  const plan = planWithin({ ...policy, targetUtilization }, { endpoints, demand, spreadInForce: current.spread });
  const fits = plan.maxUtilization <= targetUtilization + NEGLIGIBLE;
  const margin = fits ? NOTICEABLE : policy.upperUtilization - policy.targetUtilization;
  // Of both above the same load.
  const limit = fits ? targetUtilization : Math.min(1, plan.maxUtilization + margin);
  const { overload } = figuresUnder(current, endpoints, demand, { ...policy, targetUtilization: limit });
  const less = overload - plan.overload > NOTICEABLE * sumOf(Object.values(demand));
  const calmer = plan.overload <= overload && figures.maxUtilization - plan.maxUtilization > margin;
  return { hints: less || calmer ? hintsIn(plan) : undefined, cutShort: plan.cutShort };
};

/** A plan that also fits the largest demand of the down dwell, and keeps noticeably more traffic in its zone. */
const returned = (input: DecideInput): Found => {
  const worthwhile = input.policy.worthwhileSaving * sumOf(Object.values(input.demand));
  // No plan can save more than all that crosses now.
  if (input.figures.crossZoneCost <= worthwhile) return NOTHING;
  const { endpoints, current, policy } = input;
  const most = {
    ...policy,
    endpoints,
    demand: largest(input.past, input.demand),
    // The largest of many estimates is above their mean by noise: half of what is left to the threshold is for that.
    targetUtilization: (policy.targetUtilization + policy.upperUtilization) / 2,
    stickiness: policy.worthwhileSaving,
    spreadInForce: current.spread,
  };
  const { crossZoneCost } = evaluatePlan(most);
  // Most of the time a bound is enough to see that nothing is to be gained.
  if (crossZoneCost - leastCrossZoneCost(most) <= policy.worthwhileSaving * sumOf(Object.values(most.demand)))
    return NOTHING;
  const plan = planHints(most);
  // Only to what keeps to that: going back to more would soon be overloaded again.
  if (plan.overload > NEGLIGIBLE) return { hints: undefined, cutShort: plan.cutShort };
  const { crossZoneCost: left } = figuresUnder(hintsIn(plan), endpoints, input.demand, policy);
  const saved = input.figures.crossZoneCost - left;
  return { hints: saved > worthwhile ? hintsIn(plan) : undefined, cutShort: plan.cutShort };
};

const keep = ({ current, before: { safe } }: DecideInput, reason: LoopReason, cutShort = false): Choice => ({
  plan: current,
  reason,
  safe,
  cutShort,
});

/** A zone's demand may grow so much while nothing is measured, as a factor. */
export const UNSEEN_GROWTH = 4;

/**
 * Without metrics a growing zone goes unnoticed: every zone gets as many endpoints as the largest of them would need for a multiple of what was
 * last known, and what that costs is still as little as it can be.
 */
const hedge = (input: DecideInput): Choice => {
  const { policy, endpoints, demand, current } = input;
  const most = Math.max(0, ...Object.values(demand));
  const capacity = sumBy(endpoints, (endpoint) => endpoint.capacity) / endpoints.length;
  const needed = Math.ceil((UNSEEN_GROWTH * most) / (policy.upperUtilization * capacity));
  const minEndpoints = Math.max(policy.minEndpoints, Math.min(endpoints.length, needed));
  const plan = planWithin({ ...policy, minEndpoints }, { endpoints, demand, spreadInForce: current.spread });
  return { plan: hintsIn(plan), reason: 'MetricsStale', safe: true, cutShort: plan.cutShort };
};

const safeChoice = ({ policy: { safeMode }, endpoints }: DecideInput): Choice => ({
  safe: true,
  cutShort: false,
  reason: 'MetricsLost',
  plan:
    safeMode === 'spread'
      ? { spread: true, endpoints: [] }
      : { spread: false, endpoints: endpoints.map(({ name, zone }) => ({ name, forZones: [zone] })) },
});

/** Zones, endpoints or metrics that came back do not wait: what is known of demand is planned for anew. */
const replan = (input: DecideInput, reason: LoopReason): Choice => {
  const first = relieve(input);
  const found = first.hints === undefined ? returned(input) : first;
  const cutShort = first.cutShort || found.cutShort;
  // What is believed may itself be a guess still: samples under the plan before correct it then, and nothing waits for the dwell.
  const guessed = input.past.at(-1)?.atLeast === true;
  return { plan: found.hints ?? input.current, reason, safe: false, cutShort, guessed };
};

/**
 * A fall that no noise explains and that lasted as long as a rise has to need not wait for the down dwell. Demand that comes and
 * goes does: a Service has one such return in a while.
 */
const fellAndStayed = ({ policy, time, fellAt, before: { quickAt } }: DecideInput): boolean =>
  fellAt !== null &&
  Number.isFinite(policy.quickReturnSeconds) &&
  time - fellAt >= policy.upDwellSeconds &&
  time - fellAt < policy.downDwellSeconds &&
  (quickAt === null || time - quickAt >= policy.quickReturnSeconds);

/** Back to less traffic between zones: once the down dwell has passed, or quickly after a fall. */
const returnNow = (input: DecideInput): Choice => {
  const { policy, time, past, fellAt } = input;
  const dwellPassed = time - (past[0]?.time ?? time) >= policy.downDwellSeconds - policy.planIntervalSeconds;
  // Where a loop has just begun, a guess is no reason to wait: no other sample says that demand was ever that high.
  const afterDwell = dwellPassed || input.before.previous !== null ? returned(input) : NOTHING;
  const quick = afterDwell.hints === undefined && fellAndStayed(input);
  const sinceFall = past.filter((entry) => entry.time > (fellAt ?? 0));
  const { hints, cutShort } = quick ? returned({ ...input, past: sinceFall }) : afterDwell;
  return hints === undefined
    ? keep(input, 'Steady', cutShort)
    : { plan: hints, reason: 'Returned', safe: false, cutShort, quick };
};

export const decidePlan = (input: DecideInput): Choice => {
  const { policy, time, before, observed } = input;
  const age = time - observed.freshAt;
  const known = observed.estimate !== null;
  const fresh = observed.countedAt !== null;
  if (input.endpoints.length === 0) return keep(input, 'NoEndpoints');
  if (age > policy.safeModeAfterSeconds) return safeChoice(input);
  if (age > policy.holdAfterSeconds && known) return hedge(input);
  if (before.safe) return fresh ? replan(input, 'MetricsBack') : keep(input, 'MetricsLost');
  if (!known) return keep(input, input.first ? 'Adopted' : 'Waiting');
  if (input.topologyChanged) return replan(input, 'TopologyChanged');
  if (!fresh) return keep(input, 'Steady');
  // What was a guess is corrected by the first samples that show that it was too low by far.
  const correcting = before.previous !== null && input.figures.maxUtilization > 1;
  const guessed = isGuess(input);
  // Nor does what no noise explains wait for the interval between two plans: that is for plans that save something.
  const withinInterval = before.plannedAt !== null && time - before.plannedAt < policy.planIntervalSeconds;
  if (withinInterval && !guessed && !correcting) return keep(input, 'Waiting');
  if (observed.full) return keep(input, 'Overloaded');
  if (!guessed && !correcting && !input.highEnough) return returnNow(input);
  const { hints, cutShort } = relieve(input);
  if (hints === undefined) return keep(input, 'Overloaded', cutShort);
  return { plan: hints, reason: observed.saturated ? 'Saturated' : 'Overloaded', safe: false, cutShort, guessed };
};
