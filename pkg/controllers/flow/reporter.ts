// Reports what the loops do: conditions and figures in the FlowPolicy, events and log lines when something changes, metrics.
import { findingsOfRefused, loopFindingsOf } from '../../flow/assemble/conditions.ts';
import type { Finding, Findings, Problem } from '../../flow/assemble/conditions.ts';
import { viewsOfEndpoints } from '../../flow/assemble/slice.ts';
import { type TurnFigures, loopFiguresOf } from '../../flow/assemble/job.ts';
import { describePlan, newsIn, statusOf } from '../../flow/assemble/status.ts';
import { type HintsInForce, hintsOf } from '../../flow/demand/arrivals.ts';
import { defined, refOf, refOfKey } from '../../apis/values.ts';
import type { Service } from '../../apis/core.ts';
import { FLOW_POLICY_API_VERSION } from '../../apis/flow-policy.ts';
import type { FlowPolicy, FlowPolicyCondition, FlowPolicyStatus } from '../../apis/flow-policy.ts';
import { COMMANDS, LABEL_MANAGED_BY } from '../../apis/names.ts';
import { FLOW_POLICIES, SERVICES, regardingOf } from '../../apis/resources.ts';
import type { FlowControllerConfiguration } from '../../apis/config/flow-controller.ts';
import type { Following } from '../../diagnosis/models/routes.ts';
import { except, ifFound, isAlreadyExists, isForbidden, isNotFound } from '../../kubernetes/errors.ts';
import type { EventInput, Uses } from '../../kubernetes/types.ts';
import type { ServiceFigures, createFlowCounters } from './metrics.ts';
import { isOwnPolicy } from './write.ts';
import type { Outcome, Snapshot } from './memory.ts';

interface Known extends Pick<ServiceFigures, 'figures' | 'strategy'> {
  readonly findings: Findings;
  readonly freshAt: number | undefined;
  readonly plan: HintsInForce | undefined;
  /** Load was known in this or an earlier turn of this process. */
  readonly measured: boolean;
}

/** Reasons that become Warning events; the others appear only in the status. */
const WARNINGS = new Set([
  'ConflictingMode',
  'HintsNotFollowed',
  'InvalidPolicy',
  'MetricsLost',
  'MetricsStale',
  'NoCapacity',
  'NotMirrored',
  'PlanTimedOut',
  'TooManyZones',
  'UnknownSource',
  'WebhookUnavailable',
]);

/** Reasons whose end is worth an event too. */
const isWorse = ({ reason }: Finding): boolean => WARNINGS.has(reason);

const NOT_REQUESTED: Problem = { reason: 'NotRequested', message: 'the Service does not request a plan' };

const OWN_ZONES: HintsInForce = { spread: false, endpoints: [] };

const emptyPolicy = ({ metadata }: Service): FlowPolicy => {
  const { name = '', namespace = '', uid = '' } = metadata ?? {};
  return {
    apiVersion: FLOW_POLICY_API_VERSION,
    kind: FLOW_POLICIES.kind,
    metadata: {
      name,
      namespace,
      labels: { [LABEL_MANAGED_BY]: COMMANDS.flowController },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name, uid }],
    },
    spec: {},
  };
};

const endpointsIn = ({ snapshot }: Outcome) => viewsOfEndpoints(snapshot.slices).filter(({ ready }) => ready);

/** How many of the ready endpoints have other hints than under the plan before. */
const hintsChanged = (outcome: Outcome, before: HintsInForce | undefined): number => {
  const after = outcome.turn?.plan;
  if (after === undefined) return 0;
  const [old, next] = [hintsOf(before ?? OWN_ZONES), hintsOf(after)];
  return endpointsIn(outcome).filter((endpoint) => old(endpoint).join() !== next(endpoint).join()).length;
};

/** What is not known has no figures: before the first samples, and while there is no plan by load. */
const figuresIn = ({ turn, settings }: Outcome): TurnFigures | undefined => {
  if (turn?.observation === undefined || turn.decision === undefined || turn.state?.estimate === null) return undefined;
  return loopFiguresOf(turn.observation, turn.plan, turn.decision.demand, settings.loop);
};

/** After a restart the first samples come with the next window: until then the status stays, unless something else is new in it. */
const isOnlyWaiting = (previous: FlowPolicyStatus | undefined, findings: Findings, generation: number | undefined) => {
  const before = (type: FlowPolicyCondition['type']): FlowPolicyCondition | undefined =>
    previous?.conditions?.find((condition) => condition.type === type);
  return (
    findings.Observed.reason === 'WaitingForMetrics' &&
    before('Observed')?.status === 'True' &&
    before('Effective')?.reason === findings.Effective.reason &&
    previous?.observedGeneration === generation
  );
};

export const createFlowReporter = (
  options: Uses<'client' | 'clock' | 'events' | 'logger', 'create' | 'patch' | 'delete'> & {
    status: FlowControllerConfiguration['status'];
    /** Whether FlowPolicies are served: without them no status is written. */
    available(): boolean;
    counters: Pick<ReturnType<typeof createFlowCounters>, 'changed'>;
    following(service: Service): Following;
    /** Whether measured connections to a Service go where hints say; undefined where nothing is measured. */
    readonly honored?: ((key: string) => Finding | undefined) | undefined;
  },
) => {
  const { client, status: config, events, counters, clock, logger } = options;
  const known = new Map<string, Known>();
  /** What this process wrote, and when, monotonic milliseconds. */
  const written = new Map<string, { readonly status: FlowPolicyStatus; readonly at: number }>();

  const isDue = (key: string, { status }: FlowPolicy, next: FlowPolicyStatus): boolean => {
    const last = written.get(key);
    const news = newsIn(last?.status ?? status, next);
    if (news !== 'later') return news === 'now';
    return clock.monotonic() - (last?.at ?? -Infinity) >= config.minIntervalSeconds * 1_000;
  };

  /** Writes the status if there is need. Failures are logged, and tried again with the next reconcile. */
  const writeStatus = async (
    key: string,
    { service, policy }: Pick<Snapshot, 'service' | 'policy'>,
    status: FlowPolicyStatus,
    signal: AbortSignal,
  ): Promise<void> => {
    const creates = config.create && service.metadata?.uid !== undefined;
    if (!options.available() || !(policy === undefined ? creates : isDue(key, policy, status))) return;
    try {
      if (policy === undefined)
        await except(client.create(FLOW_POLICIES, emptyPolicy(service), {}, signal), isAlreadyExists);
      const patch = [{ op: 'add', path: '/status', value: status }];
      await client.patch(FLOW_POLICIES, refOf(service), 'json', patch, { subresource: 'status' }, signal);
      written.set(key, { status, at: clock.monotonic() });
    } catch (error) {
      signal.throwIfAborted();
      // The definition is not installed, or the namespace is going away.
      if (!isNotFound(error) && !isForbidden(error)) logger.warn('cannot write the status', { service: key, error });
    }
  };

  const emit = (outcome: Outcome, type: EventInput['type'], reason: string, message: string): void => {
    const fields = { service: outcome.key, reason, detail: message };
    if (type === 'Warning') logger.warn('flow loop degraded', fields);
    else logger.info('flow loop recovered', fields);
    const regarding = regardingOf(SERVICES, outcome.snapshot.service);
    events.record({ regarding, type, reason, message: message.slice(0, 1_000) });
  };

  const tellTransitions = (outcome: Outcome, findings: Findings, before: Findings | undefined): void => {
    const reported = new Set<string>();
    for (const type of ['Observed', 'Effective', 'Stable'] as const) {
      const { reason, message } = findings[type];
      const last = before?.[type];
      if (last?.reason === reason || reported.has(reason)) continue;
      reported.add(reason);
      if (isWorse(findings[type])) emit(outcome, 'Warning', reason, message);
      else if (last !== undefined && isWorse(last)) emit(outcome, 'Normal', reason, `${message} (was: ${last.reason})`);
    }
  };

  const tellChange = (outcome: Outcome, before: HintsInForce | undefined): void => {
    const { turn, settings } = outcome;
    const { decision, plan } = turn ?? {};
    if (decision?.changed !== true || plan === undefined || settings.mode === 'Observe') return;
    counters.changed(decision.reason, hintsChanged(outcome, before));
    emit(outcome, 'Normal', 'PlanChanged', `${decision.reason}: ${describePlan(plan, endpointsIn(outcome))}`);
  };

  const reportStatus = async (
    outcome: Outcome,
    findings: Findings,
    figures: TurnFigures | undefined,
    signal: AbortSignal,
  ): Promise<void> => {
    const { key, snapshot, turn, bounds, load, strategy, time } = outcome;
    const { policy } = snapshot;
    if (strategy !== 'load-aware' && policy === undefined) return;
    const previous = written.get(key)?.status ?? policy?.status;
    // One that is about to be created begins with the first.
    const generation = policy === undefined ? 1 : policy.metadata.generation;
    const isNew = known.get(key)?.measured !== true && turn?.decision?.changed !== true;
    if (isNew && isOnlyWaiting(previous, findings, generation)) return;
    const [source, honored] = [load?.source, options.honored?.(key)];
    const endpoints = endpointsIn(outcome);
    const next = statusOf({ previous, findings, honored, figures, bounds, turn, endpoints, source, generation, time });
    await writeStatus(key, snapshot, next, signal);
  };

  return {
    async report(outcome: Outcome, signal: AbortSignal): Promise<void> {
      const { key, strategy, snapshot, turn, load } = outcome;
      const figures = figuresIn(outcome);
      const findings = loopFindingsOf({
        ...outcome,
        source: load?.source ?? '',
        problem: load?.problem,
        following: options.following(snapshot.service),
        evacuated: snapshot.slices.some(({ alsoServe }) => alsoServe !== undefined),
        figures,
      });
      const before = known.get(key);
      const estimate = turn?.state?.estimate ?? null;
      known.set(key, {
        findings,
        figures,
        strategy,
        freshAt: estimate === null ? undefined : turn?.state?.freshAt,
        plan: turn?.plan,
        measured: estimate !== null || before?.measured === true,
      });
      tellTransitions(outcome, findings, before?.findings);
      tellChange(outcome, before?.plan);
      await reportStatus(outcome, findings, figures, signal);
    },
    /** The Service asks for nothing any more; undefined: it is gone. Its FlowPolicy says so, or is deleted if the controller created it. */
    async released(key: string, snapshot: Snapshot | undefined, signal: AbortSignal): Promise<void> {
      known.delete(key);
      written.delete(key);
      const { service, policy } = snapshot ?? {};
      if (service === undefined || policy === undefined) return;
      if (isOwnPolicy(policy)) {
        const preconditions = defined({ uid: policy.metadata.uid });
        await ifFound(client.delete(FLOW_POLICIES, refOf(policy), { preconditions }, signal));
        return;
      }
      const { conditions = [] } = policy.status ?? {};
      if (!conditions.some(({ reason }) => reason !== NOT_REQUESTED.reason)) return;
      const { generation } = policy.metadata;
      const findings = findingsOfRefused(NOT_REQUESTED);
      const [previous, time] = [policy.status, clock.now() / 1_000];
      const next = statusOf({ previous, findings, generation, time, endpoints: [] });
      await writeStatus(key, { service, policy }, next, signal);
      written.delete(key);
    },
    *services(): Iterable<ServiceFigures> {
      for (const [key, { findings, figures, strategy, freshAt }] of known) {
        const { namespace, name: service } = refOfKey(key);
        const sampleAge = freshAt === undefined ? undefined : Math.max(0, clock.now() / 1_000 - freshAt);
        yield { namespace, service, strategy, findings, figures, sampleAge };
      }
    },
  };
};
