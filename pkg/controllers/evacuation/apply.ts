// Writes what an evacuation makes of one Service: one JSON Patch a slice that differs, receivers before senders.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import type { EndpointSlice } from '../../apis/core.ts';
import { refOf } from '../../apis/object.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { markOf } from '../../evacuation/decide.ts';
import type { EvacuationMark } from '../../evacuation/mark.ts';
import { evacuationPatch, isLeaving } from '../../evacuation/slice.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import { isNotFound, isStalePatch } from '../../kubernetes/errors.ts';
import type { RewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type { Client } from '../../kubernetes/types.ts';

/** What a slice is to be: under a mark, or undefined for without. */
export type Next = Pick<EvacuationMark, 'out' | 'cover'> | undefined;

/** Empty where the slice is as it should be; a slice without endpoints gets no mark. */
export const operationsFor = (slice: EndpointSlice, next: Next): JsonPatchOperation[] => {
  const mark = markOf(slice);
  const endpoints = slice.endpoints ?? [];
  if (mark === undefined && (next === undefined || endpoints.length === 0)) return [];
  if (slice.addressType === 'FQDN') return [];
  const { labels, annotations } = slice.metadata ?? {};
  return evacuationPatch({ endpoints, labels, annotations }, mark, next);
};

/** The API server refuses the patch where the slice is not the one that was read. */
export const locked = (
  { metadata }: EndpointSlice,
  operations: readonly JsonPatchOperation[],
): JsonPatchOperation[] => [
  { op: 'replace', path: '/metadata/resourceVersion', value: metadata?.resourceVersion ?? '' },
  ...operations,
];

const leavingIn = ({ endpoints }: EndpointSlice, next: Next): number =>
  next === undefined ? 0 : (endpoints ?? []).filter((endpoint) => isLeaving(endpoint, next)).length;

export interface Written {
  readonly written: number;
  /** Another writer was faster, or is fought with: look again after so many milliseconds. */
  readonly retryMs: number | undefined;
}

export interface WriteOptions {
  readonly client: Pick<Client, 'patch'>;
  readonly slices: Pick<Cache<EndpointSlice>, 'beginWrite'>;
  readonly guard: RewriteGuard;
}

/** The watch brings the newer slice; a safety resync. */
const CONFLICT_RETRY_MS = 1_000;

/** One slice after the other. */
export const writeSlices = async (
  slices: readonly EndpointSlice[],
  next: Next,
  { client, slices: cache, guard }: WriteOptions,
  signal: AbortSignal,
): Promise<Written> => {
  const wanted = next === undefined ? '' : JSON.stringify([[...next.out.keys()].sort(), next.cover]);
  const ordered = [...slices].sort((left, right) => leavingIn(left, next) - leavingIn(right, next));
  let written = 0;
  let retryMs: number | undefined;
  for (const slice of ordered) {
    const ref = refOf(slice);
    const key = `${ref.namespace}/${ref.name}`;
    const operations = operationsFor(slice, next);
    if (operations.length === 0) {
      guard.confirmed(key, wanted);
      continue;
    }
    const permit = guard.admit(key, wanted);
    if (permit.kind === 'wait') {
      retryMs = Math.min(permit.afterMs, retryMs ?? Infinity);
      continue;
    }
    try {
      const end = cache.beginWrite(ref);
      end(await client.patch<EndpointSlice>(ENDPOINT_SLICES, ref, 'json', locked(slice, operations), {}, signal));
      guard.written(key, wanted);
      written += 1;
    } catch (error) {
      if (isStalePatch(error)) retryMs = Math.min(CONFLICT_RETRY_MS, retryMs ?? Infinity);
      else if (!isNotFound(error)) throw error;
    }
  }
  return { written, retryMs };
};
