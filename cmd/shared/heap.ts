// How V8 keeps a controller's heap: small while caches are small, and with room for garbage once they are large.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** Often enough for a process that reads a large cluster at its start: until it has room it collects without end. */
const LOOK_MS = 1_000;
/** Live and dead objects together; caches of 20,000 Pods stay below. */
export const LARGE_BYTES = 96 * 1024 * 1024;
/** Of the memory that the process may have, this much has to be free for garbage. */
const SPARE_FACTOR = 5;

/**
 * Collecting often keeps the process small, and costs the more the more there is to look through: with 4,000 Services it took 45 %
 * of the flow-controller's time. Where memory is not scarce that is a bad bargain.
 */
export const isRoomWorthwhile = (usedBytes: number, availableBytes: number): boolean =>
  usedBytes >= LARGE_BYTES && SPARE_FACTOR * usedBytes <= availableBytes;

/** Caches hold little and live long: without this, V8 lets the garbage of a burst grow the process to twice its need. */
export const keepHeapSmall = (semiSpaceMegabytes = 2): void => {
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString(`--max-semi-space-size=${semiSpaceMegabytes}`);
};

/** The memory that the cgroup allows, or that the machine has. */
const availableBytes = (): number => process.constrainedMemory() || process.availableMemory();

/** Looks from time to time, and no more once the heap has been given room. Keeps the process alive no longer. */
export const growHeapWhereWorthwhile = (): void => {
  const timer = setInterval(() => {
    if (!isRoomWorthwhile(getHeapStatistics().used_heap_size, availableBytes())) return;
    setFlagsFromString('--no-optimize-for-size');
    clearInterval(timer);
  }, LOOK_MS);
  timer.unref();
};
