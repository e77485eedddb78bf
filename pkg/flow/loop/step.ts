// One step of the closed loop: what was observed becomes what is believed, and that decides whether the hints change.
import { defined, sumOf } from '../../apis/values.ts';
import { type Estimate, meanOf } from '../demand/estimate.ts';
import { type HintsInForce, endpointsWithHints, hintsOf, planFor, samePlan, sharingOf } from '../demand/arrivals.ts';
import { dot, times } from '../demand/matrix.ts';
import { type Demand, type FlowEndpoint, amountOf } from '../types.ts';
import { decidePlan, figuresUnder } from './decide.ts';
import { type Observed, observe } from './observe.ts';
import { membersDiffer, membersOf, observedZones, readyOf, withHintPeriod } from './periods.ts';
import type { LoopDecision, LoopPolicy, LoopState, Observation, PastDemand } from './types.ts';

/** Noise never is less than this fraction of the capacity. */
const LEAST_DEVIATION = 0.01;

/** Estimates closer together than this say the same thing, seconds: noise lasts about as long. */
const INDEPENDENT_SECONDS = 15;

/** Of each estimate's excess this much is drift of a load at the threshold itself, which evidence has to outweigh. */
const DRIFT = 0.5;

/**
 * Evidence from which on a plan does not wait: an estimate two standard deviations above the threshold, or several that are less
 * above it. A load at the threshold itself comes to that with one estimate in 44 (the upper 2.3 % of a normal distribution).
 */
export const ENOUGH = 1.5;

/** Excess of the busiest endpoint's expected load over the upper threshold, in standard deviations; negative below it. */
export const excessOf = (
  { upperUtilization }: Pick<LoopPolicy, 'upperUtilization'>,
  plan: HintsInForce,
  endpoints: readonly FlowEndpoint[],
  { zones, mean, covariance }: Estimate,
): number => {
  const { sharers, orphans } = sharingOf(zones, endpoints, plan);
  const hints = hintsOf(plan);
  const served = (endpoint: FlowEndpoint): number[] =>
    zones.map((zone, index) =>
      orphans.includes(zone) || hints(endpoint).includes(zone) ? 1 / (sharers[index] ?? 1) : 0,
    );
  return endpoints.reduce((most, endpoint) => {
    const shares = served(endpoint);
    const utilization = dot(shares, mean) / endpoint.capacity;
    if (utilization <= upperUtilization) return most;
    const deviation = Math.sqrt(Math.max(0, dot(shares, times(covariance, shares)))) / endpoint.capacity;
    return Math.max(most, (utilization - upperUtilization) / Math.max(LEAST_DEVIATION, deviation));
  }, 0);
};

/** Page's cumulative sum (Biometrika 1954): evidence so far, with one more estimate `seconds` after the last; Infinity before the first. */
export const accumulate = (evidence: number, excess: number, seconds: number): number =>
  Math.max(0, evidence + (excess - DRIFT) * Math.min(1, seconds / INDEPENDENT_SECONDS));

/** Below this fraction of all that was seen since a fall, demand has fallen further. */
const LOWER = 0.7;
/** Where at least this part of what a zone lost is missing in all. */
const STAYS_AWAY = 0.5;

/** The entries of the down dwell, and the one that was true when it began: samples may come less often than that. */
const within = (
  { downDwellSeconds, holdAfterSeconds }: LoopPolicy,
  past: readonly PastDemand[],
  time: number,
): readonly PastDemand[] => {
  const begin = time - downDwellSeconds;
  const first = past.findLastIndex((entry) => entry.time <= begin && entry.time >= begin - holdAfterSeconds);
  return first < 0 ? past.filter((entry) => entry.time >= begin) : past.slice(first);
};

/** What was believed within the down dwell. A guess ends with the first estimate that is none, which then stands for its time too. */
const pastOf = (
  policy: LoopPolicy,
  past: readonly PastDemand[],
  { estimate, countedAt, saturated, jump }: Observed,
  time: number,
): PastDemand[] => {
  const recent = [...within(policy, past, time)];
  if (countedAt === null || estimate === null) return recent;
  const guess = saturated || jump !== null;
  const demand = jump ?? meanOf(estimate);
  const kept = guess ? recent : recent.map((entry) => (entry.atLeast ? { ...entry, demand, atLeast: false } : entry));
  return [...kept, { time, demand, atLeast: guess }];
};

/**
 * Some zone's demand is below all that it was since a time, by more than rates of a whole zone are off from scrape to scrape. What only moved
 * to another zone is no fall: zones that share endpoints are hard to tell apart.
 */
const isLower = (past: readonly PastDemand[], since: number, now: Demand): boolean => {
  const entries = past.filter((entry) => entry.time >= since && !entry.atLeast);
  const total = sumOf(Object.values(now));
  return Object.entries(now).some(([zone, demand]) =>
    entries.every((entry) => {
      const before = amountOf(entry.demand, zone);
      return demand < LOWER * before && sumOf(Object.values(entry.demand)) - total >= STAYS_AWAY * (before - demand);
    }),
  );
};

/**
 * When demand fell by more than noise explains and has stayed there since; ended by a load above the upper threshold. What falls no further
 * is the same fall. A rise in another zone that stays below the threshold ends nothing: users of a zone that returned leave the others in the
 * moment in which they come back to it.
 */
const fellOf = (
  { upperUtilization }: LoopPolicy,
  { fellAt, past }: LoopState,
  { countedAt, fall, saturated, estimate }: Observed,
  time: number,
  utilization: number,
): LoopState['fellAt'] => {
  if (countedAt === null || estimate === null) return fellAt;
  if (saturated || utilization > upperUtilization) return null;
  return fall && (fellAt === null || isLower(past, fellAt, meanOf(estimate))) ? time : fellAt;
};

/** Estimates in a row with a load above the upper threshold; `excess`: of the newest, in standard deviations. */
const highOf = (
  { upperUtilization }: LoopPolicy,
  { high }: LoopState,
  { countedAt }: Observed,
  { window }: Observation,
  utilization: number,
  excess: number,
): LoopState['high'] => {
  if (countedAt === null) return high;
  if (utilization <= upperUtilization) return null;
  const { since, estimates, evidence, until } = high ?? {
    since: countedAt - window,
    estimates: 0,
    evidence: 0,
    until: -Infinity,
  };
  return {
    since,
    until: countedAt,
    estimates: estimates + 1,
    evidence: accumulate(evidence, excess, countedAt - until),
  };
};

/** Load has been above the upper threshold for long enough, or by so much more than noise that there is nothing to wait for. */
const isHighEnough = ({ upDwellSeconds }: LoopPolicy, high: LoopState['high'], time: number): boolean =>
  high !== null && (high.evidence >= ENOUGH || (high.estimates >= 2 && time - high.since >= upDwellSeconds));

/** Nothing is known, and every endpoint serves its own zone: what costs least, and shows demand best. */
export const initialState = ({ time }: Observation): LoopState => ({
  plan: { spread: false, endpoints: [] },
  plannedAt: null,
  hintPeriods: [],
  previous: null,
  members: {},
  estimate: null,
  sampled: {},
  freshAt: time,
  high: null,
  past: [],
  fellAt: null,
  quickAt: null,
  safe: false,
});

/**
 * Counts what was seen and decides on the hints from `observation.time` on.
 *
 * Without a state the loop begins: every endpoint serves its own zone. The same arguments give the same answer, and the new
 * state is plain JSON.
 */
export const step = (
  policy: LoopPolicy,
  state: LoopState | undefined,
  observation: Observation,
): { readonly state: LoopState; readonly decision: LoopDecision } => {
  const before = state ?? initialState(observation);
  const { time } = observation;
  const observed = observe(policy, before, observation);
  const { estimate, rank } = observed;
  const ready = readyOf(observation);
  const members = membersOf(observation, before.members);
  const current = planFor(before.plan, ready);
  const estimated = estimate === null ? {} : meanOf(estimate);
  const demand = observed.jump ?? estimated;
  const figures = figuresUnder(current, ready, demand, policy);
  const excess = estimate === null ? 0 : excessOf(policy, current, ready, estimate);
  const high = highOf(policy, before, observed, observation, figures.maxUtilization, excess);
  const past = pastOf(policy, before.past, observed, time);
  const fellAt = fellOf(policy, before, observed, time, figures.maxUtilization);
  const zonesDiffer = before.hintPeriods.at(-1)?.zones.join() !== observedZones(observation).join();
  const choice = decidePlan({
    policy,
    time,
    before,
    observed,
    endpoints: endpointsWithHints(current, ready),
    current,
    figures,
    demand,
    past,
    fellAt,
    first: state === undefined,
    // A controller that begins has seen no change: what the slices carry has served until now, and stays up to the upper threshold.
    topologyChanged: before.hintPeriods.length > 0 && (zonesDiffer || membersDiffer(before.members, members)),
    highEnough: isHighEnough(policy, high, time),
  });
  const { plan, reason, cutShort } = choice;
  const changed = !samePlan(plan, current);
  const oldest = time - policy.holdAfterSeconds;
  const { plannedAt, hintPeriods, previous } = before;
  const guessedOn = choice.guessed === true ? { plan: current, plannedAt, hintPeriods, until: time } : null;
  const { spread, endpoints } = plan;
  const { inZoneShare } = figuresUnder(plan, ready, estimated, policy);
  return {
    state: {
      plan,
      plannedAt: changed ? time : plannedAt,
      hintPeriods: withHintPeriod(changed ? [] : hintPeriods, observation, plan, oldest),
      previous: changed ? guessedOn : previous !== null && previous.until >= oldest ? previous : null,
      members,
      estimate,
      sampled: observed.sampled,
      freshAt: observed.freshAt,
      high: changed ? null : high,
      past,
      fellAt,
      quickAt: choice.quick === true ? time : before.quickAt,
      safe: choice.safe,
      ...defined({ counting: observed.counting, silent: observed.silent }),
    },
    decision: { time, changed, spread, endpoints, demand: estimated, inZoneShare, reason, cutShort, rank },
  };
};
