// SPDX-License-Identifier: Apache-2.0
// A full garbage collection now and then: what a reading of load or a list of the cluster leaves behind is large, dead, and not collected
// in time.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../../pkg/kubernetes/clock.ts';
import { sleep } from '../../pkg/kubernetes/sleep.ts';

/** A collection of a hundred megabytes takes 0.1 s: a few thousandths of a core at this interval. */
const INTERVAL_MS = 30_000;

/** Collects until the signal aborts; in real time, since memory fills in real time, whatever clock decisions go by. */
export const runCollector = async (signal: AbortSignal): Promise<void> => {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') return;
  while (!signal.aborted) {
    await sleep(systemClock, INTERVAL_MS, signal).catch(() => undefined);
    if (!signal.aborted) collect();
  }
};
