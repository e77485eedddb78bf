// Has admission look again at slices that it left otherwise than it would now: resyncs one, and while that helps, the others, a few a second.
import type { EndpointSlice } from '../../apis/core.ts';
import { ANNOTATION_TOUCHED } from '../../apis/names.ts';
import { refOf } from '../../apis/object.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import { sleep } from '../../kubernetes/sleep.ts';
import type { Client, Clock, EventInput, EventRecorder, Reconciler, Result } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import { needsResync } from './select.ts';

export interface ResyncTask {
  /** Whether one more write of the slice would change its hints, if admission works. */
  needsResync(slice: EndpointSlice): boolean;
  /** Reason of the event and message of the log when a resync does not help. */
  readonly failed: { readonly reason: string; readonly summary: string };
  /** What a resync that did not help shows, after the slice's name. */
  readonly symptom: string;
  /** What the log says once none is left. */
  readonly done: string;
  /** What the log says when a resync helps again. */
  readonly recovered: string;
}

/** After an outage of the webhook: same-zone and same-node slices that lack their hints. */
export const UNHINTED: ResyncTask = {
  needsResync,
  failed: { reason: 'WebhookUnavailable', summary: 'webhook unavailable' },
  symptom:
    'came back without hints: the endpointslice-webhook does not act; check whether it is ready, registered and reached by the API server',
  done: 'slices hinted again',
  recovered: 'webhook is back',
};

export interface ResyncOptions {
  client: Pick<Client, 'patch'>;
  /** Default: `UNHINTED`. */
  task?: ResyncTask;
  /** Slices as cached, of the namespaces that are served. */
  slices(): readonly EndpointSlice[];
  clock: Clock;
  /** Resyncs a second. */
  writesPerSecond: number;
  /** First pause after a resync that brought no hints, milliseconds; doubled up to an hour. */
  backoffMs: number;
  events: Pick<EventRecorder, 'record'>;
  /** What the event of resyncs that do not help is about. */
  regarding: EventInput['regarding'];
  logger: Logger;
  onResync?: (helped: boolean) => void;
}

export interface Resync extends Reconciler {
  /** True while resyncs do not help. */
  readonly unavailable: boolean;
}

const MAX_BACKOFF_MS = 3_600_000;
const DONE: Result = { kind: 'done' };

/** So many namespaces at least say that admission does not act, if there are as many. */
const WITNESSES = 3;

interface Resynced {
  readonly helped: boolean;
  /** The resourceVersion that the resync made. */
  readonly version: string | undefined;
}

interface Unhelped {
  readonly slice: EndpointSlice;
  readonly version: string | undefined;
}

const pathOf = (slice: EndpointSlice): string => `${refOf(slice).namespace}/${refOf(slice).name}`;

/** All work is one key: the slices are taken in order. */
export const createResync = (options: ResyncOptions): Resync => {
  const { client, task = UNHINTED, slices, clock, writesPerSecond, backoffMs, events, regarding, logger } = options;
  let failures = 0;
  /** Monotonic; before it nothing is tried. */
  let notBefore = 0;
  /** Versions of slices that a resync did not help while it helped others, by path. */
  const stubborn = new Map<string, string | undefined>();

  const resyncOne = async (slice: EndpointSlice, signal: AbortSignal): Promise<Resynced> => {
    const patch = { metadata: { annotations: { [ANNOTATION_TOUCHED]: new Date(clock.now()).toISOString() } } };
    try {
      const answer = await client.patch<EndpointSlice>(ENDPOINT_SLICES, refOf(slice), 'merge', patch, {}, signal);
      const helped = !task.needsResync(answer);
      options.onResync?.(helped);
      return { helped, version: answer.metadata?.resourceVersion };
    } catch (error) {
      // The slice went away: that says nothing about admission.
      if (isNotFound(error)) return { helped: true, version: undefined };
      throw error;
    }
  };

  const unavailable = (slice: EndpointSlice, count: number): Result => {
    const delay = Math.min(MAX_BACKOFF_MS, backoffMs * 2 ** failures);
    notBefore = clock.monotonic() + delay;
    failures += 1;
    const { namespace, name } = refOf(slice);
    const { reason, summary } = task.failed;
    const message = `EndpointSlice ${namespace}/${name} ${task.symptom}; ${count} slice(s) wait`;
    logger.warn(summary, { slices: count, retryInSeconds: Math.round(delay / 1_000), detail: message });
    if (failures === 1) events.record({ regarding, type: 'Warning', reason, message });
    return { kind: 'requeue', afterMs: delay };
  };

  /** Those that admission leaves as they are although it acts on others. */
  const recovered = (left: readonly Unhelped[]): void => {
    for (const { slice, version } of left) {
      stubborn.set(pathOf(slice), version);
      logger.info('EndpointSlice not hinted although admission works', refOf(slice));
    }
    if (failures > 0) logger.info(task.recovered, {});
    failures = 0;
  };

  /** One slice proves nothing against all: a resync that did not help is followed by some in other namespaces. */
  const resyncAll = async (found: readonly EndpointSlice[], signal: AbortSignal): Promise<Result> => {
    const pending = [...found];
    let unhelped: Unhelped[] = [];
    const isElsewhere = (slice: EndpointSlice): boolean =>
      unhelped.every((other) => refOf(other.slice).namespace !== refOf(slice).namespace);
    for (let resyncs = 0; pending.length > 0; resyncs += 1) {
      const index = unhelped.length < WITNESSES ? pending.findIndex(isElsewhere) : -1;
      const [slice] = index === -1 ? [] : pending.splice(index, 1);
      if (slice === undefined) break;
      if (resyncs > 0) await sleep(clock, 1_000 / writesPerSecond, signal);
      const { helped, version } = await resyncOne(slice, signal);
      if (!helped) {
        unhelped.push({ slice, version });
        continue;
      }
      recovered(unhelped);
      unhelped = [];
    }
    const [first] = unhelped;
    if (first !== undefined) return unavailable(first.slice, pending.length + unhelped.length);
    logger.info(task.done, { slices: found.length });
    return DONE;
  };

  /** What needs a resync, but for those that did not change since one did not help them. */
  const find = (): EndpointSlice[] => {
    const found = slices().filter(task.needsResync);
    const paths = new Set(found.map(pathOf));
    for (const path of stubborn.keys()) if (!paths.has(path)) stubborn.delete(path);
    return found.filter((slice) => {
      const version = stubborn.get(pathOf(slice));
      return version === undefined || version !== slice.metadata?.resourceVersion;
    });
  };

  return {
    async reconcile(_key, signal) {
      const found = find();
      if (found.length === 0) {
        failures = 0;
        return DONE;
      }
      const wait = failures === 0 ? 0 : notBefore - clock.monotonic();
      return wait > 0 ? { kind: 'requeue', afterMs: wait } : await resyncAll(found, signal);
    },
    get unavailable() {
      return failures > 0;
    },
  };
};
