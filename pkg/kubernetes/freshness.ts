// SPDX-License-Identifier: Apache-2.0
// The health of caches: ready once they are listed, alive while each of them hears of its server.
import type { HealthCheck } from '../telemetry/types.ts';
import type { Cache } from './cache.ts';
import type { Informer } from './types.ts';

/** What the check looks at; any informer fits, whatever its objects. */
export type FreshnessSubject = Pick<Informer<never>, 'resource' | 'stalenessMs'>;

/** Not ready before every cache was listed once, or its resource known to be absent. */
export const cachesListed = (caches: readonly Pick<Cache<never>, 'resource' | 'state'>[]): HealthCheck => ({
  name: 'informer-sync',
  check() {
    const pending = caches.filter(({ state }) => state === 'pending').map(({ resource }) => resource.plural);
    return pending.length === 0 ? undefined : `still listing ${pending.join(', ')}`;
  },
});

/**
 * Fails once an informer has heard nothing that proves its cache current for longer than `maxStalenessMs`.
 *
 * Choose it well above a minute, the interval of the server's bookmarks: short outages are the informer's business, and
 * a restart does not help against them.
 */
export const informerFreshness = (informers: readonly FreshnessSubject[], maxStalenessMs: number): HealthCheck => ({
  name: 'informer-freshness',
  check() {
    const stale = informers
      .map(({ resource, stalenessMs }) => ({ plural: resource.plural, age: stalenessMs() }))
      .filter(({ age }) => age > maxStalenessMs)
      .map(({ plural, age }) => `${plural} for ${Math.round(age / 1000)} s`);
    return stale.length === 0 ? undefined : `no news of ${stale.join(', ')}`;
  },
});
