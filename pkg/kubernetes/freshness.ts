// SPDX-License-Identifier: Apache-2.0
// The liveness check that ends a process whose caches went stale without anybody noticing.
import type { HealthCheck } from '../telemetry/types.ts';
import type { Informer } from './types.ts';

/** What the check looks at; any informer fits, whatever its objects. */
export type FreshnessSubject = Pick<Informer<never>, 'resource' | 'stalenessMs'>;

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
