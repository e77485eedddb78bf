// Waits for something the outside world brings about, and says what was waited for when it does not come.
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks `condition` every 50 ms until it is true, a string meaning "not yet, because".
 * @throws Error after `timeoutMs`, with what the condition reported last
 */
export const until = async (
  what: string,
  condition: () => boolean | string | Promise<boolean | string>,
  timeoutMs = 20_000,
): Promise<void> => {
  const end = performance.now() + timeoutMs;
  let last: boolean | string = false;
  while (performance.now() < end) {
    last = await condition();
    if (last === true) return;
    await sleep(50);
  }
  throw new Error(`after ${timeoutMs / 1000} s still not: ${what}${typeof last === 'string' ? ` (${last})` : ''}`);
};
