// Metrics of one process: a prom-client registry of its own, what all commands and controllers show, and bounds on series of Services.
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { RELEASE } from '../apis/release.ts';
import { byText } from '../apis/values.ts';
import type { HealthCheck } from './log.ts';

interface MetricOptions<L extends string> {
  /** Without the prefix, snake_case, with unit and `_total` where Prometheus asks for them. */
  name: string;
  /** One sentence for people. */
  help: string;
  labels?: readonly L[];
  /** Release that brought it; default: the first one. */
  since?: string;
  /** Instead of the prefix of the registry. */
  prefix?: string;
}

/** Without a value there is no series; values of the same labels add up. */
export type Sample<L extends string = string> = readonly [
  labels: { readonly [K in L]?: string },
  value: number | undefined,
];

interface SampledOptions<L extends string> extends MetricOptions<L> {
  /** All series, computed when they are scraped, so that nothing has to be kept in step. Must not throw. */
  samples?: () => Iterable<Sample<L>>;
}

/** Seconds from 1 ms to 5 s: what the latency of admission calls is seen with. */
export const LATENCY_BUCKETS_SECONDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

const FIRST_RELEASE = '0.1.0';

/**
 * A new registry; nothing is shared between two calls. Creating two metrics of one name throws.
 *
 * @param options.prefix - Put before the name of every metric created here.
 * @param options.defaultMetrics - Also collect process and Node.js metrics (`process_…`, `nodejs_…`, with event-loop lag p99).
 */
export const createMetrics = ({ prefix = 'topology_aware_routing_', defaultMetrics = true } = {}) => {
  const registry = new Registry();
  const definitions: (Required<Omit<MetricOptions<string>, 'prefix'>> & { readonly type: string })[] = [];
  if (defaultMetrics) collectDefaultMetrics({ register: registry });

  /** What prom-client takes; the definition is remembered for the docs. */
  const describe = <L extends string>(type: string, metric: MetricOptions<L>) => {
    const { help, labels = [], since = FIRST_RELEASE } = metric;
    const name = `${metric.prefix ?? prefix}${metric.name}`;
    definitions.push({ name, type, help, labels, since });
    return { name, help, labelNames: [...labels], registers: [registry] };
  };
  const sampled = <L extends string>(type: string, { samples, ...metric }: SampledOptions<L>) => ({
    ...describe(type, metric),
    ...(samples && {
      collect(this: Counter<L> | Gauge<L>) {
        if ((metric.labels ?? []).length === 0) this.remove();
        else this.reset();
        for (const [of, value] of samples()) if (value !== undefined) this.inc(of, value);
      },
    }),
  });

  return {
    counter: <L extends string = never>(metric: SampledOptions<L>): Counter<L> =>
      new Counter<L>(sampled('counter', metric)),
    gauge: <L extends string = never>(metric: SampledOptions<L>): Gauge<L> => new Gauge<L>(sampled('gauge', metric)),
    /** `buckets`: upper bounds in the unit of the name, ascending. */
    histogram: <L extends string = never>(metric: MetricOptions<L> & { buckets: readonly number[] }): Histogram<L> =>
      new Histogram<L>({ ...describe('histogram', metric), buckets: [...metric.buckets] }),
    /** Metrics created here (not the default ones), by name. */
    definitions: () => definitions.toSorted((a, b) => byText(a.name, b.name)),
    text: () => registry.metrics(),
    contentType: registry.contentType as string,
  };
};

export interface Metrics extends ReturnType<typeof createMetrics> {}

/** Two caches of one resource are one series: the older one. `milliseconds`: since the cache was proved current. */
export const showStaleness = (
  metrics: Metrics,
  staleness: () => readonly { readonly resource: string; readonly milliseconds: number }[],
): void =>
  void metrics.gauge({
    name: 'informer_staleness_seconds',
    help: 'Time since a cache was last proven current.',
    labels: ['resource'],
    samples() {
      const oldest = new Map<string, number>();
      for (const { resource, milliseconds } of staleness())
        oldest.set(resource, Math.max(oldest.get(resource) ?? 0, milliseconds));
      return Array.from(oldest, ([resource, milliseconds]) => [{ resource }, milliseconds / 1_000]);
    },
  });

export const countFailures = (metrics: Metrics): Counter =>
  metrics.counter({ name: 'list_watch_failures_total', help: 'Failed lists and watches.' });

/** Seconds from 5 ms to 2 min: turns of a reconciler and waits in a queue. */
const DURATION_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Creates the metrics once; returns the hooks of a controller, and of its work queue, by name. */
export const createControllerMetrics = (metrics: Metrics) => {
  const labels = ['controller'] as const;
  const adds = metrics.counter({ name: 'workqueue_adds_total', help: 'Keys that became ready to reconcile.', labels });
  const retries = metrics.counter({ name: 'workqueue_retries_total', help: 'Keys added again with back-off.', labels });
  const depth = metrics.gauge({ name: 'workqueue_depth', help: 'Keys waiting for a worker.', labels });
  const waited = metrics.histogram({
    name: 'workqueue_wait_duration_seconds',
    help: 'Time that keys waited for a worker.',
    labels,
    buckets: DURATION_BUCKETS_SECONDS,
  });
  const reconciles = metrics.histogram({
    name: 'controller_reconcile_duration_seconds',
    help: 'Duration of reconciles.',
    labels,
    buckets: DURATION_BUCKETS_SECONDS,
  });
  const outcomes = metrics.counter({
    name: 'controller_reconcile_total',
    help: 'Reconciles by outcome: success, requeue, error, timeout or aborted.',
    labels: ['controller', 'outcome'],
  });
  const active = metrics.gauge({ name: 'controller_active_workers', help: 'Workers that are busy.', labels });

  return (controller: string) => ({
    onAdd(): void {
      adds.inc({ controller });
      depth.inc({ controller });
    },
    onGet(waitedMs: number): void {
      depth.dec({ controller });
      waited.observe({ controller }, waitedMs / 1_000);
    },
    onRetry: (): void => retries.inc({ controller }),
    onReconcile(outcome: string, durationMs: number): void {
      outcomes.inc({ controller, outcome });
      reconciles.observe({ controller }, durationMs / 1_000);
    },
    onActive: (workers: number): void => active.set({ controller }, workers),
  });
};

export const createProcessMetrics = (
  metrics: Metrics,
  options: {
    /** Name of the command, on every series: it distinguishes the components of one release, whatever a scraper calls its jobs. */
    command: string;
    /** The checks behind /readyz. */
    readiness: readonly HealthCheck[];
    /** Whether this replica leads; omitted by commands whose replicas all work. */
    leads?: () => boolean;
  },
): void => {
  const { command, readiness, leads } = options;
  metrics.gauge({
    name: 'build_info',
    help: 'Always 1; the labels are command and version.',
    labels: ['command', 'version'],
    samples: () => [[{ command, version: RELEASE }, 1]],
  });
  const show = (name: string, help: string, holds: () => boolean): void =>
    void metrics.gauge({ name, help, labels: ['command'], samples: () => [[{ command }, holds() ? 1 : 0]] });
  const isReady = (): boolean => readiness.every(({ check }) => check() === undefined);
  show('ready', 'Readiness as answered by /readyz: 1 for ready, 0 for not.', isReady);
  if (leads) show('leader', '1 on the leading replica (or without leader election), 0 on the others.', leads);
};

export const createEventMetrics = (metrics: Metrics): ((reason: string) => void) => {
  const dropped = metrics.counter({
    name: 'events_dropped_total',
    help: 'Events that were not written: too many about one object (Flood), queue full, refused, or API server unreachable.',
    labels: ['reason'],
  });
  return (reason) => dropped.inc({ reason });
};

/** Series are wanted for so many Services of one namespace at most: its users cannot crowd the others out. */
export const SERVICES_PER_NAMESPACE = 50;
export const SERVICES_IN_ALL = 1_000;

/** Labels of a single Service's series; scrapers put `namespace` and `service` of the process itself on every series. */
export const SERVICE_LABELS = ['service_namespace', 'service_name'] as const;

export const seriesLabels = ({ namespace, service }: Readonly<Record<'namespace' | 'service', string>>) => ({
  service_namespace: namespace,
  service_name: service,
});

/**
 * The first ones in the order given, which must not change from scrape to scrape: series that come and go are worse than none.
 * `omitted`: how many were left out.
 */
export const limitServices = <T extends { readonly namespace: string }>(
  services: Iterable<T>,
): { shown: readonly T[]; omitted: number } => {
  const all = [...services];
  const counts = new Map<string, number>();
  const shown = all.filter(({ namespace }) => {
    const count = (counts.get(namespace) ?? 0) + 1;
    counts.set(namespace, count);
    return count <= SERVICES_PER_NAMESPACE;
  });
  const first = shown.slice(0, SERVICES_IN_ALL);
  return { shown: first, omitted: all.length - first.length };
};
