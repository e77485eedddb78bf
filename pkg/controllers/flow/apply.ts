// SPDX-License-Identifier: Apache-2.0
// Writes a plan to the slices of one Service: one JSON Patch a slice that differs, on the very object that was read.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import type { EndpointSlice, Service } from '../../apis/core.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../apis/resources.ts';
import type { FlowSlice } from '../../flow/assemble/slice.ts';
import { isConflict, isNotFound, isStalePatch } from '../../kubernetes/errors.ts';
import type { Client } from '../../kubernetes/types.ts';
import type { SettingsPlan } from '../../routing/index.ts';
import type { RecentWrites } from '../../kubernetes/recent-writes.ts';

export interface SliceWriter {
  client: Pick<Client, 'patch'>;
  /** Answers to our own writes, until the cache has them. */
  recent: RecentWrites<FlowSlice>;
  project(slice: EndpointSlice): FlowSlice;
}

export interface SliceWrites {
  readonly written: number;
  /** Somebody else wrote a slice meanwhile: the watch will bring it. */
  readonly conflicts: number;
}

export const refOf = ({ metadata }: FlowSlice | Service): Required<ObjectRef> => ({
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
});

const pathOf = (slice: FlowSlice): string => `${slice.metadata?.namespace ?? ''}/${slice.metadata?.name ?? ''}`;

/** The slices as the server has them, as far as is known. */
export const freshest = (slices: readonly FlowSlice[], { recent }: Pick<SliceWriter, 'recent'>): FlowSlice[] =>
  slices.map((slice) => recent.freshest(pathOf(slice), slice));

/** Writes every slice for which `patchOf` has a patch; one that is gone is no error. */
export const writeSlices = async (
  slices: readonly FlowSlice[],
  patchOf: (slice: FlowSlice) => JsonPatchOperation[] | undefined,
  { client, recent, project }: SliceWriter,
  signal: AbortSignal,
): Promise<SliceWrites> => {
  const result = { written: 0, conflicts: 0 };
  for (const slice of slices) {
    const patch = patchOf(slice);
    if (patch === undefined) continue;
    try {
      const answer = await client.patch<EndpointSlice>(ENDPOINT_SLICES, refOf(slice), 'json', patch, {}, signal);
      recent.remember(pathOf(slice), project(answer), slice.metadata?.resourceVersion);
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
