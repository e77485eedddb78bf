// SPDX-License-Identifier: Apache-2.0
// Writes a plan to the slices of one Service: one JSON Patch a slice that differs, on the very object that was read.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import type { EndpointSlice, Service } from '../../apis/core.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../apis/resources.ts';
import type { FlowSlice } from '../../flow/assemble/slice.ts';
import { isConflict, isNotFound, isStalePatch } from '../../kubernetes/errors.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type { RewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
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
  /** Somebody else wrote a slice meanwhile: the watch will bring it. */
  readonly conflicts: number;
}

export const refOf = ({ metadata }: FlowSlice | Service): Required<ObjectRef> => ({
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
});

/** Writes every slice for which `patchOf` has a patch; one that is gone is no error. */
export const writeSlices = async (
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

/** The same, where the watch will tell of a Service that is another one by now. */
export const writeService = (...args: Parameters<typeof patchService>): Promise<boolean> =>
  patchService(...args).catch((error: unknown) => {
    if (isConflict(error) || isNotFound(error)) return false;
    throw error;
  });
