// What a Service's turn asks the planner, as data that can be sent to another thread, and the answer.
import type { FlowPolicySpec } from '../../apis/flow-policy.ts';
import type { HintsInForce } from '../demand/in-force.ts';
import { settingsFromSpec } from '../loop/from-spec.ts';
import type { Bounds } from '../types.ts';
import { boundsOf } from './figures.ts';
import type { ClientZones } from './nodes.ts';
import type { PodCpu } from './observation.ts';
import type { FlowSlice } from './slice.ts';
import { planByWeight, turnByLoad } from './turn.ts';
import type { Turn, TurnInput } from './turn.ts';

interface Common {
  readonly spec: FlowPolicySpec;
  readonly slices: readonly FlowSlice[];
  readonly zones: ClientZones;
}

/** By measured load, or by the weight of the zones' Nodes. */
export type PlanJob =
  | (Common &
      Pick<TurnInput, 'time' | 'load' | 'state' | 'proposed' | 'remembered'> & {
        readonly kind: 'load';
        /** By Pod; those that are not named are not known yet. */
        readonly cpu: ReadonlyMap<string, PodCpu>;
      })
  | (Common & { readonly kind: 'weight'; readonly planned: HintsInForce | undefined });

export interface PlanAnswer {
  readonly turn: Turn;
  /** What no plan could beat; undefined where nothing is known of demand. */
  readonly bounds: Bounds | undefined;
  /** The search was ended by its effort: what was found until then. */
  readonly cutShort: boolean;
}

const byWeight = ({ slices, zones, planned }: Extract<PlanJob, { kind: 'weight' }>, effort?: number): PlanAnswer => {
  const { cutShort, ...plan } = planByWeight(slices, zones, planned, effort);
  const turn = { plan, state: undefined, decision: undefined, observation: undefined, withoutCapacity: [] };
  return { turn, bounds: undefined, cutShort };
};

/** `effort`: looks that each plan may take; default as for any plan. The same job and effort give the same answer. */
export const answerJob = (job: PlanJob, effort?: number): PlanAnswer => {
  if (job.kind === 'weight') return byWeight(job, effort);
  const { spec, cpu, ...rest } = job;
  const settings = settingsFromSpec(spec);
  const loop = effort === undefined ? settings.loop : { ...settings.loop, effort };
  const turn = turnByLoad({ ...rest, settings: { ...settings, loop }, podCpu: (pod) => cpu.get(pod) });
  const { observation, decision, state } = turn;
  const nothing = observation === undefined || decision === undefined || state?.belief === null;
  const bounds = nothing ? undefined : boundsOf(observation, decision.demand, loop);
  return { turn, bounds, cutShort: decision?.cutShort === true };
};
