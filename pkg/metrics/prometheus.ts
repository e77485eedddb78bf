// Load from instant queries to Prometheus: one sample per Pod, or one per pair of zones.
import type { PrometheusSourceConfiguration } from '../apis/config/load-sources.ts';
import { PROMETHEUS_DEFAULTS } from '../apis/config/load-sources.ts';
import type { Clock } from '../kubernetes/types.ts';
import { readVector } from './prometheus-answer.ts';
import type { Vector } from './prometheus-answer.ts';
import { createPrometheusClient } from './prometheus-client.ts';
import { readSamples } from './prometheus-samples.ts';
import { fillTemplate } from './promql-template.ts';
import { createSharedReads } from './shared-reads.ts';
import { LoadError } from './types.ts';
import type { LoadQuery, LoadSource } from './types.ts';

export interface PrometheusOptions {
  config: PrometheusSourceConfiguration;
  clock: Clock;
  userAgent: string;
}

export interface PrometheusSource extends LoadSource {
  /** Breaks every connection; pending reads reject. */
  close(): Promise<void>;
}

/** What one query came to, and when on our own clock: seconds since 1970. */
interface Answer {
  readonly vector: Vector;
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** Which queries a reading takes: a FlowPolicy's, or those of the configuration. */
const templatesOf = (
  { query, sampleTimeQuery, policyQueries = PROMETHEUS_DEFAULTS.policyQueries, name }: PrometheusSourceConfiguration,
  { promql }: LoadQuery,
): { query: string; times: string | undefined } => {
  if (promql !== undefined) {
    if (policyQueries) return { query: promql, times: undefined };
    throw new LoadError('BadQuery', `the source ${name} accepts no query of a FlowPolicy`);
  }
  if (query === undefined) throw new LoadError('BadQuery', `neither the FlowPolicy nor the source ${name} has a query`);
  return { query, times: sampleTimeQuery };
};

/**
 * Creates the source. It connects to the configured address only; a LoadQuery brings PromQL, never an address.
 * The same PromQL is asked once for all who want it, and its answer serves them for the configured time.
 */
export const createPrometheus = ({ config, clock, userAgent }: PrometheusOptions): PrometheusSource => {
  const { windowSeconds, maxConcurrentQueries } = { ...PROMETHEUS_DEFAULTS, ...config };
  const labels = { ...PROMETHEUS_DEFAULTS.labels, ...config.labels };
  const client = createPrometheusClient({ config, clock, userAgent });
  const reads = createSharedReads<Answer>({ clock, concurrency: maxConcurrentQueries });

  const ask = async (promql: string, signal: AbortSignal): Promise<Answer> => {
    const askedAt = clock.now() / 1_000;
    const body = await client.query(promql, signal);
    return { vector: readVector(body, labels), askedAt, answeredAt: clock.now() / 1_000 };
  };

  return {
    name: config.name,
    async read(query, signal) {
      signal.throwIfAborted();
      const { maxAgeSeconds = Infinity } = query;
      const maxAgeMs = Math.min(config.cacheSeconds, maxAgeSeconds) * 1_000;
      const answerTo = (template: string): Promise<Answer> => {
        const promql = fillTemplate(template, query);
        return reads.read(promql, maxAgeMs, (_previous, shared) => ask(promql, shared), signal);
      };
      const templates = templatesOf(config, query);
      const [answer, times] = await Promise.all([
        answerTo(templates.query),
        templates.times === undefined ? undefined : answerTo(templates.times),
      ]);
      const { vector, askedAt, answeredAt } = answer;
      return readSamples(vector, query, { window: windowSeconds, askedAt, answeredAt, times: times?.vector });
    },
    close: () => client.close(),
  };
};
