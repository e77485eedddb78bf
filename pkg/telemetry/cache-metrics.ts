// What controllers say about their caches: how long ago each was proved current, and what failed on the way.
import type { Counter } from 'prom-client';
import type { Metrics } from './metrics.ts';

export interface Staleness {
  /** Plural of the resource. */
  readonly resource: string;
  /** Since the cache was proved current. */
  readonly milliseconds: number;
}

/** Two caches of one resource are one series: the older one. */
export const showStaleness = (metrics: Metrics, staleness: () => readonly Staleness[]): void =>
  void metrics.gauge({
    name: 'informer_staleness_seconds',
    help: 'Time since a cache was last proven current.',
    labels: ['resource'],
    collect(gauge) {
      gauge.reset();
      const oldest = new Map<string, number>();
      for (const { resource, milliseconds } of staleness())
        oldest.set(resource, Math.max(oldest.get(resource) ?? 0, milliseconds));
      for (const [resource, milliseconds] of oldest) gauge.set({ resource }, milliseconds / 1_000);
    },
  });

export const countFailures = (metrics: Metrics): Counter =>
  metrics.counter({ name: 'list_watch_failures_total', help: 'Failed lists and watches.' });
