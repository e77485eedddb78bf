// One step of the closed loop: what was observed becomes what is believed, and that decides whether the hints change.
import { meanOf } from '../demand/belief.ts';
import { endpointsWithHints, planFor, samePlan } from '../demand/in-force.ts';
import type { HintsInForce } from '../demand/in-force.ts';
import { evaluatePlan } from '../evaluate.ts';
import type { Demand, FlowEndpoint, PlanFigures } from '../types.ts';
import { decidePlan } from './decide.ts';
import type { Choice, DecideInput } from './decide.ts';
import { excessOf } from './evidence.ts';
import { fellOf, highOf, isHighEnough, pastOf } from './memory.ts';
import { observe } from './observe.ts';
import type { Observed } from './observe.ts';
import { membersDiffer, membersOf, observedZones, readyOf, withEra } from './topology.ts';
import type { LoopDecision, LoopPolicy, LoopState, Observation } from './types.ts';

/** Nothing is known, and every endpoint serves its own zone: what costs least, and shows demand best. */
export const initialState = ({ time }: Observation): LoopState => ({
  plan: { spread: false, endpoints: [] },
  plannedAt: null,
  eras: [],
  previous: null,
  members: {},
  belief: null,
  sampled: {},
  freshAt: time,
  high: null,
  past: [],
  fellAt: null,
  quickAt: null,
  safe: false,
});

/** What a plan does to a demand. */
const figuresUnder = (
  plan: HintsInForce,
  endpoints: readonly FlowEndpoint[],
  demand: Demand,
  { targetUtilization, cost }: LoopPolicy,
): PlanFigures =>
  evaluatePlan({
    endpoints: endpointsWithHints(plan, endpoints),
    demand,
    targetUtilization,
    ...(cost === undefined ? {} : { cost }),
  });

/** Zones with clients, or ready endpoints, are others than before. */
const topologyChanged = (before: LoopState, observation: Observation): boolean =>
  before.eras.at(-1)?.zones.join() !== observedZones(observation).join() ||
  membersDiffer(before.members, membersOf(observation, before.members));

const believedOf = ({ belief }: Observed): Demand => (belief === null ? {} : meanOf(belief));

/** All that the decision depends on, and for how long load has been high. */
const situationOf = (
  policy: LoopPolicy,
  before: LoopState,
  observed: Observed,
  observation: Observation,
): { readonly input: Omit<DecideInput, 'first' | 'topologyChanged'>; readonly high: LoopState['high'] } => {
  const { time } = observation;
  const ready = readyOf(observation);
  const current = planFor(before.plan, ready);
  const demand = observed.surge ?? believedOf(observed);
  const figures = figuresUnder(current, ready, demand, policy);
  const fellAt = fellOf(policy, before, observed, time, figures.maxUtilization);
  const { belief } = observed;
  const excess = belief === null ? 0 : excessOf(policy, current, ready, belief);
  const high = highOf(policy, before, observed, observation, figures.maxUtilization, excess);
  const input = {
    policy,
    time,
    endpoints: endpointsWithHints(current, ready),
    current,
    figures,
    demand,
    known: observed.belief !== null,
    past: pastOf(policy, before.past, observed, time),
    fellAt,
    quickAt: before.quickAt,
    saturated: observed.saturated,
    full: observed.full,
    surging: observed.surge !== null && figures.maxUtilization > policy.upperUtilization,
    highEnough: isHighEnough(policy, high, time),
    fresh: observed.countedAt !== null,
    age: time - observed.freshAt,
    plannedAt: before.plannedAt,
    guessed: before.previous !== null,
    safe: before.safe,
  };
  return { input, high };
};

const decisionOf = (
  policy: LoopPolicy,
  observation: Observation,
  observed: Observed,
  { plan, reason, cutShort }: Choice,
  changed: boolean,
): LoopDecision => {
  const demand = believedOf(observed);
  return {
    time: observation.time,
    changed,
    spread: plan.spread,
    endpoints: plan.endpoints,
    demand,
    inZoneShare: figuresUnder(plan, readyOf(observation), demand, policy).inZoneShare,
    reason,
    cutShort,
    rank: observed.rank,
    condition: observed.condition,
  };
};

const previousOf = (
  { plannedAt, eras }: LoopState,
  plan: HintsInForce,
  guessed: boolean,
  until: number,
): LoopState['previous'] => (guessed ? { plan, plannedAt, eras, until } : null);

const kept = (previous: LoopState['previous'], oldest: number): LoopState['previous'] =>
  previous !== null && previous.until >= oldest ? previous : null;

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
  const { input, high } = situationOf(policy, before, observed, observation);
  const first = state === undefined;
  const choice = decidePlan({ ...input, first, topologyChanged: !first && topologyChanged(before, observation) });
  const changed = !samePlan(choice.plan, input.current);
  const { plan } = choice;
  return {
    state: {
      plan,
      plannedAt: changed ? time : before.plannedAt,
      eras: withEra(changed ? [] : before.eras, observation, plan, time - policy.holdAfterSeconds),
      previous: changed
        ? previousOf(before, input.current, choice.guessed === true, time)
        : kept(before.previous, time - policy.holdAfterSeconds),
      members: membersOf(observation, before.members),
      belief: observed.belief,
      sampled: observed.sampled,
      freshAt: observed.freshAt,
      high: changed ? null : high,
      past: input.past,
      fellAt: input.fellAt,
      quickAt: choice.quick === true ? time : before.quickAt,
      safe: choice.safe,
      ...(observed.counting === undefined ? {} : { counting: observed.counting }),
    },
    decision: decisionOf(policy, observation, observed, choice, changed),
  };
};
