// SPDX-License-Identifier: Apache-2.0
// Takes an evacuation off the slices without any of our components: what `return --direct` does.
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { refOf } from '../../../pkg/apis/object.ts';
import { ENDPOINT_SLICES } from '../../../pkg/apis/resources.ts';
import { markOf } from '../../../pkg/evacuation/decide.ts';
import { stillLeft } from '../../../pkg/evacuation/mark.ts';
import { evacuationPatch } from '../../../pkg/evacuation/slice.ts';
import { isNotFound, isStalePatch } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { marks } from './follow.ts';

/** Writes at a time: the API server's answers slow each of them down by itself. */
const AT_A_TIME = 8;
const ATTEMPTS = 5;

/** What brings the slice back, without what it shows of other zones; undefined: nothing of the zone is on it. */
const patchOf = (slice: EndpointSlice, zone: string): readonly unknown[] | undefined => {
  const mark = markOf(slice);
  if (mark === undefined || !mark.out.has(zone)) return undefined;
  const content = { endpoints: slice.endpoints ?? [], annotations: slice.metadata?.annotations };
  const operations = evacuationPatch(
    content,
    mark,
    stillLeft(mark, (other) => other !== zone),
  );
  return [{ op: 'test', path: '/metadata/resourceVersion', value: slice.metadata?.resourceVersion }, ...operations];
};

/** A slice that another wrote in between is read again. @throws ApiError after five attempts. */
const undoOne = async (client: Client, first: EndpointSlice, zone: string, signal: AbortSignal): Promise<void> => {
  const ref = refOf(first);
  let slice = first;
  for (let attempt = 1; ; attempt += 1) {
    const patch = patchOf(slice, zone);
    if (patch === undefined) return;
    try {
      await client.patch(ENDPOINT_SLICES, ref, 'json', patch, { fieldManager: 'kubectl-topology' }, signal);
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isStalePatch(error) || attempt === ATTEMPTS) throw error;
      slice = await client.get<EndpointSlice>(ENDPOINT_SLICES, ref, signal);
    }
  }
};

export interface UndoOptions {
  readonly client: Client;
  readonly zone: string;
  readonly slices: readonly EndpointSlice[];
  /** Called with how many are done. */
  readonly onDone: (count: number) => void;
  readonly signal: AbortSignal;
}

/** Resolves with the errors; one slice that cannot be written keeps no other from being written. */
export const undoSlices = async ({ client, zone, slices, onDone, signal }: UndoOptions): Promise<readonly Error[]> => {
  const waiting = slices.filter((slice) => marks(slice, zone));
  const errors: Error[] = [];
  let done = 0;
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) {
      await undoOne(client, next, zone, signal).catch((error: unknown) => {
        errors.push(error instanceof Error ? error : new Error(String(error)));
      });
      done += 1;
      onDone(done);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  signal.throwIfAborted();
  return errors;
};
