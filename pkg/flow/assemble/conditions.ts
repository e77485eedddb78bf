// What is true of a Service's loop now, as conditions: is load known, is the plan in force, does it stay.
import { UNSEEN_GROWTH } from '../loop/decide.ts';
import type { FlowSettings } from '../loop/from-spec.ts';
import { MAX_ZONES } from '../problem.ts';
import type { Condition } from '../../apis/meta.ts';
import type { PlannedStrategy } from '../../apis/names.ts';
import type { TurnFigures } from './job.ts';
import type { Turn } from './turn.ts';

/** One condition, without the times that its history gives it. */
export type Finding = Readonly<Required<Pick<Condition, 'status' | 'reason' | 'message'>>>;

export type Findings = Readonly<Record<'Observed' | 'Effective' | 'Stable', Finding>>;

/** Why a plan is not all that a search could have found: its effort, or the deadline. */
export type PlanLimit = 'PlanCutShort' | 'PlanTimedOut';

/** Why there is no plan, or nothing is known of load; `reason` is a CamelCase word. */
export type Problem = Omit<Finding, 'status'>;

export interface FindingsInput {
  readonly strategy: PlannedStrategy;
  readonly settings: FlowSettings;
  /** Seconds since 1970. */
  readonly time: number;
  /** Why there is no plan. */
  readonly refused: Problem | undefined;
  readonly turn: Turn | undefined;
  /** Source of the load, and what it failed with the last time. */
  readonly source: string;
  readonly problem: Problem | undefined;
  readonly inForce: boolean;
  readonly losing: boolean;
  readonly following: { readonly kind: 'followed' } | (Problem & { readonly kind: 'ignored' | 'unknown' });
  /** A zone of the Service is being evacuated: the plan is that of the endpoints that stay. */
  readonly evacuated?: boolean | undefined;
  /** Of the plan in force; undefined where its search came to its end. */
  readonly limited?: PlanLimit | undefined;
  /** Undefined while nothing is known of demand. */
  readonly figures: TurnFigures | undefined;
}

const yes = (reason: string, message: string): Finding => ({ status: 'True', reason, message });
const no = (reason: string, message: string): Finding => ({ status: 'False', reason, message });
const unknown = (reason: string, message: string): Finding => ({ status: 'Unknown', reason, message });

const because = (problem: Problem | undefined): string => (problem === undefined ? '' : `: ${problem.message}`);

const minutes = (seconds: number): string => (seconds >= 60 ? `${Math.round(seconds / 6) / 10} min` : `${seconds} s`);

const noCapacity = (endpoints: readonly string[], { capacity }: FlowSettings): Finding => {
  const [first = ''] = endpoints;
  const asked = capacity.from === 'Limits' ? 'CPU limits' : 'CPU requests';
  return no(
    'NoCapacity',
    `${endpoints.length} ready endpoint(s), ${first} first, have no ${asked}: every endpoint serves its own zone; set them on all containers, or capacity.value`,
  );
};

const observedOf = ({ strategy, settings, time, turn, source, problem }: FindingsInput): Finding => {
  if (strategy === 'proportional') return yes('ByNodes', 'zones are weighted by the CPU of their Nodes');
  if (turn === undefined || turn.withoutCapacity.length > 0) return noCapacity(turn?.withoutCapacity ?? [], settings);
  const { state, decision, observation } = turn;
  if (observation?.endpoints.length === 0) return unknown('NoEndpoints', 'the Service has no ready endpoint');
  const age = state === undefined ? 0 : time - state.freshAt;
  const { holdAfterSeconds, safeModeAfterSeconds, safeMode } = settings.loop;
  if (age > holdAfterSeconds && age <= safeModeAfterSeconds)
    return no(
      'MetricsStale',
      `no new samples from ${source} for ${minutes(holdAfterSeconds)}: zones get endpoints for ${UNSEEN_GROWTH} times the demand last seen${because(problem)}`,
    );
  if (state?.safe === true || age > safeModeAfterSeconds)
    return no(
      'MetricsLost',
      `no new samples from ${source} for ${minutes(safeModeAfterSeconds)}: safe mode (${safeMode})${because(problem)}`,
    );
  if (state === undefined || state.estimate === null)
    return unknown(
      problem?.reason ?? 'WaitingForMetrics',
      `${source} has no samples of this Service yet${because(problem)}`,
    );
  if (problem !== undefined) return yes(problem.reason, `samples from ${source} count, but${because(problem)}`);
  const zones = observation?.zones.length ?? 0;
  const blind = decision !== undefined && decision.rank > 0 && decision.rank < zones;
  const message = `samples from ${source} are fresh`;
  return yes('MetricsFresh', blind ? `${message}; they do not separate the demand of all zones` : message);
};

const LIMITED: Readonly<Record<PlanLimit, string>> = {
  PlanCutShort: 'the best plan of a limited search is in force: too many different capacities to try all plans',
  PlanTimedOut: 'planning did not end in time: only own zones, no hints and the previous plan are compared',
};

const effectiveOf = ({ settings, turn, inForce, losing, following, limited, evacuated }: FindingsInput): Finding => {
  const spread = turn?.plan.spread === true;
  const zones = turn?.observation?.zones.length ?? 0;
  if (settings.mode === 'Observe') return no('ObserveOnly', 'mode is Observe: nothing is written');
  if (losing)
    return no(
      'WebhookUnavailable',
      'hints that are written are lost again: neither the endpointslice-webhook nor admission policies keep them',
    );
  if (turn?.observation?.endpoints.length === 0) return no('NoEndpoints', 'the Service has no ready endpoint');
  if (!inForce) return no('NotWritten', 'the plan is not on all EndpointSlices yet');
  if (spread && zones > MAX_ZONES && turn?.state?.safe !== true)
    return no('TooManyZones', `${zones} zones have clients, and hints name ${MAX_ZONES} at most: no hints`);
  // A plan without hints needs no router that follows them; an evacuation writes hints under every plan.
  if (following.kind !== 'followed' && (!spread || evacuated === true))
    return (following.kind === 'ignored' ? no : unknown)(following.reason, following.message);
  if (evacuated === true)
    return yes(
      'Evacuated',
      'a zone is evacuated: the plan is in force on the endpoints that stay, and they serve its clients',
    );
  if (limited !== undefined) return yes(limited, LIMITED[limited]);
  return spread
    ? yes('Spread', 'no hints: every endpoint serves every zone')
    : yes('PlanInForce', 'the EndpointSlices carry the plan');
};

const stableOf = ({ settings, time, turn, figures }: FindingsInput): Finding => {
  const { upperUtilization, downDwellSeconds } = settings.loop;
  if (figures === undefined) return unknown('NothingMeasured', 'the demand is unknown');
  if (figures.demand > figures.capacity)
    return no('DemandAboveCapacity', 'the demand is above the capacity of all endpoints: no hints can place it');
  if (figures.maxUtilization > upperUtilization)
    return no('Overloaded', 'the busiest endpoint is above the upper threshold in every plan that is worth a change');
  const plannedAt = turn?.state?.plannedAt ?? null;
  if (plannedAt !== null && time - plannedAt < downDwellSeconds)
    return no('PlanChanged', `the plan changed within the last ${minutes(downDwellSeconds)}`);
  return yes('Steady', 'the plan fits the demand');
};

/** Without a plan all have one reason. */
export const findingsOfRefused = ({ reason, message }: Problem): Findings => ({
  Observed: unknown(reason, message),
  Effective: no(reason, message),
  Stable: unknown(reason, message),
});

/** All three, each with a stable reason; messages hold nothing that changes from turn to turn by itself. */
export const loopFindingsOf = (input: FindingsInput): Findings =>
  input.refused === undefined
    ? { Observed: observedOf(input), Effective: effectiveOf(input), Stable: stableOf(input) }
    : findingsOfRefused(input.refused);
