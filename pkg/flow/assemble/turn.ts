// One turn of a Service's loop: from what the caches and the source of load say to the plan that is to be in force.
import type { HintsInForce } from '../demand/in-force.ts';
import type { FlowSettings } from '../loop/from-spec.ts';
import { initialState, step } from '../loop/step.ts';
import { withEra } from '../loop/topology.ts';
import type { LoopDecision, LoopState, Observation } from '../loop/types.ts';
import { planProportional } from '../proportional.ts';
import type { Plan } from '../types.ts';
import { viewsOfEndpoints, hintsInForce, planOnSlices } from './endpoints.ts';
import type { ClientZones } from './nodes.ts';
import { observationOf } from './observation.ts';
import type { Load, PodCpu } from './observation.ts';
import { differs } from './patch.ts';
import type { FlowSlice } from './slice.ts';

export interface TurnInput {
  readonly settings: FlowSettings;
  /** Seconds since 1970; never goes back. */
  readonly time: number;
  /** All slices of the Service. */
  readonly slices: readonly FlowSlice[];
  readonly zones: ClientZones;
  podCpu(pod: string): PodCpu | undefined;
  /** What was read last; undefined where nothing was. */
  readonly load: Load | undefined;
  /** Of the turn before; undefined in the first. */
  readonly state: LoopState | undefined;
  /** When observing: what would have been planned up to now. */
  readonly proposed?: HintsInForce | undefined;
  /** A plan that was stored elsewhere, for slices that lost theirs while no controller ran. */
  readonly remembered?: HintsInForce;
}

export interface Turn {
  /** To be in force from now on; when observing, what would be. */
  readonly plan: HintsInForce;
  readonly state: LoopState | undefined;
  /** Undefined where there is nothing to decide on. */
  readonly decision: LoopDecision | undefined;
  readonly observation: Observation | undefined;
  /** Ready endpoints that do not say what they can serve, in name order. */
  readonly withoutCapacity: readonly string[];
}

const OWN_ZONES: HintsInForce = { spread: false, endpoints: [] };

const samePlan = (left: HintsInForce, right: HintsInForce): boolean =>
  left.spread === right.spread && JSON.stringify(left.endpoints) === JSON.stringify(right.endpoints);

/** The state from now on with another plan than it believed in: samples from before say nothing of it. */
const withPlan = (state: LoopState, plan: HintsInForce, observation: Observation): LoopState => ({
  ...state,
  plan,
  plannedAt: observation.time,
  previous: null,
  eras: withEra([], observation, plan, -Infinity),
});

const enforced = (input: TurnInput, observation: Observation): Turn => {
  const { settings, slices, state, remembered } = input;
  const adopted = { ...initialState(observation), plan: planOnSlices(slices, remembered) };
  const lost = state !== undefined && slices.some((slice) => differs(slice, state.plan));
  const before = lost ? withPlan(state, state.plan, observation) : (state ?? adopted);
  const next = step(settings.loop, before, observation);
  return { plan: next.state.plan, state: next.state, decision: next.decision, observation, withoutCapacity: [] };
};

/** What would be planned, while what is in force is what the slices say. */
const observed = (input: TurnInput, observation: Observation): Turn => {
  const { settings, slices } = input;
  const actual = hintsInForce(slices);
  const known = input.state ?? { ...initialState(observation), plan: actual };
  const before = samePlan(known.plan, actual) ? known : withPlan(known, actual, observation);
  const { state, decision } = step(settings.loop, before, observation);
  const oldest = observation.time - settings.loop.holdAfterSeconds;
  const kept: LoopState = decision.changed
    ? {
        ...state,
        plan: actual,
        plannedAt: before.plannedAt,
        previous: before.previous,
        eras: withEra(before.eras, observation, actual, oldest),
        high: before.high,
      }
    : { ...state, plan: actual };
  // New samples that ask for no change say that what is in force will do; without any the proposal stands.
  const proposal = decision.rank > 0 ? actual : (input.proposed ?? actual);
  return { plan: decision.changed ? state.plan : proposal, state: kept, decision, observation, withoutCapacity: [] };
};

/** Load decides. Without capacity nothing can be planned: every endpoint serves its own zone. */
export const turnByLoad = (input: TurnInput): Turn => {
  const result = observationOf({
    time: input.time,
    endpoints: viewsOfEndpoints(input.slices),
    zones: input.zones.zones,
    weights: input.zones.weights,
    capacity: input.settings.capacity,
    podCpu: input.podCpu,
    load: input.load,
  });
  if (result.kind === 'no-capacity') {
    const { endpoints } = result;
    return {
      plan: OWN_ZONES,
      state: undefined,
      decision: undefined,
      observation: undefined,
      withoutCapacity: endpoints,
    };
  }
  const { observation } = result;
  if (observation.endpoints.length > 0)
    return input.settings.mode === 'Observe' ? observed(input, observation) : enforced(input, observation);
  // Nothing to plan, and nothing to measure: what comes next begins anew, with what the slices carry.
  const plan = input.state?.plan ?? planOnSlices(input.slices, input.remembered);
  return { plan, state: undefined, decision: undefined, observation, withoutCapacity: [] };
};

/** A plan keeps to a fifth above the fair share, and is given up only where it is further off, or much dearer than need be. */
const WANTED = { maxOverload: 0.2, stickiness: 0.02 };
const TOLERATED = { maxOverload: 0.3, stickiness: 0.05 };

/** The Nodes' CPU decides; nothing is measured, and the hints on the slices are all that is remembered. */
export const planByWeight = (
  slices: readonly FlowSlice[],
  { weights }: ClientZones,
  planned: HintsInForce | undefined,
  effort?: number,
): HintsInForce & Pick<Plan, 'cutShort'> => {
  const current = planned ?? planOnSlices(slices);
  const known = new Map(current.endpoints.map(({ name, forZones }) => [name, forZones]));
  const endpoints = viewsOfEndpoints(slices)
    .filter(({ ready }) => ready)
    .map(({ name, zone }) => ({ name, zone, forZones: current.spread ? [] : (known.get(name) ?? [zone]) }));
  const input = {
    weights,
    endpoints,
    spreadInForce: current.spread,
    ...(effort === undefined ? {} : { effort }),
  };
  const tolerated = planProportional({ ...input, ...TOLERATED });
  const plan = tolerated.changes === 0 ? tolerated : planProportional({ ...input, ...WANTED });
  return { spread: plan.spread, endpoints: plan.spread ? [] : plan.endpoints, cutShort: plan.cutShort };
};
