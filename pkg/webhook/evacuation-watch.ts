// Follows the ZoneEvacuations, few and small objects, and says which zones are being left now.
import { ZONE_EVACUATIONS } from '../apis/resources.ts';
import type { ZoneEvacuation } from '../apis/zone-evacuation.ts';
import { type SliceSubject, isRunning, joiningOf, takesWholeZone } from '../evacuation/accept.ts';
import { type CacheOptions, createCache } from '../kubernetes/cache.ts';
import { pause } from '../kubernetes/wait.ts';

/** Expiry comes without an event. */
const LOOK_MS = 5_000;

export const createEvacuationWatch = (options: Pick<CacheOptions<never>, 'client' | 'clock' | 'random' | 'logger'>) => {
  const { clock, logger } = options;
  const cache = createCache<ZoneEvacuation>({ ...options, resource: ZONE_EVACUATIONS });
  const callbacks: (() => void)[] = [];
  let before: string | undefined;
  const running = (): ZoneEvacuation[] => cache.list().filter((one) => isRunning(one, clock.now()));
  const joined = (): string[] | undefined => {
    const all = running();
    if (all.length === 0) return undefined;
    return [...new Set(all.filter(takesWholeZone).map(({ spec }) => spec.zone))].sort();
  };
  const look = (): void => {
    const now = joined()?.join(',');
    if (now === before) return;
    before = now;
    const zones = [...new Set(running().map(({ spec }) => spec.zone))];
    logger.info(now === undefined ? 'no zone is being evacuated any more' : 'zones are being evacuated', { zones });
    for (const callback of callbacks) callback();
  };
  cache.onChange(look);
  return {
    /** Whether the zone is being left. True while nothing is known: what is marked then stays as it is. */
    isEvacuating: (zone: string): boolean =>
      cache.state === 'pending' || cache.state === 'refused' || running().some(({ spec }) => spec.zone === zone),
    /** Zones whose endpoints are evacuated with the write that adds them; undefined: no evacuation runs, or none is known. */
    joined,
    /** What of them is about a slice. */
    joiningOf: (slice: SliceSubject) => joiningOf(running(), slice),
    /** Calls back when `joined` changed. */
    onChange: (callback: () => void): void => void callbacks.push(callback),
    /** Follows them until the signal aborts; rejects never. */
    async run(signal: AbortSignal): Promise<void> {
      const following = cache.run(signal);
      look();
      while (await pause(clock, LOOK_MS, signal)) look();
      await following;
    },
  };
};
