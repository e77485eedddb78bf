// SPDX-License-Identifier: Apache-2.0
// One step of the closed loop: what was observed becomes what is believed, and that decides whether the hints change.
import { meanOf } from '../demand/belief.ts';
import { hintsOf } from '../demand/in-force.ts';
import type { HintsInForce } from '../demand/in-force.ts';
import { evaluatePlan } from '../evaluate.ts';
import type { Demand, FlowEndpoint } from '../types.ts';
import { decidePlan } from './decide.ts';
import { observe } from './observe.ts';
import type { Observed } from './observe.ts';
import { membersDiffer, membersOf, readyOf, withEra, zonesOf } from './topology.ts';
import type { LoopDecision, LoopPolicy, LoopState, Observation, PastDemand } from './types.ts';

/** Nothing is known, and every endpoint serves its own zone: what costs least, and shows demand best. */
export const initialState = ({ time }: Observation): LoopState => ({
  plan: { spread: false, endpoints: [] },
  plannedAt: null,
  eras: [],
  members: {},
  belief: null,
  sampled: {},
  freshAt: time,
  high: null,
  past: [],
  safe: false,
});

/** The plan with the endpoints that are ready now: those that it does not know serve their own zone. */
const planFor = (plan: HintsInForce, endpoints: readonly FlowEndpoint[]): HintsInForce => {
  if (plan.spread) return { spread: true, endpoints: [] };
  const hints = hintsOf(plan);
  return {
    spread: false,
    endpoints: endpoints.map((endpoint) => ({ name: endpoint.name, forZones: hints(endpoint) })),
  };
};

const withHints = (plan: HintsInForce, endpoints: readonly FlowEndpoint[]): FlowEndpoint[] => {
  const hints = hintsOf(plan);
  return endpoints.map(({ name, zone, capacity }) => ({ name, zone, capacity, forZones: hints({ name, zone }) }));
};

/** What was believed within the down dwell. Guesses of the time of saturation end with the first estimate that is none. */
const pastOf = (policy: LoopPolicy, past: readonly PastDemand[], observed: Observed, time: number): PastDemand[] => {
  const recent = past.filter((entry) => entry.time >= time - policy.downDwellSeconds);
  if (observed.countedAt === null || observed.belief === null) return recent;
  const kept = observed.saturated ? recent : recent.filter(({ atLeast }) => !atLeast);
  return [...kept, { time, demand: meanOf(observed.belief), atLeast: observed.saturated }];
};

const sameHints = (left: HintsInForce, right: HintsInForce): boolean =>
  left.spread === right.spread &&
  left.endpoints.length === right.endpoints.length &&
  left.endpoints.every(({ name, forZones }, index) => {
    const other = right.endpoints[index];
    return other?.name === name && other.forZones.join() === forZones.join();
  });

/**
 * Counts what was observed and decides on the hints from `observation.time` on.
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
  const endpoints = readyOf(observation).map(({ name, zone, capacity }) => ({ name, zone, capacity }));
  const members = membersOf(observation, before.members);
  const demand: Demand = observed.belief === null ? {} : meanOf(observed.belief);
  const past = pastOf(policy, before.past, observed, time);
  const current = planFor(before.plan, endpoints);
  const figures = evaluatePlan({
    endpoints: withHints(current, endpoints),
    demand,
    targetUtilization: policy.targetUtilization,
    ...(policy.cost === undefined ? {} : { cost: policy.cost }),
  });
  const high = highOf(policy, before, observed, observation, figures.maxUtilization);
  const zonesDiffer = before.eras.at(-1)?.zones.join() !== zonesOf(observation).join();
  const choice = decidePlan({
    policy,
    time,
    endpoints: withHints(current, endpoints),
    current,
    figures,
    demand,
    known: observed.belief !== null,
    past,
    first: state === undefined,
    topologyChanged: state !== undefined && (zonesDiffer || membersDiffer(before.members, members)),
    saturated: observed.saturated,
    full: observed.full,
    highEnough: high !== null && high.estimates >= 2 && time - high.since >= policy.upDwellSeconds,
    fresh: observed.countedAt !== null,
    age: time - observed.freshAt,
    plannedAt: before.plannedAt,
    safe: before.safe,
  });
  const changed = !sameHints(choice.plan, current);
  const plan = changed ? choice.plan : current;
  const settled = changed ? [] : before.eras;
  const after = evaluatePlan({
    endpoints: withHints(plan, endpoints),
    demand,
    targetUtilization: policy.targetUtilization,
  });
  return {
    state: {
      plan,
      plannedAt: changed ? time : before.plannedAt,
      eras: withEra(settled, observation, plan, time - policy.holdAfterSeconds),
      members,
      belief: observed.belief,
      sampled: observed.sampled,
      freshAt: observed.freshAt,
      high: changed ? null : high,
      past,
      safe: choice.safe,
    },
    decision: {
      time,
      changed,
      spread: plan.spread,
      endpoints: plan.spread ? [] : plan.endpoints,
      demand,
      inZoneShare: after.inZoneShare,
      reason: choice.reason,
      rank: observed.rank,
    },
  };
};

/** Estimates in a row with a load above the upper threshold. */
const highOf = (
  { upperUtilization }: LoopPolicy,
  { high }: LoopState,
  { countedAt }: Observed,
  { window }: Observation,
  utilization: number,
): LoopState['high'] => {
  if (countedAt === null) return high;
  if (utilization <= upperUtilization) return null;
  return high === null ? { since: countedAt - window, estimates: 1 } : { ...high, estimates: high.estimates + 1 };
};
