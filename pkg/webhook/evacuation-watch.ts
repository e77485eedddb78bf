// Follows the ZoneEvacuations, few and small objects, and says which zones are being left now.
import type { KubernetesObject } from '../apis/meta.ts';
import { ZONE_EVACUATIONS } from '../apis/resources.ts';
import type { ZoneEvacuation } from '../apis/zone-evacuation.ts';
import { isRunning, joiningOf, takesWholeZone } from '../evacuation/accept.ts';
import type { JoiningInput } from '../evacuation/admit.ts';
import { createCache } from '../kubernetes/cache.ts';
import { dropManagedFields } from '../kubernetes/informer.ts';
import type { Client, Clock } from '../kubernetes/types.ts';
import { sleep } from '../kubernetes/wait.ts';
import type { Logger } from '../telemetry/log.ts';

export interface EvacuationWatch {
  /** Whether the zone is being left. True while nothing is known: what is marked then stays as it is. */
  isLeft(zone: string): boolean;
  /** Zones whose endpoints are evacuated with the write that adds them; undefined: no evacuation runs, or none is known. */
  joined(): readonly string[] | undefined;
  /** What of them is about a slice. */
  joiningOf: JoiningInput['joiningOf'];
  /** Calls back when `joined` changed; returns what ends that. */
  onChange(callback: () => void): () => void;
  /** Follows them until the signal aborts; rejects never. */
  run(signal: AbortSignal): Promise<void>;
}

/** Expiry comes without an event. */
const LOOK_MS = 5_000;

export const createEvacuationWatch = (options: {
  client: Pick<Client, 'list' | 'pages' | 'watch'>;
  clock: Clock;
  /** In [0, 1): spreads retries. */
  random: () => number;
  logger: Logger;
}): EvacuationWatch => {
  const { clock, logger } = options;
  const cache = createCache<ZoneEvacuation & KubernetesObject>({
    ...options,
    resource: ZONE_EVACUATIONS,
    transform: dropManagedFields,
  });
  const callbacks = new Set<() => void>();
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
    isLeft: (zone) =>
      cache.state === 'pending' || cache.state === 'refused' || running().some(({ spec }) => spec.zone === zone),
    joined,
    joiningOf: (slice) => joiningOf(running(), slice),
    onChange(callback) {
      const entry = (): void => callback();
      callbacks.add(entry);
      return () => void callbacks.delete(entry);
    },
    async run(signal) {
      const following = cache.run(signal);
      while (!signal.aborted) {
        look();
        // Rejects only when aborted, which ends the loop.
        await sleep(clock, LOOK_MS, signal).catch(() => undefined);
      }
      await following;
    },
  };
};
