// Returns evacuated slices without the controller that evacuated them, by the API server alone: for --cleanup, `return --direct` and `off`.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import type { EndpointSlice } from '../../apis/core.ts';
import { lockOn } from '../../apis/json-patch.ts';
import { defined, refOf } from '../../apis/values.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { markOf, returnPatch } from '../../evacuation/slice.ts';
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

/** Between two attempts where the API server does not answer, as it may while a zone is half dead. */
export const RETRY_MS = 1_000;

/** The server's own watches end after minutes; a broken one is begun again, as is what a server answers that has lost its etcd or is overloaded. */
export const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  isGone(error) ||
  (error instanceof ApiError && (error.status >= 500 || isTooManyRequests(error)));

/** Whether the slice shows that endpoints of the zone leave; without a zone, of any. */
export const isMarkedFor = (slice: EndpointSlice, zone?: string): boolean => {
  const mark = markOf(slice);
  return mark !== undefined && (zone === undefined || mark.evacuated.has(zone));
};

const listSlices = async (
  client: Pick<Client, 'pages'>,
  isWanted: (slice: EndpointSlice) => boolean,
  signal: AbortSignal,
) => {
  const slices: EndpointSlice[] = [];
  let resourceVersion = '';
  for await (const { items, metadata } of client.pages<EndpointSlice>(ENDPOINT_SLICES, {}, signal)) {
    slices.push(...items.filter(isWanted));
    resourceVersion = metadata.resourceVersion ?? resourceVersion;
  }
  return { slices, resourceVersion };
};

/** Slices of the zone's evacuation, or of all, as they are now, and the version of the list. */
export const listMarked = (client: Pick<Client, 'pages'>, zone: string | undefined, signal: AbortSignal) =>
  listSlices(client, (slice) => isMarkedFor(slice, zone), signal);

/** Writes at a time: the API server's answers slow each of them down by itself. */
const AT_A_TIME = 16;
/** More than once: slices that were made meanwhile, that another writer was faster with or wrote again, or that could not be written then. */
const ROUNDS = 10;

/** One slice that cannot be written keeps no other from being written: `left` still have it, and `errors` are those of the last round. */
export const returnSlices = async (
  options: {
    readonly client: Pick<Client, 'pages' | 'patch'>;
    /** Default: all zones. What slices show of others stays. */
    readonly zone?: string;
    /** What is removed from a slice; empty: nothing. Default: the evacuation. */
    readonly operationsOf?: (slice: EndpointSlice) => JsonPatchOperation[];
    readonly fieldManager?: string;
    /** Called with how many are done of how many. */
    readonly onDone?: (done: number, all: number) => void;
  },
  signal: AbortSignal,
) => {
  const { client, zone, onDone } = options;
  const ofEvacuation = (slice: EndpointSlice): JsonPatchOperation[] =>
    isMarkedFor(slice, zone) ? returnPatch(slice, (other) => zone !== undefined && other !== zone) : [];
  const { operationsOf = ofEvacuation } = options;
  const manager = defined({ fieldManager: options.fieldManager });
  const list = async () => (await listSlices(client, (slice) => operationsOf(slice).length > 0, signal)).slices;
  let returned = 0;
  for (let round = 1; ; round += 1) {
    const slices = await list();
    if (slices.length === 0 || round > ROUNDS) return { returned, left: slices.length, errors: [] };
    const waiting = slices.values();
    const errors: unknown[] = [];
    let done = 0;
    const work = async (): Promise<void> => {
      for (const slice of waiting) {
        if (signal.aborted) return;
        try {
          const operations = [lockOn(slice), ...operationsOf(slice)];
          await client.patch(ENDPOINT_SLICES, refOf(slice), 'json', operations, manager, signal);
          returned += 1;
        } catch (error) {
          if (!isNotFound(error) && !isStalePatch(error)) errors.push(error);
        }
        done += 1;
        onDone?.(done, slices.length);
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, work));
    signal.throwIfAborted();
    if (!errors.every(isPassing)) return { returned, left: (await list()).length, errors };
    if (errors.length > 0) await sleep(systemClock, RETRY_MS, signal);
  }
};
