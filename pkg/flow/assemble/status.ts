// The status of a FlowPolicy, and whether it says anything that the one before did not.
import { defined, orderedJson, timeText } from '../../apis/values.ts';
import type { FlowPolicyCondition, FlowPolicyStatus } from '../../apis/flow-policy.ts';
import { MAX_HINTS, isZoneName } from '../../hints/readiness.ts';
import { type HintsInForce, coresPerUnit, hintsOf } from '../demand/arrivals.ts';
import type { Counting } from '../loop/types.ts';
import type { Bounds, PlannedEndpoint } from '../types.ts';
import type { Finding, Findings } from './conditions.ts';
import type { TurnFigures } from './job.ts';
import type { Turn } from './turn.ts';

export interface StatusInput {
  /** What was written last; undefined before the first time. */
  readonly previous: FlowPolicyStatus | undefined;
  readonly findings: Findings;
  /** Whether measured connections go where hints say; undefined where nothing is measured. */
  readonly honored?: Finding | undefined;
  readonly figures?: TurnFigures | undefined;
  readonly bounds?: Bounds | undefined;
  readonly turn?: Pick<Turn, 'plan' | 'decision' | 'state'> | undefined;
  readonly endpoints: readonly { readonly name: string; readonly zone: string }[];
  readonly source?: string | undefined;
  readonly generation: number | undefined;
  /** Seconds since 1970. */
  readonly time: number;
}

const MAX_ENDPOINTS = 100;
const MAX_CHANGES = 10;

const percent = (fraction: number): number => Math.round(fraction * 100);

/** Three digits: what is finer than that is noise. */
const decimal = (value: number): string => String(Number(value.toPrecision(3)));

/** Endpoints that serve other zones than just their own. */
const otherwise = (plan: HintsInForce, endpoints: StatusInput['endpoints']): PlannedEndpoint[] => {
  if (plan.spread) return [];
  const hints = hintsOf(plan);
  return endpoints
    .map(({ name, zone }) => ({ name, zone, forZones: hints({ name, zone }) }))
    .filter(({ zone, forZones }) => forZones.join() !== zone)
    .map(({ name, forZones }) => ({ name, forZones }));
};

/** A plan as a sentence, for changes, events and logs. */
export const describePlan = (plan: HintsInForce, endpoints: StatusInput['endpoints']): string => {
  if (plan.spread) return 'no hints: every endpoint serves every zone';
  const other = otherwise(plan, endpoints);
  if (other.length === 0) return 'every endpoint serves its own zone';
  const named = other.slice(0, 3).map(({ name, forZones }) => `${name} serves ${forZones.join(', ')}`);
  const more = other.length > named.length ? `; ${other.length - named.length} more serve other zones` : '';
  return `${named.join('; ')}${more}`;
};

const planStatus = (plan: HintsInForce, endpoints: StatusInput['endpoints']): NonNullable<FlowPolicyStatus['plan']> => {
  const other = otherwise(plan, endpoints);
  const listed = other.slice(0, MAX_ENDPOINTS).map(({ name, forZones }) => ({ name, forZones: [...forZones] }));
  const omitted = other.length - listed.length;
  return { spread: plan.spread, endpoints: listed, ...(omitted > 0 ? { omitted } : {}) };
};

const conditionsOf = ({ previous, findings, honored, generation, time }: StatusInput): FlowPolicyCondition[] =>
  [
    ...(['Observed', 'Effective', 'Stable'] as const).map((type) => [type, findings[type]] as const),
    ...(honored === undefined ? [] : [['TrafficDistributionHonored', honored] as const]),
  ].map(([type, { status, reason, message }]) => {
    const before = previous?.conditions?.find((condition) => condition.type === type);
    return {
      type,
      status,
      reason,
      message,
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : timeText(time * 1_000),
      ...defined({ observedGeneration: generation }),
    };
  });

const changesOf = ({ previous, turn, endpoints, time }: StatusInput): NonNullable<FlowPolicyStatus['lastChanges']> => {
  const before = previous?.lastChanges ?? [];
  if (turn?.decision?.changed !== true) return before;
  const { plan, state } = turn;
  const { reason } = turn.decision;
  // When observing, the same plan is proposed again and again.
  if (orderedJson(planStatus(plan, endpoints)) === orderedJson(previous?.plan)) return before;
  const age = state?.estimate ? { sampleAgeSeconds: Math.max(0, Math.round(time - state.freshAt)) } : {};
  const change = { time: timeText(time * 1_000), reason, message: describePlan(plan, endpoints), ...age };
  return [change, ...before].slice(0, MAX_CHANGES);
};

const learnedStatus = (counting: Counting | undefined): Pick<FlowPolicyStatus, 'learned'> => {
  const known = coresPerUnit(counting?.known ?? null);
  if (counting === undefined || known === undefined) return {};
  const { cores, uncertainty } = known;
  return { learned: { unit: counting.unit, cores: decimal(cores), uncertaintyPercent: percent(uncertainty) } };
};

const figuresStatus = (figures: TurnFigures): Partial<FlowPolicyStatus> => ({
  demand: decimal(figures.demand),
  inZonePercent: percent(figures.inZoneShare),
  maxUtilizationPercent: percent(figures.maxUtilization),
  zones: figures.zones.map(({ zone, demand, endpoints, utilization, spill }) => ({
    zone,
    demand: decimal(demand),
    endpoints,
    utilizationPercent: percent(utilization),
    spillPercent: percent(spill),
  })),
});

export const statusOf = (input: StatusInput): FlowPolicyStatus => {
  const { figures, bounds, turn, endpoints, generation, source } = input;
  const changes = changesOf(input);
  return {
    ...defined({ observedGeneration: generation, source }),
    endpoints: endpoints.length,
    ...(figures && figuresStatus(figures)),
    ...(figures &&
      bounds && { bounds: { lpPercent: percent(bounds.lp), integralityPercent: percent(bounds.integrality) } }),
    ...(turn && { plan: planStatus(turn.plan, endpoints) }),
    ...learnedStatus(turn?.state?.counting),
    conditions: conditionsOf(input),
    ...(changes.length > 0 && { lastChanges: changes }),
  };
};

/** `now`: it says something else. `later`: only figures moved, noticeably. `no`: nothing worth reporting. */
export type News = 'now' | 'later' | 'no';

const NOTICEABLE_POINTS = 3;
const NOTICEABLE_SHARE = 0.1;

const moved = (left: FlowPolicyStatus, right: FlowPolicyStatus): boolean => {
  const points = (one = 0, other = 0): boolean => Math.abs(one - other) >= NOTICEABLE_POINTS;
  const shares = (one = '0', other = '0'): boolean =>
    Math.abs(Number(one) - Number(other)) > NOTICEABLE_SHARE * Math.max(Number(one), Number(other));
  if (points(left.inZonePercent, right.inZonePercent) || shares(left.demand, right.demand)) return true;
  if (points(left.maxUtilizationPercent, right.maxUtilizationPercent)) return true;
  return (right.zones ?? []).some((zone, index) => {
    const before = left.zones?.[index];
    return shares(before?.demand, zone.demand) || points(before?.utilizationPercent, zone.utilizationPercent);
  });
};

/** Everything but figures, as one text. */
const said = ({ conditions, zones, plan, lastChanges, observedGeneration, endpoints, source }: FlowPolicyStatus) =>
  orderedJson([
    conditions?.map(({ type, status, reason, message }) => [type, status, reason, message]),
    zones?.map(({ zone, endpoints: count }) => [zone, count]),
    [plan, lastChanges, observedGeneration, endpoints, source],
  ]);

export const newsIn = (previous: FlowPolicyStatus | undefined, next: FlowPolicyStatus): News => {
  if (previous === undefined || said(previous) !== said(next)) return 'now';
  return moved(previous, next) ? 'later' : 'no';
};

/** Every account that may write the status may have written anything; hints that no API server takes would be refused at every try. */
const plannedIn = ({ name, forZones }: Partial<PlannedEndpoint>): PlannedEndpoint[] => {
  const zones = [...new Set(forZones)].filter(isZoneName).slice(0, MAX_HINTS);
  return name === undefined || zones.length === 0 ? [] : [{ name, forZones: zones }];
};

/** The plan that a status holds; undefined where it does not hold a whole one, or one that was never in force. */
export const planInStatus = ({ plan, conditions }: FlowPolicyStatus): HintsInForce | undefined => {
  const observed = conditions?.some(({ type, reason }) => type === 'Effective' && reason === 'ObserveOnly') === true;
  if (plan?.endpoints === undefined || observed || plan.omitted !== undefined) return undefined;
  return plan.spread
    ? { spread: true, endpoints: [] }
    : { spread: false, endpoints: plan.endpoints.flatMap(plannedIn) };
};
