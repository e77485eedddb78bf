// Follows a ZoneEvacuation, or the slices that still show one, until what was asked for is done.
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { defined } from '../../../pkg/apis/defined.ts';
import { keyOf } from '../../../pkg/apis/object.ts';
import { ENDPOINT_SLICES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import { isMarkedFor, isPassing, listMarked, RETRY_MS } from '../../../pkg/controllers/evacuation/cleanup.ts';
import { systemClock } from '../../../pkg/kubernetes/clock.ts';
import { isForbidden, isNotFound } from '../../../pkg/kubernetes/errors.ts';
import { sleep } from '../../../pkg/kubernetes/sleep.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';

export interface FollowOptions {
  readonly client: Client;
  readonly name: string;
  /** Called with every state, the first included; true ends. */
  readonly onState: (evacuation: ZoneEvacuation) => boolean;
  readonly signal: AbortSignal;
}

const watchOnce = async ({ client, name, onState, signal }: FollowOptions): Promise<ZoneEvacuation | undefined> => {
  const first = await client.get<ZoneEvacuation>(ZONE_EVACUATIONS, { name }, signal);
  if (onState(first)) return first;
  const { resourceVersion } = first.metadata;
  const options = {
    fieldSelector: `metadata.name=${name}`,
    ...defined({ resourceVersion }),
  };
  for await (const event of client.watch<ZoneEvacuation>(ZONE_EVACUATIONS, options, signal)) {
    if (event.type === 'DELETED') return event.object;
    if (event.type !== 'BOOKMARK' && onState(event.object)) return event.object;
  }
  return undefined;
};

/** Resolves with the last state, or with undefined where the object is gone; rejects with the signal's reason when aborted. */
export const followEvacuation = async (options: FollowOptions): Promise<ZoneEvacuation | undefined> => {
  for (;;) {
    try {
      const last = await watchOnce(options);
      if (last !== undefined) return last;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      options.signal.throwIfAborted();
      if (!isPassing(error)) throw error;
    }
    await sleep(systemClock, RETRY_MS, options.signal);
  }
};

export interface ReturnOptions {
  readonly client: Client;
  readonly zone: string;
  /** Called with how many slices still show the evacuation. */
  readonly onCount: (count: number) => void;
  readonly signal: AbortSignal;
}

/** False where the watch ended before, or is not allowed: then lists have to do. */
const returnedOnce = async ({ client, zone, onCount, signal }: ReturnOptions): Promise<boolean> => {
  const { slices, resourceVersion } = await listMarked(client, zone, signal);
  const left = new Set(slices.map(keyOf));
  onCount(left.size);
  if (left.size === 0) return true;
  const watch = async (): Promise<boolean> => {
    for await (const event of client.watch<EndpointSlice>(ENDPOINT_SLICES, { resourceVersion }, signal)) {
      if (event.type === 'BOOKMARK') continue;
      const before = left.size;
      if (event.type !== 'DELETED' && isMarkedFor(event.object, zone)) left.add(keyOf(event.object));
      else left.delete(keyOf(event.object));
      if (left.size !== before) onCount(left.size);
      if (left.size === 0) return true;
    }
    return false;
  };
  return watch().catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    return false;
  });
};

/** Resolves when no slice shows the evacuation any more. */
export const followReturn = async (options: ReturnOptions): Promise<void> => {
  for (;;) {
    try {
      if (await returnedOnce(options)) return;
    } catch (error) {
      options.signal.throwIfAborted();
      if (!isPassing(error)) throw error;
    }
    await sleep(systemClock, RETRY_MS, options.signal);
  }
};
