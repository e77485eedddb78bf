// Writes plans to the slices of Services, and removes them: one JSON Patch a slice that differs, on the very object that was read;
// and removes strategy labels from Services in namespaces that are no longer served.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import type { EndpointSlice, Service } from '../../apis/core.ts';
import type { FlowPolicy } from '../../apis/flow-policy.ts';
import { ANNOTATION_APPLIED, COMMANDS, LABEL_MANAGED_BY, LABEL_STRATEGY, isPlannedStrategy } from '../../apis/names.ts';
import { refOf } from '../../apis/values.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../apis/resources.ts';
import { differs, patchFor, revertPatch } from '../../flow/assemble/turn.ts';
import type { FlowSlice } from '../../flow/assemble/slice.ts';
import type { HintsInForce } from '../../flow/demand/arrivals.ts';
import { except, isConflict, isNotFound, isStalePatch } from '../../kubernetes/errors.ts';
import { lockedPatch } from '../../kubernetes/request.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import { CONFLICT_RETRY_MS, type Client, type Clock, DONE, type Result, type Uses } from '../../kubernetes/types.ts';
import { type SettingsPlan, effectiveStrategy, parseApplied, planStrategyLabel } from '../../routing/index.ts';
import { observeLabel, plannedByLabel } from '../../routing/strategy.ts';
import type { Snapshot } from './memory.ts';

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 300_000;
/** A plan that held for this long is not lost again and again. */
const QUIET_MS = 60_000;

/** Doubled with each loss, up to five minutes. */
const delayMs = (losses: number): number => Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (losses - 1));

/** Plans and labels that others overwrite: written again at once, then less and less often. */
export const createPlanGuard = (clock: Pick<Clock, 'monotonic'>) =>
  createRewriteGuard({ clock, delayMs, quietMs: (losses) => Math.max(QUIET_MS, delayMs(losses)) });

/** Writes every slice for which `patchOf` has a patch; one that is gone is no error. Of one that another writer wrote meanwhile the watch brings the newer. */
export const writePlannedSlices = async (
  slices: readonly FlowSlice[],
  patchOf: (slice: FlowSlice) => JsonPatchOperation[] | undefined,
  client: Pick<Client, 'patch'>,
  signal: AbortSignal,
) => {
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
  const sent = client.patch<Service>(SERVICES, refOf(service), 'merge', lockedPatch(plan.patch, service), {}, signal);
  return (await except(sent, isConflict, isNotFound)) !== undefined;
};

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

/** Created by this controller, and its spec is still empty. */
export const isOwnPolicy = ({ metadata, spec }: FlowPolicy): boolean =>
  metadata.labels?.[LABEL_MANAGED_BY] === COMMANDS.flowController && Object.keys(spec ?? {}).length === 0;

/** As the settings reconciler waits (ADR 0009): the namespace's labels may come back. */
const LEAVE_AFTER_MS = 300_000;

export type OnWrite = (cause: 'plan' | 'reassert' | 'takeback' | 'conflict', slices: number) => void;

const fingerprintOf = ({ spread, endpoints }: HintsInForce): string =>
  spread ? 'spread' : endpoints.map(({ name, forZones }) => `${name}=${forZones.join('+')}`).join(' ');

export const createFlowWriter = (options: Uses<'client' | 'clock', 'patch'> & { onWrite?: OnWrite }) => {
  const { client, clock, onWrite } = options;
  const [plans, labels] = [createPlanGuard(clock), createPlanGuard(clock)];
  /**
   * Services in namespaces that are served no more: since when, monotonic milliseconds; or that this process released them, as
   * admission may give them the label again that their annotation asks for.
   */
  const leaving = new Map<string, number | 'released'>();
  const count = (
    cause: 'plan' | 'reassert' | 'takeback',
    { written, conflicts }: Awaited<ReturnType<typeof writePlannedSlices>>,
  ): void => {
    if (written > 0) onWrite?.(cause, written);
    if (conflicts > 0) onWrite?.('conflict', conflicts);
  };
  /** Removes what a plan wrote; the next strategy, if there is one, has the slices then. */
  const release = async (slices: readonly FlowSlice[], signal: AbortSignal): Promise<Result> => {
    const writes = await writePlannedSlices(slices, revertPatch, client, signal);
    count('takeback', writes);
    return writes.conflicts > 0 ? { kind: 'requeue', afterMs: CONFLICT_RETRY_MS } : DONE;
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
        plans.confirmed(key, fingerprint);
        return { retryMs: undefined, inForce: true };
      }
      const permit = plans.admit(key, fingerprint);
      if (permit.kind === 'wait') return { retryMs: permit.afterMs, inForce: false };
      const writes = await writePlannedSlices(slices, (slice) => patchFor(slice, plan), client, signal);
      count(permit.again ? 'reassert' : 'plan', writes);
      if (writes.written > 0) plans.written(key, fingerprint);
      const lost = writes.conflicts > 0;
      return { retryMs: lost ? CONFLICT_RETRY_MS : undefined, inForce: !lost };
    },
    release,
    /** Sets or reverts the label, if it is not too early; resolves with when it is due again, milliseconds. */
    async label(key: string, service: Service, observeOnly: boolean, signal: AbortSignal): Promise<number | undefined> {
      const plan = labelPlan(service, observeOnly);
      if (plan.kind === 'unchanged') {
        const label = service.metadata?.labels?.[LABEL_STRATEGY];
        if (label !== undefined) labels.confirmed(key, label);
        return undefined;
      }
      const { labels: written } = (plan.patch['metadata'] ?? {}) as {
        labels?: Readonly<Record<string, string | null>>;
      };
      const label = written?.[LABEL_STRATEGY] ?? '';
      const permit = labels.admit(key, label);
      if (permit.kind === 'wait') return permit.afterMs;
      if (await writeService(service, plan, client, signal)) labels.written(key, label);
      return undefined;
    },
    /**
     * Releases a Service once its namespace has been served no more for long enough. Undefined: nothing that this project set is
     * left on it; `planned`: this process has planned it.
     */
    async leave(
      key: string,
      { service, slices, policy }: Snapshot,
      planned: boolean,
      signal: AbortSignal,
    ): Promise<Result | undefined> {
      const label = revertLabel(service);
      const before = leaving.get(key);
      const marked = slices.some(({ mark }) => mark !== undefined) || (policy !== undefined && isOwnPolicy(policy));
      if (!planned && !marked && (before === 'released' || label.kind === 'unchanged')) {
        if (before !== 'released') leaving.delete(key);
        return undefined;
      }
      const since = typeof before === 'number' ? before : clock.monotonic();
      leaving.set(key, since);
      const afterMs = since + LEAVE_AFTER_MS - clock.monotonic();
      if (afterMs > 0) return { kind: 'requeue', afterMs };
      if (label.kind === 'patch' && !(await writeService(service, label, client, signal)))
        return { kind: 'requeue', afterMs: CONFLICT_RETRY_MS };
      const result = await release(slices, signal);
      if (result.kind === 'done') leaving.set(key, 'released');
      return result;
    },
    /** It is served. */
    stays: (key: string): void => void leaving.delete(key),
    /** Another writer overwrites the plan again and again. */
    isLosing: (key: string): boolean => plans.fighting(key),
    forget: (key: string): void => plans.forget(key),
    forgetLabel: (key: string): void => labels.forget(key),
  };
};
