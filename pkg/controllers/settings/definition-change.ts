// SPDX-License-Identifier: Apache-2.0
// After the Etcd definition changed: looks at all Etcds again once the API servers really serve it.
import type { Clock, TimerHandle } from '../../kubernetes/types.ts';
import type { Landscape } from './landscape.ts';
import { hasChanged } from './triggers.ts';

export interface DefinitionChangeOptions {
  landscape: Pick<Landscape, 'etcds' | 'etcdDefinition'>;
  clock: Pick<Clock, 'setTimeout'>;
  /** Etcds whose write was pruned: by the old definition, perhaps. */
  prunedEtcds: Set<string>;
  /** Decide everything that has Etcds again. */
  enqueue(): void;
}

/**
 * Milliseconds after the change. The definition is seen before the API server that shows it serves it, and others behind
 * the same address are later still: what is read or written in between may be pruned by the old schema.
 */
const LOOK_AGAIN_MS = [2_000, 60_000] as const;

/** Runs until the signal aborts. */
export const followDefinition = (options: DefinitionChangeOptions, signal: AbortSignal): void => {
  const { landscape, clock, prunedEtcds, enqueue } = options;
  const timers = new Set<TimerHandle>();
  const clear = (): void => {
    for (const timer of timers) timer.cancel();
    timers.clear();
  };
  const lookAgain = (): void => {
    prunedEtcds.clear();
    landscape.etcds?.relist();
    enqueue();
  };
  landscape.etcdDefinition?.onChange((definition, previous, deleted) => {
    if (signal.aborted || deleted || previous === undefined || !hasChanged(definition, previous)) return;
    clear();
    for (const delayMs of LOOK_AGAIN_MS) timers.add(clock.setTimeout(lookAgain, delayMs));
  });
  signal.addEventListener('abort', clear, { once: true });
};
