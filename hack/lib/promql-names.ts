// Which names in a PromQL expression are metrics and labels that nothing exposes: alert rules and dashboards are checked with it.
import type { CommandMetrics } from './metrics-catalogue.ts';

/** What prom-client and Node.js bring along, as far as rules and dashboards use it. */
const DEFAULT_METRICS = new Set([
  'nodejs_eventloop_lag_p99_seconds',
  'nodejs_heap_size_used_bytes',
  'process_cpu_seconds_total',
  'process_resident_memory_bytes',
]);

/** Labels that scrapers add to every series, and those that exist in expressions only. */
const TARGET_LABELS = ['job', 'instance', 'namespace', 'pod', 'le'];

const METRIC = /\b(?:topology_aware_routing|topology_traffic|nodejs|process)_[a-z0-9_]+/g;
const LABELS = /\b(?:by|on|group_left|group_right)\s*\(([^)]*)\)|\{([^}]*)\}/g;

/** Metrics and labels in `expr` that neither a command nor a scraper has; labels may be those of any metric of the expression. */
export const unknownNames = (expr: string, catalogue: readonly CommandMetrics[]): string[] => {
  const definitions = new Map(catalogue.flatMap(({ metrics }) => metrics.map((metric) => [metric.name, metric])));
  const labels = new Set(TARGET_LABELS);
  const unknown: string[] = [];
  for (const [name] of expr.matchAll(METRIC)) {
    if (DEFAULT_METRICS.has(name)) continue;
    const base = name.replace(/_(?:bucket|sum|count)$/, '');
    const definition = definitions.get(name) ?? definitions.get(base);
    const isPart = !definitions.has(name);
    if (
      definition === undefined ||
      (isPart && definition.type !== 'histogram') ||
      (!isPart && definition.type === 'histogram')
    )
      unknown.push(name);
    else definition.labels.forEach((label) => labels.add(label));
  }
  for (const [, list, matchers] of expr.matchAll(LABELS)) {
    const named =
      list === undefined
        ? [...(matchers ?? '').matchAll(/(\w+)\s*(?:=|!)/g)].map((match) => match[1] ?? '')
        : list.split(',');
    unknown.push(...named.map((label) => label.trim()).filter((label) => label !== '' && !labels.has(label)));
  }
  return unknown;
};
