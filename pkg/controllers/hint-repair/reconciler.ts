// SPDX-License-Identifier: Apache-2.0
// Has admission look again at slices that it left otherwise than it would now: touches one, and if that helps, the others, a few a second.
import type { EndpointSlice } from '../../apis/core.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import { ANNOTATION_TOUCHED } from '../../apis/names.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import { sleep } from '../../kubernetes/sleep.ts';
import type { Client, Clock, EventInput, EventRecorder, Reconciler, Result } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import { needsTouch } from './select.ts';

/** What the touches are for. */
export interface TouchTask {
  /** Whether one more write of the slice would change its hints, if admission works. */
  needsTouch(slice: EndpointSlice): boolean;
  /** Reason of the event and message of the log when a touch does not help. */
  readonly failed: { readonly reason: string; readonly summary: string };
  /** What a touch that did not help shows, after the slice's name. */
  readonly symptom: string;
  /** What the log says once none is left. */
  readonly done: string;
  /** What the log says when a touch helps again. */
  readonly recovered: string;
}

/** After an outage of the webhook: same-zone and same-node slices that lack their hints. */
export const UNHINTED: TouchTask = {
  needsTouch,
  failed: { reason: 'WebhookUnavailable', summary: 'webhook unavailable' },
  symptom:
    'came back without hints: the endpointslice-webhook does not act; look whether it is ready, registered and reached by the API server',
  done: 'slices hinted again',
  recovered: 'webhook is back',
};

export interface HintRepairOptions {
  client: Pick<Client, 'patch'>;
  /** Default: `UNHINTED`. */
  task?: TouchTask;
  /** Slices as cached, of the namespaces that are served. */
  slices(): readonly EndpointSlice[];
  clock: Clock;
  /** Touches a second. */
  writesPerSecond: number;
  /** First pause after a touch that brought no hints, milliseconds; doubled up to an hour. */
  backoffMs: number;
  events: Pick<EventRecorder, 'record'>;
  /** What the event of touches that do not help is about. */
  regarding: EventInput['regarding'];
  logger: Logger;
  onTouch?: (helped: boolean) => void;
}

export interface HintRepair {
  /** All work is one key: the slices are taken in order. */
  readonly reconciler: Reconciler;
  /** True while touches do not help. */
  readonly unavailable: boolean;
}

const MAX_BACKOFF_MS = 3_600_000;
const DONE: Result = { kind: 'done' };

const refOf = ({ metadata }: EndpointSlice): Required<ObjectRef> => ({
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
});

export const createHintRepair = (options: HintRepairOptions): HintRepair => {
  const { client, task = UNHINTED, slices, clock, writesPerSecond, backoffMs, events, regarding, logger } = options;
  let failures = 0;
  /** Monotonic; before it nothing is tried. */
  let notBefore = 0;

  const touch = async (slice: EndpointSlice, signal: AbortSignal): Promise<boolean> => {
    const patch = { metadata: { annotations: { [ANNOTATION_TOUCHED]: new Date(clock.now()).toISOString() } } };
    try {
      const answer = await client.patch<EndpointSlice>(ENDPOINT_SLICES, refOf(slice), 'merge', patch, {}, signal);
      const helped = !task.needsTouch(answer);
      options.onTouch?.(helped);
      return helped;
    } catch (error) {
      // The slice went away: that says nothing about admission.
      if (isNotFound(error)) return true;
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

  const touchAll = async (found: readonly EndpointSlice[], signal: AbortSignal): Promise<Result> => {
    for (const [index, slice] of found.entries()) {
      if (index > 0) await sleep(clock, 1_000 / writesPerSecond, signal);
      if (!(await touch(slice, signal))) return unavailable(slice, found.length - index);
      if (failures > 0) logger.info(task.recovered, {});
      failures = 0;
    }
    logger.info(task.done, { slices: found.length });
    return DONE;
  };

  return {
    reconciler: {
      async reconcile(_key, signal) {
        const found = slices().filter(task.needsTouch);
        if (found.length === 0) {
          failures = 0;
          return DONE;
        }
        const wait = failures === 0 ? 0 : notBefore - clock.monotonic();
        return wait > 0 ? { kind: 'requeue', afterMs: wait } : await touchAll(found, signal);
      },
    },
    get unavailable() {
      return failures > 0;
    },
  };
};
