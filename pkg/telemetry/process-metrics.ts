// What every long-running command says about itself: its release, whether it is ready, and whether it leads.
import { RELEASE } from '../apis/release.ts';
import type { Metrics } from './metrics.ts';
import type { HealthCheck } from './types.ts';

export interface ProcessMetricsOptions {
  /** Name of the command, on every series: it distinguishes the components of one release, whatever a scraper calls its jobs. */
  command: string;
  /** The checks behind /readyz. */
  readiness: readonly HealthCheck[];
  /** Whether this replica leads; omitted by commands whose replicas all work. */
  leads?: () => boolean;
}

/** Gauges are computed when they are scraped, so that nothing has to be kept in step. */
export const createProcessMetrics = (metrics: Metrics, options: ProcessMetricsOptions): void => {
  const { command, readiness, leads } = options;
  metrics
    .gauge({
      name: 'build_info',
      help: 'Always 1; the labels are command and version.',
      labels: ['command', 'version'],
    })
    .set({ command, version: RELEASE }, 1);
  metrics.gauge({
    name: 'ready',
    help: 'Readiness as answered by /readyz: 1 for ready, 0 for not.',
    labels: ['command'],
    collect: (gauge) => gauge.set({ command }, readiness.every(({ check }) => check() === undefined) ? 1 : 0),
  });
  if (leads === undefined) return;
  metrics.gauge({
    name: 'leader',
    help: '1 on the leading replica (or without leader election), 0 on the others.',
    labels: ['command'],
    collect: (gauge) => gauge.set({ command }, leads() ? 1 : 0),
  });
};

/** Counts dropped events, by cause. */
export const createEventMetrics = (metrics: Metrics): ((reason: string) => void) => {
  const dropped = metrics.counter({
    name: 'events_dropped_total',
    help: 'Events that were not written: too many about one object (Flood), queue full, refused, or API server unreachable.',
    labels: ['reason'],
  });
  return (reason) => dropped.inc({ reason });
};
