// Metrics of one process: a prom-client registry of its own, typed creation, and the list of definitions that docs are made from.
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

export interface MetricsOptions {
  /** Put before the name of every metric created here; default `topology_aware_routing_`. */
  prefix?: string;
  /** Also collect process and Node.js metrics (`process_…`, `nodejs_…`, with event-loop lag p99); default true. */
  defaultMetrics?: boolean;
}

export interface MetricOptions<L extends string> {
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

export interface CounterOptions<L extends string> extends MetricOptions<L> {
  /** Called at each scrape to bring the counter up to date. Must not throw. */
  collect?: (counter: Counter<L>) => void;
}

export interface GaugeOptions<L extends string> extends MetricOptions<L> {
  /** Called at each scrape to set the value then. Must not throw. */
  collect?: (gauge: Gauge<L>) => void;
}

export interface HistogramOptions<L extends string> extends MetricOptions<L> {
  /** Upper bounds in the unit of the name, ascending. */
  buckets: readonly number[];
}

export type MetricType = 'counter' | 'gauge' | 'histogram';

/** What docs say about a metric. */
export interface MetricDefinition {
  /** With prefix. */
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  readonly labels: readonly string[];
  /** Release that brought it. */
  readonly since: string;
}

export interface Metrics {
  counter<L extends string = never>(options: CounterOptions<L>): Counter<L>;
  gauge<L extends string = never>(options: GaugeOptions<L>): Gauge<L>;
  histogram<L extends string = never>(options: HistogramOptions<L>): Histogram<L>;
  /** Metrics created here (not the default ones), by name. */
  definitions(): MetricDefinition[];
  /** The exposition text of everything in the registry. */
  text(): Promise<string>;
  /** Content type of `text`. */
  readonly contentType: string;
}

/** Seconds from 1 ms to 5 s: what the latency of admission calls is seen with. */
export const LATENCY_BUCKETS_SECONDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

const FIRST_RELEASE = '0.1.0';

/** A new registry; nothing is shared between two calls. Creating two metrics of one name throws. */
export const createMetrics = (options: MetricsOptions = {}): Metrics => {
  const { prefix = 'topology_aware_routing_', defaultMetrics = true } = options;
  const registry = new Registry();
  const definitions: MetricDefinition[] = [];
  if (defaultMetrics) collectDefaultMetrics({ register: registry });

  const describe = <L extends string>(type: MetricType, metric: MetricOptions<L>) => {
    const { name, help, labels = [], since = FIRST_RELEASE } = metric;
    const common = { name: `${metric.prefix ?? prefix}${name}`, help, labelNames: [...labels], registers: [registry] };
    const definition = { name: common.name, type, help, labels: [...labels], since };
    return { common, remember: () => void definitions.push(definition) };
  };

  return {
    counter<L extends string>(metric: CounterOptions<L>) {
      const { common, remember } = describe('counter', metric);
      const { collect } = metric;
      const counter: Counter<L> = new Counter<L>(
        collect === undefined ? common : { ...common, collect: () => collect(counter) },
      );
      remember();
      return counter;
    },
    gauge<L extends string>(metric: GaugeOptions<L>) {
      const { common, remember } = describe('gauge', metric);
      const { collect } = metric;
      const gauge: Gauge<L> = new Gauge<L>(
        collect === undefined ? common : { ...common, collect: () => collect(gauge) },
      );
      remember();
      return gauge;
    },
    histogram(metric) {
      const { common, remember } = describe('histogram', metric);
      const histogram = new Histogram({ ...common, buckets: [...metric.buckets] });
      remember();
      return histogram;
    },
    definitions: () => [...definitions].sort((a, b) => (a.name < b.name ? -1 : 1)),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
};
