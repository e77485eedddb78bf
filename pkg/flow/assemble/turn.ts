// One turn of a Service's loop: from what the caches and the source of load say to the plan that is to be in force.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import { annotationOperations, lockOn } from '../../apis/json-patch.ts';
import { defined, sumsBy } from '../../apis/values.ts';
import { ANNOTATION_PLAN, NOWHERE, PLAN_SPREAD, PLAN_ZONES } from '../../apis/names.ts';
import { stayingZones } from '../../evacuation/slice.ts';
import { hintsFor, hintsNow, isZoneName, whenReady } from '../../hints/readiness.ts';
import { type HintsInForce, hintsOf, samePlan } from '../demand/arrivals.ts';
import type { CapacitySource, FlowSettings } from '../loop/from-spec.ts';
import { initialState, step } from '../loop/step.ts';
import { withHintPeriod } from '../loop/periods.ts';
import type { LoopDecision, LoopState, MeasuredDemand, Observation, ObservedEndpoint } from '../loop/types.ts';
import { planProportional, sameZones } from '../planner.ts';
import type { Demand, Plan } from '../types.ts';
import { endpointName, hintsInForce, isSpread, planOnSlices, viewsOfEndpoints } from './slice.ts';
import type { ClientZones, FlowSlice, FlowSliceEndpoint, SliceView } from './slice.ts';

const markOperations = ({ mark, annotated }: FlowSlice, wanted: string | undefined): JsonPatchOperation[] =>
  annotationOperations(ANNOTATION_PLAN, { current: mark, annotated }, wanted);

/** Zones of an endpoint that is not ready, once it is: those that it had, which admission carried over, or its own. */
const keptZones = ({ zone, forZones }: FlowSliceEndpoint, { spread }: HintsInForce): readonly string[] => {
  if (spread) return [];
  const kept = forZones.map(whenReady);
  return kept.length > 0 && kept.every(isZoneName) ? kept : [zone];
};

/**
 * Zones that a slice's endpoints are hinted for under a plan. While a zone is evacuated, what leaves stays so, and the others serve what has to
 * be covered, as admission would make it.
 */
const wantedIn = (slice: FlowSlice, plan: HintsInForce): ((endpoint: FlowSliceEndpoint) => readonly string[]) => {
  const hints = hintsOf(plan);
  const { alsoServe, rebuilt } = slice;
  return (endpoint) => {
    const { zone, ready, leaving } = endpoint;
    if (leaving === true) return [NOWHERE];
    const name = endpointName(endpoint);
    const planned = (ready ? hints({ name, zone }) : keptZones(endpoint, plan)).filter((one) => one !== '');
    const zones = alsoServe === undefined ? planned : stayingZones(zone, planned, alsoServe);
    if (ready) return zones;
    return (hintsNow({ conditions: { ready }, zone }, hintsFor(zones, []), rebuilt)?.forZones ?? []).map(
      (one) => one.name,
    );
  };
};

const hintOperation = (
  index: number,
  { forZones, hinted }: FlowSliceEndpoint,
  wanted: readonly string[],
): JsonPatchOperation[] => {
  if (wanted.length === 0) return hinted ? [{ op: 'remove', path: `/endpoints/${index}/hints` }] : [];
  if (sameZones(forZones, wanted)) return [];
  return [{ op: 'add', path: `/endpoints/${index}/hints`, value: hintsFor(wanted, []) }];
};

/** Whether proxies would route otherwise than planned: endpoints that are not ready do not count. */
export const differs = (slice: FlowSlice, plan: HintsInForce): boolean => {
  if (slice.addressType === 'FQDN') return false;
  if (isSpread(slice) !== plan.spread) return true;
  const wanted = wantedIn(slice, plan);
  return slice.endpoints.some((endpoint) => endpoint.ready && !sameZones(endpoint.forZones, wanted(endpoint)));
};

/** The patch for a slice that differs from the plan; undefined where nothing is to be written. */
export const patchFor = (slice: FlowSlice, plan: HintsInForce): JsonPatchOperation[] | undefined => {
  if (!differs(slice, plan)) return undefined;
  const wanted = wantedIn(slice, plan);
  return [
    lockOn(slice),
    ...slice.endpoints.flatMap((endpoint, index) => hintOperation(index, endpoint, wanted(endpoint))),
    ...markOperations(slice, plan.spread ? PLAN_SPREAD : PLAN_ZONES),
  ];
};

/** The patch that removes the mark and, where the mark says that this project wrote them, the hints; undefined without mark. */
export const revertPatch = (slice: FlowSlice): JsonPatchOperation[] | undefined => {
  if (slice.mark === undefined) return undefined;
  return [
    lockOn(slice),
    ...slice.endpoints.flatMap((endpoint, index) => hintOperation(index, endpoint, [])),
    ...markOperations(slice, undefined),
  ];
};

/** CPU of a Pod's containers, cores; null where one of them does not say. */
export interface PodCpu {
  readonly requests: number | null;
  readonly limits: number | null;
}

/** Averaged over a window. */
interface Windowed {
  /** In the unit of the Service's capacity: cores, unless a FlowPolicy's query and value say otherwise. 0 or more. */
  readonly load: number;
  /** End of the window, seconds since 1970 on our own clock: never later than the reading. */
  readonly sampledAt: number;
  /** Length of the window, seconds. */
  readonly window: number;
}

/** Load of one Pod. A later sample of the same Pod has a later `sampledAt`; the same has the same. */
export interface PodLoad extends Windowed {
  readonly pod: string;
}

/** Load that clients of one zone put on endpoints of another (or the same). */
export interface ZonePairLoad extends Windowed {
  readonly sourceZone: string;
  readonly destinationZone: string;
}

/** What a meter counts: new connections, or megabytes (10⁶) of requests and answers. */
export type CountedUnit = 'Connection' | 'Megabyte';

export type Load =
  | { readonly kind: 'pods'; readonly samples: readonly PodLoad[] }
  | {
      readonly kind: 'zone-pairs';
      readonly samples: readonly ZonePairLoad[];
      /**
       * Samples count these a second instead of load in the unit of the capacity, with the load of the Pods beside them, from which
       * what one of them takes is learned.
       */
      readonly counts?: { readonly unit: CountedUnit; readonly pods: readonly PodLoad[] };
    };

export interface ObservationInput extends Pick<TurnInput, 'time' | 'podCpu' | 'load'>, ClientZones {
  readonly endpoints: readonly SliceView[];
  readonly capacity: CapacitySource;
}

const DEFAULT_WINDOW_SECONDS = 15;

/** Cores; null where the Pod does not say; undefined while it is unknown. */
const capacityOf = ({ capacity, podCpu }: ObservationInput, { pod }: SliceView): number | null | undefined => {
  if (capacity.from === 'Value') return capacity.cores > 0 ? capacity.cores : null;
  if (pod === '') return null;
  const cpu = podCpu(pod);
  return capacity.from === 'Requests' ? cpu?.requests : cpu?.limits;
};

/** Load by Pod, where a source gives it. */
const podsOf = (load: Load | undefined): readonly PodLoad[] =>
  load?.kind === 'pods' ? load.samples : (load?.counts?.pods ?? []);

/** What clients of each zone ask for, over all zones that serve them. */
const measuredOf = (load: Extract<Load, { kind: 'zone-pairs' }>): MeasuredDemand | undefined => {
  if (load.samples.length === 0) return undefined;
  const newest = Math.max(...load.samples.map(({ sampledAt }) => sampledAt));
  const loadBy = (zoneOf: (sample: ZonePairLoad) => string): Demand =>
    Object.fromEntries(sumsBy(load.samples, zoneOf, (sample) => sample.load));
  const from = loadBy(({ sourceZone }) => sourceZone);
  if (load.counts === undefined) return { demand: from, sampledAt: newest };
  const to = loadBy(({ destinationZone }) => destinationZone);
  const window = load.samples.reduce((longest, sample) => Math.max(longest, sample.window), 0);
  return { demand: from, sampledAt: newest, counts: { unit: load.counts.unit, to, window } };
};

/** Of the samples of Pods where there are any: those of pairs bring their own. */
const windowOf = (load: Load | undefined): number => {
  const pods = podsOf(load);
  const samples: readonly Windowed[] = pods.length > 0 ? pods : (load?.samples ?? []);
  return samples.reduce((longest, { window }) => Math.max(longest, window), 0) || DEFAULT_WINDOW_SECONDS;
};

/**
 * The observation, or which ready endpoints keep it from being made: they do not say how much they can serve. An endpoint whose Pod is not
 * known yet is left out for now.
 */
export const observationOf = (
  input: ObservationInput,
): { kind: 'observation'; observation: Observation } | { kind: 'no-capacity'; endpoints: readonly string[] } => {
  const { time, endpoints, zones, weights, load } = input;
  const samples = new Map(podsOf(load).map((sample) => [sample.pod, sample]));
  const observed: ObservedEndpoint[] = [];
  const without: string[] = [];
  for (const endpoint of endpoints) {
    const { name, pod, zone, ready } = endpoint;
    if (!ready) continue;
    const capacity = capacityOf(input, endpoint);
    if (capacity === undefined) continue;
    if (capacity === null || !(capacity > 0) || !Number.isFinite(capacity)) without.push(name);
    else {
      const { load: cores = null, sampledAt = null } = samples.get(pod === '' ? name : pod) ?? {};
      observed.push({ name, zone, ready, capacity, load: cores, sampledAt });
    }
  }
  if (without.length > 0) return { kind: 'no-capacity', endpoints: without };
  const measured = load?.kind === 'zone-pairs' ? measuredOf(load) : undefined;
  const clients = { zones, clients: weights };
  const observation = { time, ...clients, endpoints: observed, window: windowOf(load), ...defined({ measured }) };
  return { kind: 'observation', observation };
};

export interface TurnInput {
  readonly settings: FlowSettings;
  /** Seconds since 1970; never goes back. */
  readonly time: number;
  readonly slices: readonly FlowSlice[];
  readonly zones: ClientZones;
  /** Undefined while the Pod is not known yet. */
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

export const unmeasured = (plan: HintsInForce): Turn => ({
  plan,
  state: undefined,
  decision: undefined,
  observation: undefined,
  withoutCapacity: [],
});

/** The state from now on with another plan than it believed in: samples from before say nothing of it. */
const withPlan = (state: LoopState, plan: HintsInForce, observation: Observation): LoopState => ({
  ...state,
  plan,
  plannedAt: observation.time,
  previous: null,
  hintPeriods: withHintPeriod([], observation, plan, -Infinity),
});

const enforced = (input: TurnInput, observation: Observation): Turn => {
  const { settings, slices, state, remembered } = input;
  const adopted = { ...initialState(observation), plan: planOnSlices(slices, remembered) };
  const lost = state !== undefined && slices.some((slice) => differs(slice, state.plan));
  const next = step(settings.loop, lost ? withPlan(state, state.plan, observation) : (state ?? adopted), observation);
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
        hintPeriods: withHintPeriod(before.hintPeriods, observation, actual, oldest),
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
    ...input,
    ...input.zones,
    endpoints: viewsOfEndpoints(input.slices),
    capacity: input.settings.capacity,
  });
  if (result.kind === 'no-capacity')
    return { ...unmeasured({ spread: false, endpoints: [] }), withoutCapacity: result.endpoints };
  const { observation } = result;
  if (observation.endpoints.length > 0)
    return input.settings.mode === 'Observe' ? observed(input, observation) : enforced(input, observation);
  // Nothing to plan, and nothing to measure: what comes next begins anew, with what the slices carry.
  return { ...unmeasured(input.state?.plan ?? planOnSlices(input.slices, input.remembered)), observation };
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
  const input = { weights, endpoints, spreadInForce: current.spread, effort };
  const tolerated = planProportional({ ...input, ...TOLERATED });
  const plan = tolerated.changes === 0 ? tolerated : planProportional({ ...input, ...WANTED });
  return { spread: plan.spread, endpoints: plan.spread ? [] : plan.endpoints, cutShort: plan.cutShort };
};
