// Returns evacuated slices without the controller that evacuated them, by the API server alone: for --cleanup, `return --direct` and `off`.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import type { EndpointSlice } from '../../apis/core.ts';
import { defined, refOf } from '../../apis/values.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { markOf } from '../../evacuation/decide.ts';
import { returnPatch } from '../../evacuation/slice.ts';
import { sleep, systemClock } from '../../kubernetes/wait.ts';
import {
  ApiError,
  ConnectionError,
  isGone,
  isNotFound,
  isStalePatch,
  isTooManyRequests,
} from '../../kubernetes/errors.ts';
import type { Client } from '../../kubernetes/types.ts';
import { locked } from './services.ts';

/** Between two attempts where the API server does not answer, as it may while a zone is half dead. */
export const RETRY_MS = 1_000;

const SERVER_ERROR = 500;

/** The server's own watches end after minutes; a broken one is begun again, as is what a server answers that has lost its etcd or is overloaded. */
export const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  isGone(error) ||
  (error instanceof ApiError && (error.status >= SERVER_ERROR || isTooManyRequests(error)));

/** Whether the slice shows that endpoints of the zone leave; without a zone, of any. */
export const isMarkedFor = (slice: EndpointSlice, zone?: string): boolean => {
  const mark = markOf(slice);
  return mark !== undefined && (zone === undefined || mark.evacuated.has(zone));
};

/** Slices of the zone's evacuation, or of all, as they are now, and the version of the list. */
export const listMarked = async (
  client: Pick<Client, 'pages'>,
  zone: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly slices: EndpointSlice[]; readonly resourceVersion: string }> => {
  const slices: EndpointSlice[] = [];
  let resourceVersion = '';
  for await (const { items, metadata } of client.pages<EndpointSlice>(ENDPOINT_SLICES, {}, signal)) {
    slices.push(...items.filter((slice) => isMarkedFor(slice, zone)));
    resourceVersion = metadata.resourceVersion ?? resourceVersion;
  }
  return { slices, resourceVersion };
};

/** What brings the slice back, without what it shows of other zones. */
const returnOperations = (slice: EndpointSlice, zone: string | undefined): JsonPatchOperation[] => {
  const mark = markOf(slice);
  if (mark === undefined || !isMarkedFor(slice, zone)) return [];
  const { endpoints, metadata: { labels, annotations } = {} } = slice;
  const isLeft = (other: string): boolean => zone !== undefined && other !== zone;
  return returnPatch({ endpoints: endpoints ?? [], labels, annotations }, mark, isLeft);
};

/** Writes at a time: the API server's answers slow each of them down by itself. */
const AT_A_TIME = 16;
/** More than once: slices that were made meanwhile, that another writer was faster with or wrote again, or that could not be written then. */
const ROUNDS = 10;

interface ReturnOptions {
  readonly client: Pick<Client, 'pages' | 'patch'>;
  /** Default: all zones. */
  readonly zone?: string;
  /** What is removed from a slice; empty: nothing. Default: the evacuation. */
  readonly operationsOf?: (slice: EndpointSlice) => JsonPatchOperation[];
  readonly fieldManager?: string;
  /** Called with how many are done of how many. */
  readonly onDone?: (done: number, all: number) => void;
}

/** One slice that cannot be written keeps no other from being written: `left` still have it, and `errors` are those of the last round. */
export const returnSlices = async (options: ReturnOptions, signal: AbortSignal) => {
  const { client, zone, fieldManager, onDone } = options;
  const { operationsOf = (slice) => returnOperations(slice, zone) } = options;
  const list = async (): Promise<EndpointSlice[]> => {
    const found: EndpointSlice[] = [];
    for await (const { items } of client.pages<EndpointSlice>(ENDPOINT_SLICES, {}, signal))
      found.push(...items.filter((slice) => operationsOf(slice).length > 0));
    return found;
  };
  let returned = 0;
  for (let round = 1; ; round += 1) {
    const slices = await list();
    const waiting = [...slices];
    const errors: unknown[] = [];
    let done = 0;
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) {
        const written = await client
          .patch(
            ENDPOINT_SLICES,
            refOf(next),
            'json',
            locked(next, operationsOf(next)),
            defined({ fieldManager }),
            signal,
          )
          .then(() => 1)
          .catch((error: unknown) => {
            if (!isNotFound(error) && !isStalePatch(error)) errors.push(error);
            return 0;
          });
        returned += written;
        done += 1;
        onDone?.(done, slices.length);
      }
    };
    if (slices.length === 0) return { returned, left: 0, errors };
    if (round > ROUNDS) return { returned, left: slices.length, errors };
    await Promise.all(Array.from({ length: AT_A_TIME }, work));
    signal.throwIfAborted();
    if (!errors.every(isPassing)) return { returned, left: (await list()).length, errors };
    if (errors.length > 0) await sleep(systemClock, RETRY_MS, signal);
  }
};
