// SPDX-License-Identifier: Apache-2.0
// After an outage of the webhook: touches one unhinted slice, and if that comes back hinted, the others, a few a second.
import type { EndpointSlice } from '../../apis/core.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import { ANNOTATION_TOUCHED } from '../../apis/names.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import { sleep } from '../../kubernetes/sleep.ts';
import type { Client, Clock, EventInput, EventRecorder, Reconciler, Result } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import { needsTouch } from './select.ts';

export interface HintRepairOptions {
  client: Pick<Client, 'patch'>;
  /** Slices as cached, already narrowed to those that need a touch or not. */
  slices(): readonly EndpointSlice[];
  clock: Clock;
  /** Touches a second. */
  writesPerSecond: number;
  /** First pause after a touch that brought no hints, milliseconds; doubled up to an hour. */
  backoffMs: number;
  events: Pick<EventRecorder, 'record'>;
  /** What the event of an unavailable webhook is about. */
  regarding: EventInput['regarding'];
  logger: Logger;
  onTouch?: (outcome: 'hinted' | 'unhinted') => void;
}

export interface HintRepair {
  /** All work is one key: the slices are taken in order. */
  readonly reconciler: Reconciler;
  /** True while touches bring no hints. */
  readonly webhookUnavailable: boolean;
}

const MAX_BACKOFF_MS = 3_600_000;
const DONE: Result = { kind: 'done' };

const refOf = ({ metadata }: EndpointSlice): Required<ObjectRef> => ({
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
});

export const createHintRepair = (options: HintRepairOptions): HintRepair => {
  const { client, slices, clock, writesPerSecond, backoffMs, events, regarding, logger, onTouch } = options;
  let failures = 0;
  /** Monotonic; before it nothing is tried. */
  let notBefore = 0;

  const touch = async (slice: EndpointSlice, signal: AbortSignal): Promise<boolean> => {
    const patch = { metadata: { annotations: { [ANNOTATION_TOUCHED]: new Date(clock.now()).toISOString() } } };
    try {
      const answer = await client.patch<EndpointSlice>(ENDPOINT_SLICES, refOf(slice), 'merge', patch, {}, signal);
      const hinted = !needsTouch(answer);
      onTouch?.(hinted ? 'hinted' : 'unhinted');
      return hinted;
    } catch (error) {
      // The slice went away: that says nothing about the webhook.
      if (isNotFound(error)) return true;
      throw error;
    }
  };

  const unavailable = (slice: EndpointSlice, count: number): Result => {
    const delay = Math.min(MAX_BACKOFF_MS, backoffMs * 2 ** failures);
    notBefore = clock.monotonic() + delay;
    failures += 1;
    const { namespace, name } = refOf(slice);
    const message = `EndpointSlice ${namespace}/${name} came back without hints: the endpointslice-webhook does not act; ${count} slice(s) wait`;
    logger.warn('webhook unavailable', { slices: count, retryInSeconds: Math.round(delay / 1_000), detail: message });
    if (failures === 1) events.record({ regarding, type: 'Warning', reason: 'WebhookUnavailable', message });
    return { kind: 'requeue', afterMs: delay };
  };

  const touchAll = async (found: readonly EndpointSlice[], signal: AbortSignal): Promise<Result> => {
    for (const [index, slice] of found.entries()) {
      if (index > 0) await sleep(clock, 1_000 / writesPerSecond, signal);
      if (!(await touch(slice, signal))) return unavailable(slice, found.length - index);
      if (failures > 0) logger.info('webhook is back', {});
      failures = 0;
    }
    logger.info('slices hinted again', { slices: found.length });
    return DONE;
  };

  return {
    reconciler: {
      async reconcile(_key, signal) {
        const found = slices().filter(needsTouch);
        if (found.length === 0) {
          failures = 0;
          return DONE;
        }
        const wait = failures === 0 ? 0 : notBefore - clock.monotonic();
        return wait > 0 ? { kind: 'requeue', afterMs: wait } : await touchAll(found, signal);
      },
    },
    get webhookUnavailable() {
      return failures > 0;
    },
  };
};
