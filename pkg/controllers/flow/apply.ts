// Writes plans to the slices of Services, and removes them: one JSON Patch a slice that differs, on the very object that was read.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import type { EndpointSlice, Service } from '../../apis/core.ts';
import { refOf } from '../../apis/object.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../apis/resources.ts';
import { differs, patchFor, revertPatch } from '../../flow/assemble/patch.ts';
import type { FlowSlice } from '../../flow/assemble/slice.ts';
import type { HintsInForce } from '../../flow/demand/in-force.ts';
import { isConflict, isNotFound, isStalePatch } from '../../kubernetes/errors.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type { RewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type { Client, Clock, Result } from '../../kubernetes/types.ts';
import type { SettingsPlan } from '../../routing/index.ts';

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 300_000;
/** A plan that held for this long is not lost again and again. */
const QUIET_MS = 60_000;

/** Doubled with each loss, up to five minutes. */
const delayMs = (losses: number): number => Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (losses - 1));

/** Plans and labels that others overwrite: written again at once, then less and less often. */
export const createPlanGuard = (clock: Pick<Clock, 'monotonic'>): RewriteGuard =>
  createRewriteGuard({ clock, delayMs, quietMs: (losses) => Math.max(QUIET_MS, delayMs(losses)) });

export interface SliceWrites {
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

/** Writes a label change under optimistic lock; false where there is nothing to write. */
export const patchService = async (
  service: Service,
  plan: SettingsPlan,
  client: Pick<Client, 'patch'>,
  signal: AbortSignal,
): Promise<boolean> => {
  if (plan.kind === 'unchanged') return false;
  const metadata = plan.patch['metadata'] as Record<string, unknown> | undefined;
  const patch = { ...plan.patch, metadata: { ...metadata, resourceVersion: service.metadata?.resourceVersion } };
  await client.patch<Service>(SERVICES, refOf(service), 'merge', patch, {}, signal);
  return true;
};

/** The same, where the watch will report a Service that has been replaced meanwhile. */
export const writeService = (...args: Parameters<typeof patchService>): Promise<boolean> =>
  patchService(...args).catch((error: unknown) => {
    if (isConflict(error) || isNotFound(error)) return false;
    throw error;
  });

/** After a conflict the watch brings the newer object; a safety resync. */
export const CONFLICT_RETRY_MS = 1_000;

export interface PlanWriterOptions {
  client: Pick<Client, 'patch'>;
  clock: Pick<Clock, 'monotonic'>;
  /** EndpointSlices were written. */
  onWrite?: ((cause: 'plan' | 'reassert' | 'takeback' | 'conflict', slices: number) => void) | undefined;
}

export interface Applied {
  /** When to try again, milliseconds; undefined: nothing is left to do. */
  readonly retryMs: number | undefined;
  readonly inForce: boolean;
}

export interface PlanWriter {
  /** Brings the plan to the slices, unless it was overwritten a moment ago. */
  apply(key: string, plan: HintsInForce, slices: readonly FlowSlice[], signal: AbortSignal): Promise<Applied>;
  /** Removes what a plan wrote; the next strategy, if there is one, has the slices then. */
  release(slices: readonly FlowSlice[], signal: AbortSignal): Promise<Result>;
  /** Another writer overwrites the plan again and again. */
  isLosing(key: string): boolean;
  forget(key: string): void;
}

const fingerprintOf = ({ spread, endpoints }: HintsInForce): string =>
  spread ? 'spread' : endpoints.map(({ name, forZones }) => `${name}=${forZones.join('+')}`).join(' ');

export const createPlanWriter = ({ client, clock, onWrite }: PlanWriterOptions): PlanWriter => {
  const guard = createPlanGuard(clock);
  const count = (cause: 'plan' | 'reassert' | 'takeback', { written, conflicts }: SliceWrites): void => {
    if (written > 0) onWrite?.(cause, written);
    if (conflicts > 0) onWrite?.('conflict', conflicts);
  };
  return {
    async apply(key, plan, slices, signal) {
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
    async release(slices, signal) {
      const writes = await writePlannedSlices(slices, revertPatch, client, signal);
      count('takeback', writes);
      return writes.conflicts > 0 ? { kind: 'requeue', afterMs: CONFLICT_RETRY_MS } : { kind: 'done' };
    },
    isLosing: (key) => guard.fighting(key),
    forget: (key) => guard.forget(key),
  };
};
