// Writes plans to the slices of Services, and removes them: one JSON Patch a slice that differs, on the very object that was read.
// Strategy labels, the status of FlowPolicies, and what Services in namespaces that are served no more still carry.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import type { EndpointSlice, Service } from '../../apis/core.ts';
import { FLOW_POLICY_API_VERSION, type FlowPolicy, type FlowPolicyStatus } from '../../apis/flow-policy.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { ANNOTATION_APPLIED, COMMANDS, LABEL_MANAGED_BY, LABEL_STRATEGY, isPlannedStrategy } from '../../apis/names.ts';
import { refOf } from '../../apis/values.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, SERVICES } from '../../apis/resources.ts';
import { differs, patchFor, revertPatch } from '../../flow/assemble/turn.ts';
import type { FlowSlice } from '../../flow/assemble/slice.ts';
import { newsIn } from '../../flow/assemble/status.ts';
import type { HintsInForce } from '../../flow/demand/arrivals.ts';
import { isAlreadyExists, isConflict, isForbidden, isNotFound, isStalePatch } from '../../kubernetes/errors.ts';
import { type RewriteGuard, createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type { Client, Clock, Result } from '../../kubernetes/types.ts';
import { type SettingsPlan, effectiveStrategy, parseApplied, planStrategyLabel } from '../../routing/index.ts';
import { observeLabel, plannedByLabel } from '../../routing/strategy.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Snapshot } from './memory.ts';

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 300_000;
/** A plan that held for this long is not lost again and again. */
const QUIET_MS = 60_000;

/** Doubled with each loss, up to five minutes. */
const delayMs = (losses: number): number => Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (losses - 1));

/** Plans and labels that others overwrite: written again at once, then less and less often. */
export const createPlanGuard = (clock: Pick<Clock, 'monotonic'>): RewriteGuard =>
  createRewriteGuard({ clock, delayMs, quietMs: (losses) => Math.max(QUIET_MS, delayMs(losses)) });

interface SliceWrites {
  readonly written: number;
  /** Another writer wrote a slice meanwhile: the watch will bring it. */
  readonly conflicts: number;
}

/** Writes every slice for which `patchOf` has a patch; one that is gone is no error. */
export const writePlannedSlices = async (
  slices: readonly FlowSlice[],
  patchOf: (slice: FlowSlice) => JsonPatchOperation[] | undefined,
  client: Pick<Client, 'patch'>,
  signal: AbortSignal,
): Promise<SliceWrites> => {
  const result = { written: 0, conflicts: 0 };
  for (const slice of slices) {
    const patch = patchOf(slice);
    if (patch === undefined) continue;
    try {
      await client.patch<EndpointSlice>(ENDPOINT_SLICES, refOf(slice), 'json', patch, {}, signal);
      result.written += 1;
    } catch (error) {
      if (isStalePatch(error)) result.conflicts += 1;
      else if (!isNotFound(error)) throw error;
    }
  }
  return result;
};

/** Writes a label change under optimistic lock; false where there is nothing to write, or the Service was replaced meanwhile. */
export const writeService = async (
  service: Service,
  plan: SettingsPlan,
  client: Pick<Client, 'patch'>,
  signal: AbortSignal,
): Promise<boolean> => {
  if (plan.kind === 'unchanged') return false;
  const metadata = plan.patch['metadata'] as Record<string, unknown> | undefined;
  const patch = { ...plan.patch, metadata: { ...metadata, resourceVersion: service.metadata?.resourceVersion } };
  try {
    await client.patch<Service>(SERVICES, refOf(service), 'merge', patch, {}, signal);
    return true;
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false;
    throw error;
  }
};

/** After a conflict the watch brings the newer object; a safety resync. */
const CONFLICT_RETRY_MS = 1_000;

/** EndpointSlices were written. */
export type OnWrite = (cause: 'plan' | 'reassert' | 'takeback' | 'conflict', slices: number) => void;

const fingerprintOf = ({ spread, endpoints }: HintsInForce): string =>
  spread ? 'spread' : endpoints.map(({ name, forZones }) => `${name}=${forZones.join('+')}`).join(' ');

export const createPlanWriter = ({
  client,
  clock,
  onWrite,
}: {
  client: Pick<Client, 'patch'>;
  clock: Pick<Clock, 'monotonic'>;
  onWrite?: OnWrite;
}) => {
  const guard = createPlanGuard(clock);
  const count = (cause: 'plan' | 'reassert' | 'takeback', { written, conflicts }: SliceWrites): void => {
    if (written > 0) onWrite?.(cause, written);
    if (conflicts > 0) onWrite?.('conflict', conflicts);
  };
  return {
    /** Brings the plan to the slices, unless it was overwritten a moment ago. `retryMs`: when to try again; undefined: nothing is left to do. */
    async apply(
      key: string,
      plan: HintsInForce,
      slices: readonly FlowSlice[],
      signal: AbortSignal,
    ): Promise<{ readonly retryMs: number | undefined; readonly inForce: boolean }> {
      const fingerprint = fingerprintOf(plan);
      if (!slices.some((slice) => differs(slice, plan))) {
        guard.confirmed(key, fingerprint);
        return { retryMs: undefined, inForce: true };
      }
      const permit = guard.admit(key, fingerprint);
      if (permit.kind === 'wait') return { retryMs: permit.afterMs, inForce: false };
      const writes = await writePlannedSlices(slices, (slice) => patchFor(slice, plan), client, signal);
      count(permit.again ? 'reassert' : 'plan', writes);
      if (writes.written > 0) guard.written(key, fingerprint);
      const lost = writes.conflicts > 0;
      return { retryMs: lost ? CONFLICT_RETRY_MS : undefined, inForce: !lost };
    },
    /** Removes what a plan wrote; the next strategy, if there is one, has the slices then. */
    async release(slices: readonly FlowSlice[], signal: AbortSignal): Promise<Result> {
      const writes = await writePlannedSlices(slices, revertPatch, client, signal);
      count('takeback', writes);
      return writes.conflicts > 0 ? { kind: 'requeue', afterMs: CONFLICT_RETRY_MS } : { kind: 'done' };
    },
    /** Another writer overwrites the plan again and again. */
    isLosing: (key: string): boolean => guard.fighting(key),
    forget: (key: string): void => guard.forget(key),
  };
};

type PlanWriter = ReturnType<typeof createPlanWriter>;

const NOTHING: SettingsPlan = { kind: 'unchanged', foreign: [] };

/** Our label on the Service, which `applied` says is not its author's. */
const ownLabel = ({ metadata }: Service): string | undefined => {
  const { record } = parseApplied(metadata?.annotations?.[ANNOTATION_APPLIED]);
  return record.labels?.[LABEL_STRATEGY];
};

/** The Service as if its author had asked for nothing: what removing our label is planned with. */
const withoutWish = (service: Service): Service => ({
  ...service,
  metadata: {
    ...service.metadata,
    annotations: { [ANNOTATION_APPLIED]: service.metadata?.annotations?.[ANNOTATION_APPLIED] ?? '' },
  },
});

/** Reverts the label that asks for a plan, if this project set it; everything else stays. */
export const revertLabel = (service: Service): SettingsPlan =>
  plannedByLabel(ownLabel(service)) === undefined ? NOTHING : planStrategyLabel(withoutWish(service));

/**
 * Sets or follows the label of a Service that asks for a plan, and reverts that of one that asked. While its policy says
 * `Observe` none is set; one that admission or the settings reconciler set, which know no policy, comes to say so too. With
 * the strategy's name admission would keep the hints of an earlier plan, and one that is only taken away they would set again.
 */
export const labelPlan = (service: Service, observeOnly: boolean): SettingsPlan => {
  const strategy = effectiveStrategy(service);
  if (!isPlannedStrategy(strategy)) return revertLabel(service);
  if (observeOnly && ownLabel(service) === undefined) return NOTHING;
  return planStrategyLabel(service, () => (observeOnly ? observeLabel(strategy) : strategy));
};

/** Writes the label less and less often where the Service's owner removes it each time. */
export const createLabelWriter = (client: Pick<Client, 'patch'>, clock: Pick<Clock, 'monotonic'>) => {
  const guard = createPlanGuard(clock);
  return {
    /** Carries the plan out, if it is not too early; resolves with when it is due again, milliseconds. */
    async write(key: string, service: Service, plan: SettingsPlan, signal: AbortSignal): Promise<number | undefined> {
      if (plan.kind === 'unchanged') {
        const label = service.metadata?.labels?.[LABEL_STRATEGY];
        if (label !== undefined) guard.confirmed(key, label);
        return undefined;
      }
      const { labels } = (plan.patch['metadata'] ?? {}) as { labels?: Readonly<Record<string, string | null>> };
      const label = labels?.[LABEL_STRATEGY] ?? '';
      const permit = guard.admit(key, label);
      if (permit.kind === 'wait') return permit.afterMs;
      if (await writeService(service, plan, client, signal)) guard.written(key, label);
      return undefined;
    },
    /** The Service is gone, or no longer served. */
    forget: (key: string): void => guard.forget(key),
  };
};

export interface StatusWriterOptions {
  client: Pick<Client, 'create' | 'patch' | 'delete'>;
  clock: Pick<Clock, 'monotonic'>;
  /** Least milliseconds between two writes that only bring new figures. */
  minIntervalMs: number;
  /** Create a policy where there is none. */
  create: boolean;
  /** Whether the definition is installed: without it nothing is written. */
  available(): boolean;
  logger: Logger;
}

interface StatusSubject {
  readonly key: string;
  readonly service: Service;
  readonly policy: FlowPolicy | undefined;
}

/** Created by this controller, and its spec is still empty. */
export const isOwnPolicy = ({ metadata, spec }: FlowPolicy): boolean =>
  metadata.labels?.[LABEL_MANAGED_BY] === COMMANDS.flowController && Object.keys(spec ?? {}).length === 0;

const emptyPolicy = ({ metadata }: Service): FlowPolicy & KubernetesObject => {
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

export const createStatusWriter = (options: StatusWriterOptions) => {
  const { client, clock, minIntervalMs, create, logger } = options;
  const known = new Map<string, { readonly status: FlowPolicyStatus; readonly at: number }>();
  const last = (key: string, policy: FlowPolicy | undefined): FlowPolicyStatus | undefined =>
    known.get(key)?.status ?? policy?.status;

  /** False where there is none, and none is to be. */
  const ensure = async ({ service, policy }: StatusSubject, signal: AbortSignal): Promise<boolean> => {
    if (policy !== undefined) return true;
    if (!create || service.metadata?.uid === undefined) return false;
    await client.create(FLOW_POLICIES, emptyPolicy(service), {}, signal).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
    return true;
  };

  const due = ({ key, policy }: StatusSubject, next: FlowPolicyStatus): boolean => {
    // A policy that was deleted takes its status along.
    if (policy === undefined && (known.has(key) || !create)) return true;
    const news = newsIn(last(key, policy), next);
    if (news === 'now') return true;
    return news === 'later' && clock.monotonic() - (known.get(key)?.at ?? -Infinity) >= minIntervalMs;
  };

  return {
    /** What is known to be written: by this process, else what the policy carries. */
    last,
    /** Writes the status if there is need; true if it was written. Failures are logged, and tried again with the next reconcile. */
    async write(subject: StatusSubject, status: FlowPolicyStatus, signal: AbortSignal): Promise<boolean> {
      const { key, service } = subject;
      if (!options.available() || !due(subject, status)) return false;
      const patch = [{ op: 'add', path: '/status', value: status }];
      try {
        if (!(await ensure(subject, signal))) return false;
        await client.patch(FLOW_POLICIES, refOf(service), 'json', patch, { subresource: 'status' }, signal);
        known.set(key, { status, at: clock.monotonic() });
        return true;
      } catch (error) {
        signal.throwIfAborted();
        // The definition is not installed, or the namespace is going away.
        if (!isNotFound(error) && !isForbidden(error)) logger.warn('cannot write the status', { service: key, error });
        return false;
      }
    },
    /** Removes a policy of our own that has no spec. */
    async remove(policy: FlowPolicy, signal: AbortSignal): Promise<void> {
      const { uid } = policy.metadata;
      const preconditions = uid === undefined ? {} : { preconditions: { uid } };
      await client.delete(FLOW_POLICIES, refOf(policy), preconditions, signal).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    },
    forget: (key: string): void => void known.delete(key),
  };
};

export type StatusWriter = ReturnType<typeof createStatusWriter>;

/** As the settings reconciler waits (ADR 0009): the namespace's labels may come back. */
const LEAVE_AFTER_MS = 300_000;

export const createLeaving = ({
  client,
  clock,
  writer,
}: {
  client: Pick<Client, 'patch'>;
  clock: Pick<Clock, 'monotonic'>;
  writer: Pick<PlanWriter, 'release'>;
}) => {
  /** Since when the namespace is not served, monotonic milliseconds. */
  const since = new Map<string, number>();
  /** Services that this process released: admission may give them the label again that their annotation asks for. */
  const released = new Set<string>();
  return {
    /** Whether anything that this project set is left on it; `known`: this process has planned it. */
    isLeftBehind: (key: string, { service, slices, policy }: Snapshot, known: boolean): boolean =>
      known ||
      slices.some(({ mark }) => mark !== undefined) ||
      (policy !== undefined && isOwnPolicy(policy)) ||
      (!released.has(key) && revertLabel(service).kind === 'patch'),
    /** Releases it once it has been out of our namespaces for long enough; `done` when it is released. */
    async release(key: string, { service, slices }: Snapshot, signal: AbortSignal): Promise<Result> {
      const from = since.get(key) ?? clock.monotonic();
      since.set(key, from);
      const afterMs = from + LEAVE_AFTER_MS - clock.monotonic();
      if (afterMs > 0) return { kind: 'requeue', afterMs };
      const label = revertLabel(service);
      if (label.kind === 'patch' && !(await writeService(service, label, client, signal)))
        return { kind: 'requeue', afterMs: CONFLICT_RETRY_MS };
      const result = await writer.release(slices, signal);
      if (result.kind === 'requeue') return result;
      released.add(key);
      since.delete(key);
      return result;
    },
    /** It is served (again), or carries nothing to revert. */
    stays: (key: string): void => void since.delete(key),
    /** It is gone, or served again: what admission writes on it from now on is not left behind. */
    forget(key: string): void {
      since.delete(key);
      released.delete(key);
    },
  };
};
