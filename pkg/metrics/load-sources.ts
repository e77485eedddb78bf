// Opens the sources of load that the configuration names.
import { RESOURCE_METRICS } from '../apis/config/load-sources.ts';
import type { MetricSourceConfiguration } from '../apis/config/load-sources.ts';
import type { Client, Clock } from '../kubernetes/types.ts';
import { createPrometheus } from './prometheus.ts';
import { createResourceMetrics } from './resource-metrics.ts';
import { createTrafficSource } from './traffic-source.ts';
import type { LoadSource } from './types.ts';

export interface LoadSourcesOptions {
  /** Client of the cluster whose Pods are measured. */
  client: Pick<Client, 'pages' | 'text' | 'create'>;
  clock: Clock;
  /** `<command> (<platform>)`, for queries to Prometheus. */
  userAgent: string;
}

export interface LoadSources {
  /** By name; the first is the default. `metrics.k8s.io` is always there, as the last where it is not configured. */
  readonly sources: ReadonlyMap<string, LoadSource>;
  /** Closes connections of their own; the client's stay. */
  close(): Promise<void>;
}

/** Opens sources whose configuration was checked; nothing is sent before the first reading. */
export const createLoadSources = (
  configured: readonly MetricSourceConfiguration[],
  { client, clock, userAgent }: LoadSourcesOptions,
): LoadSources => {
  const sources = new Map<string, LoadSource>();
  const closers: (() => Promise<void>)[] = [];
  for (const config of configured) {
    if (config.type === 'Prometheus') {
      const source = createPrometheus({ config, clock, userAgent });
      sources.set(config.name, source);
      closers.push(source.close);
      continue;
    }
    if (config.type === 'TrafficMeter') {
      const cpu = createResourceMetrics({ name: RESOURCE_METRICS, client, clock });
      const source = createTrafficSource({ config, client, clock, userAgent, cpu });
      sources.set(config.name, source);
      closers.push(source.close);
      continue;
    }
    const { name, timeoutSeconds, cacheSeconds } = config;
    const options = { timeoutMs: timeoutSeconds * 1_000, cacheMs: cacheSeconds * 1_000 };
    sources.set(name, createResourceMetrics({ name, client, clock, ...options }));
  }
  if (!sources.has(RESOURCE_METRICS)) {
    sources.set(RESOURCE_METRICS, createResourceMetrics({ name: RESOURCE_METRICS, client, clock }));
  }
  return {
    sources,
    close: async () => void (await Promise.all(closers.map((close) => close()))),
  };
};
