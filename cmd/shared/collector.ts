// Collections of garbage that V8 would put off: between reviews, and in the process that runs on each Node.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pause, systemClock } from '../../pkg/kubernetes/wait.ts';
import { LARGE_BYTES } from './heap.ts';

type Collect = (options: { readonly type: 'minor' | 'major' }) => void;

/** V8's own collector, exposed here so that it works however the process was started; an engine without one collects by itself alone. */
const exposeCollector = (): Collect => {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('globalThis.gc');
  return typeof collect === 'function' ? (collect as Collect) : () => undefined;
};

/** What the webhook needs itself is about 20 MB; the rest of this is texts that were promoted while they were parsed. */
const FULL_COLLECTION_BYTES = 60_000_000;

/**
 * A function that collects the young generation, well below a millisecond where little of it is alive, and now and then the
 * old one as well, which V8 by itself would let grow to several times the need.
 */
export const createReviewCollector = (): (() => void) => {
  const collect = exposeCollector();
  return () => {
    collect({ type: 'minor' });
    if (getHeapStatistics().used_heap_size > FULL_COLLECTION_BYTES) collect({ type: 'major' });
  };
};

/** A collection of a hundred megabytes takes 0.1 s: a few thousandths of a core at this interval. */
const INTERVAL_MS = 30_000;

/** Of a large heap it takes a second and more, in one go, while health and the Lease wait: V8's own, in small steps, has to do. */
export const isCollectionCheap = (usedBytes: number): boolean => usedBytes < LARGE_BYTES;

/** Collects until the signal aborts; in real time, since memory fills in real time, whatever clock decisions go by. */
export const runCollector = async (signal: AbortSignal): Promise<void> => {
  const collect = exposeCollector();
  while (await pause(systemClock, INTERVAL_MS, signal))
    if (isCollectionCheap(getHeapStatistics().used_heap_size)) collect({ type: 'major' });
};
