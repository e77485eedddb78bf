// SPDX-License-Identifier: Apache-2.0
// Follows a ZoneEvacuation, or the slices that still show one, until what was asked for is done.
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { defined } from '../../../pkg/apis/defined.ts';
import { keyOf } from '../../../pkg/apis/object.ts';
import { ENDPOINT_SLICES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import { markOf } from '../../../pkg/evacuation/decide.ts';
import { systemClock } from '../../../pkg/kubernetes/clock.ts';
import {
  ApiError,
  ConnectionError,
  isForbidden,
  isGone,
  isNotFound,
  isTooManyRequests,
} from '../../../pkg/kubernetes/errors.ts';
import { sleep } from '../../../pkg/kubernetes/sleep.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';

/** Between two attempts where the API server does not answer, as it may while a zone is half dead. */
const RETRY_MS = 1_000;

const SERVER_ERROR = 500;

/** The server's own watches end after minutes; a broken one is begun again, as is what a server answers that has lost its etcd or is overloaded. */
const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  isGone(error) ||
  (error instanceof ApiError && (error.status >= SERVER_ERROR || isTooManyRequests(error)));

/** Waits where all that is wrong may pass. @returns whether to try again */
export const mayPass = async (errors: readonly unknown[], signal: AbortSignal): Promise<boolean> => {
  if (!errors.every(isPassing)) return false;
  if (errors.length > 0) await sleep(systemClock, RETRY_MS, signal);
  return true;
};

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

/** Slices that show that endpoints of the zone leave. */
export const marks = (slice: EndpointSlice, zone: string): boolean => markOf(slice)?.out.has(zone) === true;

export interface ReturnOptions {
  readonly client: Client;
  readonly zone: string;
  /** Called with how many slices still show the evacuation. */
  readonly onCount: (count: number) => void;
  readonly signal: AbortSignal;
}

/** Slices of the zone's evacuation as they are now, and the version of the list. */
export const markedSlices = async (
  client: Client,
  zone: string,
  signal: AbortSignal,
): Promise<{ readonly slices: EndpointSlice[]; readonly resourceVersion: string }> => {
  const slices: EndpointSlice[] = [];
  let resourceVersion = '';
  for await (const { items, metadata } of client.pages<EndpointSlice>(ENDPOINT_SLICES, {}, signal)) {
    slices.push(...items.filter((slice) => marks(slice, zone)));
    resourceVersion = metadata.resourceVersion ?? resourceVersion;
  }
  return { slices, resourceVersion };
};

/** False where the watch ended before, or is not allowed: then lists have to do. */
const returnedOnce = async ({ client, zone, onCount, signal }: ReturnOptions): Promise<boolean> => {
  const { slices, resourceVersion } = await markedSlices(client, zone, signal);
  const left = new Set(slices.map(keyOf));
  onCount(left.size);
  if (left.size === 0) return true;
  const watch = async (): Promise<boolean> => {
    for await (const event of client.watch<EndpointSlice>(ENDPOINT_SLICES, { resourceVersion }, signal)) {
      if (event.type === 'BOOKMARK') continue;
      const before = left.size;
      if (event.type !== 'DELETED' && marks(event.object, zone)) left.add(keyOf(event.object));
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
