// SPDX-License-Identifier: Apache-2.0
// Returns evacuated slices without the controller that evacuated them: all at once for --cleanup, and those that were forgotten, by another
// leader, while the settings-reconciler is dead.
import type { EndpointSlice } from '../../apis/core.ts';
import type { KubernetesObject, ObjectRef } from '../../apis/meta.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import type { ZoneEvacuation } from '../../apis/zone-evacuation.ts';
import { isRunning } from '../../evacuation/active.ts';
import { isMarked, markOf } from '../../evacuation/decide.ts';
import { stillLeft } from '../../evacuation/mark.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import { sleep } from '../../kubernetes/sleep.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import { writeSlices } from './apply.ts';
import type { Next } from './apply.ts';

export interface ReturnOptions {
  client: Pick<Client, 'pages' | 'patch'>;
  clock: Pick<Clock, 'monotonic'>;
}

/** An owner that writes at the same moment makes a write conflict; it will not do so many times in a row. */
const TRIES = 5;

/** Answers are not cached: the next list brings them. */
const NO_CACHE = { beginWrite: () => () => undefined };

const marked = async ({ client }: ReturnOptions, signal: AbortSignal): Promise<EndpointSlice[]> => {
  const found: EndpointSlice[] = [];
  for await (const { items } of client.pages<EndpointSlice>(ENDPOINT_SLICES, {}, signal))
    found.push(...items.filter(isMarked));
  return found;
};

const writer = ({ client, clock }: Pick<ReturnOptions, 'clock'> & { client: Pick<Client, 'patch'> }) => {
  const guard = createRewriteGuard({ clock, delayMs: () => 0 });
  return (slices: readonly EndpointSlice[], next: Next, signal: AbortSignal) =>
    writeSlices(slices, next, { client, slices: NO_CACHE, guard }, signal);
};

/** The number of slices that were returned. */
export const returnSlices = async (options: ReturnOptions, signal: AbortSignal): Promise<number> => {
  let returned = 0;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { written, retryMs } = await writer(options)(await marked(options, signal), undefined, signal);
    returned += written;
    if (retryMs === undefined) return returned;
  }
  return returned;
};

/** A slice as far as a cache of another controller knows it. */
export interface KnownMark {
  readonly ref: Required<ObjectRef>;
  /** Zones that its mark is about. */
  readonly zones: readonly string[];
}

export interface SecondSweeperOptions {
  client: Pick<Client, 'get' | 'patch'>;
  evacuations: Pick<Cache<ZoneEvacuation & KubernetesObject>, 'list' | 'state'>;
  /** Slices with a mark. */
  marked(): readonly KnownMark[];
  clock: Clock;
  logger: Logger;
}

/** The settings-reconciler needs seconds; admission returns whatever is written meanwhile. */
const GRACE_MS = 60_000;
const LOOK_MS = 15_000;

/** Returns slices whose evacuation has been over for a minute. What is not known to be over stays. */
export const createSecondSweeper = (options: SecondSweeperOptions): { run(signal: AbortSignal): Promise<void> } => {
  const { client, evacuations, clock, logger } = options;
  /** Since when a slice is overdue, monotonic milliseconds. */
  let overdue: ReadonlyMap<string, number> = new Map();

  const sweep = async (signal: AbortSignal): Promise<void> => {
    if (evacuations.state === 'pending' || evacuations.state === 'refused') return;
    const running = evacuations.list().filter((one) => isRunning(one, clock.now()));
    const left = new Set(running.map(({ spec }) => spec.zone));
    const found = options.marked().filter(({ zones }) => zones.some((zone) => !left.has(zone)));
    const now = clock.monotonic();
    const path = ({ ref }: KnownMark): string => `${ref.namespace}/${ref.name}`;
    overdue = new Map(found.map((one) => [path(one), overdue.get(path(one)) ?? now]));
    const due = found.filter((one) => now - (overdue.get(path(one)) ?? now) >= GRACE_MS);
    const write = writer(options);
    let returned = 0;
    for (const { ref } of due) {
      const slice = await client.get<EndpointSlice>(ENDPOINT_SLICES, ref, signal).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
        return undefined;
      });
      const mark = slice === undefined ? undefined : markOf(slice);
      if (slice === undefined || mark === undefined) continue;
      const { written } = await write(
        [slice],
        stillLeft(mark, (zone) => left.has(zone)),
        signal,
      );
      returned += written;
    }
    if (returned > 0)
      logger.warn('evacuated slices returned on behalf of the settings-reconciler', { slices: returned });
  };

  return {
    async run(signal) {
      while (!signal.aborted) {
        await sweep(signal).catch((error: unknown) => {
          if (!signal.aborted) logger.warn('cannot return evacuated slices, will retry', { error });
        });
        // Rejects only when aborted, which ends the loop.
        await sleep(clock, LOOK_MS, signal).catch(() => undefined);
      }
    },
  };
};
