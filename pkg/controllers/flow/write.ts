// Writes plans to the slices of Services, and removes them: one JSON Patch a slice that differs, on the very object that was read;
// removes strategy labels where they are no longer served; and reverts all that the flow controller wrote in the whole cluster.
import type { JsonPatchOperation, LabelSelector } from '../../apis/admission.ts';
import type { EndpointSlice, Namespace, Service } from '../../apis/core.ts';
import type { FlowPolicy } from '../../apis/flow-policy.ts';
import { ANNOTATION_APPLIED, COMMANDS, LABEL_MANAGED_BY, LABEL_STRATEGY, isPlannedStrategy } from '../../apis/names.ts';
import { nameOf, refOf } from '../../apis/values.ts';
import { type Resource, ENDPOINT_SLICES, FLOW_POLICIES, NAMESPACES, SERVICES } from '../../apis/resources.ts';
import { differs, patchFor, revertPatch } from '../../flow/assemble/turn.ts';
import { type FlowSlice, createSliceProjection } from '../../flow/assemble/slice.ts';
import type { HintsInForce } from '../../flow/demand/arrivals.ts';
import { except, ifFound, isConflict, isNotFound, isStalePatch } from '../../kubernetes/types.ts';
import type { Client, Clock, Result, Uses } from '../../kubernetes/types.ts';
import { listKept, lockedPatch } from '../../kubernetes/request.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import { type SettingsPlan, effectiveStrategy, parseApplied, planStrategyLabel } from '../../routing/index.ts';
import { observeLabel, plannedByLabel } from '../../routing/strategy.ts';
import type { Snapshot } from './memory.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { matchesSelector } from '../../routing/types.ts';

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
const writePlannedSlices = async (
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
const writeService = async (
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

/** After a conflict the watch brings the newer object; a safety resync. */
const CONFLICT = { kind: 'requeue', afterMs: 1_000 } as const;

/** As the settings reconciler waits (ADR 0009): the namespace's labels may come back. */
const LEAVE_AFTER_MS = 300_000;

export type OnWrite = (cause: 'plan' | 'reassert' | 'takeback' | 'conflict', slices: number) => void;

const fingerprintOf = ({ spread, endpoints }: HintsInForce): string =>
  spread ? 'spread' : endpoints.map(({ name, forZones }) => `${name}=${forZones.join('+')}`).join(' ');

export const createFlowWriter = (options: {
  client: Pick<Client, 'patch'>;
  clock: Pick<Clock, 'monotonic'>;
  onWrite?: OnWrite;
}) => {
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
    return writes.conflicts > 0 ? CONFLICT : { kind: 'done' };
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
      return { retryMs: lost ? CONFLICT.afterMs : undefined, inForce: !lost };
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
      if (label.kind === 'patch' && !(await writeService(service, label, client, signal))) return CONFLICT;
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

export interface CleanupOptions extends Uses<'client' | 'logger', 'pages' | 'patch' | 'delete'> {
  /** Whether the objects of a namespace are this controller's to clean up: another one may serve the others. */
  serves(namespace: string): boolean;
}

/** A concurrent writer causes a write conflict; that does not happen many times in a row. */
const PASSES = 5;

const find = async <T extends KubernetesObject>(
  { client, serves }: CleanupOptions,
  resource: Resource,
  fits: (object: T) => boolean,
  signal: AbortSignal,
): Promise<T[]> => {
  const isOurs = (item: T): boolean => serves(item.metadata?.namespace ?? '') && fits(item);
  return await listKept<T>(client, resource, (item) => (isOurs(item) ? item : undefined), signal);
};

/**
 * Whether a namespace's objects are to be cleaned up under a selector. Without one everything is, also what an earlier
 * configuration left in namespaces that are excluded by now.
 */
export const servedNamespaces = async (
  client: Pick<Client, 'pages'>,
  selector: LabelSelector,
  signal: AbortSignal,
): Promise<CleanupOptions['serves']> => {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (Object.keys(matchLabels).length === 0 && matchExpressions.length === 0) return () => true;
  const nameOfServed = (namespace: Namespace): string | undefined =>
    matchesSelector(selector, namespace.metadata?.labels ?? {}) ? nameOf(namespace) : undefined;
  const names = new Set(await listKept<Namespace, string>(client, NAMESPACES, nameOfServed, signal));
  return (namespace) => names.has(namespace);
};

/**
 * Labels first: the EndpointSlice controller takes hints off the slices when it mirrors that they are gone. What others wrote meanwhile
 * is found again by the next pass.
 */
export const cleanUpPlans = async (options: CleanupOptions, signal: AbortSignal) => {
  const { client, logger } = options;
  const report = { slices: 0, services: 0, policies: 0 };
  const project = createSliceProjection();
  const isLabelled = (service: Service): boolean => revertLabel(service).kind === 'patch';
  const isPlanned = (slice: EndpointSlice): boolean => revertPatch(project(slice)) !== undefined;
  for (let pass = 1; ; pass += 1) {
    const services = await find<Service>(options, SERVICES, isLabelled, signal);
    for (const service of services)
      if (await writeService(service, revertLabel(service), client, signal)) report.services += 1;
    const slices = (await find<EndpointSlice>(options, ENDPOINT_SLICES, isPlanned, signal)).map(project);
    const { written } = await writePlannedSlices(slices, revertPatch, client, signal);
    report.slices += written;
    if (services.length + slices.length === 0) break;
    if (pass === PASSES)
      throw new Error(`Services and EndpointSlices are written by others: not clean after ${pass} passes`);
  }
  for (const policy of await find<FlowPolicy>(options, FLOW_POLICIES, isOwnPolicy, signal)) {
    await ifFound(client.delete(FLOW_POLICIES, refOf(policy), {}, signal));
    report.policies += 1;
  }
  logger.info('cleaned up', { ...report });
  return report;
};
