// Metrics of the settings: decisions by reason, values of others, fights, and writes by cause.
import type { Metrics } from '../../telemetry/metrics.ts';
import type { WriteCause } from './apply.ts';
import type { Reporter } from './reporter.ts';

/** Gauges are computed when they are scraped, so that nothing has to be kept in step. */
export const showSettings = (
  metrics: Metrics,
  reports: Pick<Reporter, 'counts' | 'foreignValues' | 'fights'>,
): void => {
  metrics.gauge({
    name: 'settings_objects',
    help: 'Services and Etcds by the mode that decides about them and by decision: Enabled, or the reason why not.',
    labels: ['owner', 'reason'],
    collect(gauge) {
      gauge.reset();
      for (const { owner, reason, objects } of reports.counts()) gauge.set({ owner, reason }, objects);
    },
  });
  metrics.gauge({
    name: 'settings_foreign_values',
    help: 'Topology settings of other writers that prevent zone-local routing.',
    collect: (gauge) => gauge.set(reports.foreignValues()),
  });
  metrics.gauge({
    name: 'settings_fights',
    help: 'Namespaces whose settings another writer overwrites repeatedly.',
    collect: (gauge) => gauge.set(reports.fights()),
  });
};

/** Counts what is written, by cause. */
export const createWriteCounter = (metrics: Metrics): ((cause: WriteCause) => void) => {
  const writes = metrics.counter({
    name: 'settings_writes_total',
    help: 'Writes of Services by cause: a changed decision, repair of what another writer overwrote, or release.',
    labels: ['kind', 'cause'],
  });
  // The label is part of a stable metric; nothing but Services is written.
  return (cause) => writes.inc({ kind: 'Service', cause });
};
