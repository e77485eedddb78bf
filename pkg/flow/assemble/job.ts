// What a Service's turn asks the planner, as data that can be sent to another thread, and the answer.
import { sumBy, sumOf } from '../../apis/values.ts';
import type { FlowPolicySpec } from '../../apis/flow-policy.ts';
import { type HintsInForce, endpointsWithHints } from '../demand/arrivals.ts';
import { evaluatePlan } from '../evaluate.ts';
import { settingsFromSpec } from '../loop/from-spec.ts';
import type { LoopPolicy, Observation } from '../loop/types.ts';
import { boundsAtTarget } from '../planner.ts';
import type { Bounds, Demand, FlowEndpoint } from '../types.ts';
import { type PodCpu, type Turn, type TurnInput, planByWeight, turnByLoad, unmeasured } from './turn.ts';

/**
 * Zones that only endpoints name: as many as their slices' author likes. In status and metrics each is a line or a series, so
 * that no Service gets more of them than this.
 */
const MAX_ZONES_WITHOUT_CLIENTS = 8;

/** Share of the demand of a zone's clients that other zones serve, by kube-proxy's rules. */
const spillOf = (zone: string, endpoints: readonly FlowEndpoint[]): number => {
  const ignored = endpoints.some(({ forZones = [] }) => forZones.length === 0);
  const hinted = ignored ? [] : endpoints.filter(({ forZones = [] }) => forZones.includes(zone));
  const used = hinted.length > 0 ? hinted : endpoints;
  return used.length === 0 ? 0 : 1 - used.filter((one) => one.zone === zone).length / used.length;
};

export type TurnFigures = ReturnType<typeof loopFiguresOf>;

/** Figures of a plan under a demand: loads in the unit of capacity, shares and utilizations as fractions. */
export const loopFiguresOf = (
  observation: Observation,
  plan: HintsInForce,
  demand: Demand,
  { targetUtilization }: Pick<LoopPolicy, 'targetUtilization'>,
) => {
  const endpoints = endpointsWithHints(plan, observation.endpoints);
  const evaluated = evaluatePlan({ endpoints, demand, targetUtilization });
  const known = new Set(observation.zones);
  const others = Object.keys(evaluated.zones).filter((zone) => !known.has(zone));
  const left = new Set(others.slice(MAX_ZONES_WITHOUT_CLIENTS));
  const shown = Object.entries(evaluated.zones).filter(([zone]) => !left.has(zone));
  const zones = shown.map(([zone, { demand: ofClients, utilization }]) => ({
    zone,
    demand: ofClients,
    /** Ready endpoints that run in it. */
    endpoints: endpoints.filter((one) => one.zone === zone).length,
    utilization,
    /** Share of its demand that other zones serve. */
    spill: ofClients === 0 ? 0 : spillOf(zone, endpoints),
  }));
  return {
    zones,
    demand: sumBy(zones, (zone) => zone.demand),
    capacity: sumBy(endpoints, ({ capacity }) => capacity),
    endpoints: endpoints.length,
    inZoneShare: evaluated.inZoneShare,
    maxUtilization: evaluated.maxUtilization,
  };
};

/** What no plan at the target could beat; undefined without demand or endpoints. */
export const boundsOf = (observation: Observation, demand: Demand, policy: LoopPolicy): Bounds | undefined => {
  const { endpoints } = observation;
  if (sumOf(Object.values(demand)) === 0 || endpoints.length === 0) return undefined;
  const { targetUtilization, minEndpoints, cost } = policy;
  return boundsAtTarget({ endpoints, demand, targetUtilization, minEndpoints, cost });
};

interface Common extends Pick<TurnInput, 'slices' | 'zones'> {
  readonly spec: FlowPolicySpec;
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
  return { turn: unmeasured(plan), bounds: undefined, cutShort };
};

/** `effort`: looks that each plan may take; default as for any plan. The same job and effort give the same answer. */
export const answerJob = (job: PlanJob, effort?: number): PlanAnswer => {
  if (job.kind === 'weight') return byWeight(job, effort);
  const { spec, cpu, ...rest } = job;
  const settings = settingsFromSpec(spec);
  const loop = effort === undefined ? settings.loop : { ...settings.loop, effort };
  const turn = turnByLoad({ ...rest, settings: { ...settings, loop }, podCpu: (pod) => cpu.get(pod) });
  const { observation, decision, state } = turn;
  const nothing = observation === undefined || decision === undefined || state?.estimate === null;
  const bounds = nothing ? undefined : boundsOf(observation, decision.demand, loop);
  return { turn, bounds, cutShort: decision?.cutShort === true };
};
