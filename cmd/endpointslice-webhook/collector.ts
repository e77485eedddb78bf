// SPDX-License-Identifier: Apache-2.0
// V8's own collector, which is not reachable without a flag: called between reviews, when nothing of them is alive.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What the process needs itself is about 20 MB; the rest of this is texts that were promoted while they were parsed. */
const FULL_COLLECTION_BYTES = 60_000_000;

/**
 * A function that collects the young generation, well below a millisecond where little of it is alive, and now and then the
 * old one as well, which V8 by itself would let grow to several times the need.
 */
export const createGarbageCollector = (): (() => void) => {
  // Exposed here rather than on the command line, so that it works however the process was started.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { type: 'minor' | 'major' }) => void;
  return () => {
    collect({ type: 'minor' });
    if (getHeapStatistics().used_heap_size > FULL_COLLECTION_BYTES) collect({ type: 'major' });
  };
};
