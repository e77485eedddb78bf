// SPDX-License-Identifier: Apache-2.0
// The settings reconciler's own metrics: decisions by reason, writes by cause, effectiveness, fights and the webhook's absence.
import type { Metrics } from '../../telemetry/metrics.ts';
import type { WriteCause } from './apply.ts';

export interface SettingsFigures {
  /** Objects by owner and reason. */
  decisions(): { owner: string; reason: string; objects: number }[];
  foreignValues(): number;
  /** Services by `Effective` or the reason why not. */
  effectiveness(): { state: string; services: number }[];
  webhookUnavailable(): boolean;
  /** Resources with the milliseconds since their cache was proved current. */
  staleness(): { resource: string; milliseconds: number }[];
}

export interface SettingsMetrics {
  wrote(kind: string, cause: WriteCause): void;
  touched(outcome: string): void;
  failed(): void;
}

/** Gauges are computed when they are scraped, so that nothing has to be kept in step. */
export const createSettingsMetrics = (metrics: Metrics, figures: SettingsFigures): SettingsMetrics => {
  metrics.gauge({
    name: 'settings_objects',
    help: 'Services and Etcds by the reconciler that owns them and by decision: Enabled, or the reason why not.',
    labels: ['owner', 'reason'],
    collect(gauge) {
      gauge.reset();
      for (const { owner, reason, objects } of figures.decisions()) gauge.set({ owner, reason }, objects);
    },
  });
  metrics.gauge({
    name: 'settings_foreign_values',
    help: 'Values of somebody else that stand in the way of routing by zone.',
    collect: (gauge) => gauge.set(figures.foreignValues()),
  });
  metrics.gauge({
    name: 'services',
    help: 'Services that shall route by zone, by state: Effective, or the reason why they do not.',
    labels: ['state'],
    collect(gauge) {
      gauge.reset();
      for (const { state, services } of figures.effectiveness()) gauge.set({ state }, services);
    },
  });
  metrics.gauge({
    name: 'webhook_unavailable',
    help: '1 while slices that are written come back without hints.',
    collect: (gauge) => gauge.set(figures.webhookUnavailable() ? 1 : 0),
  });
  metrics.gauge({
    name: 'informer_staleness_seconds',
    help: 'Time since a cache was proved current.',
    labels: ['resource'],
    collect(gauge) {
      for (const { resource, milliseconds } of figures.staleness()) gauge.set({ resource }, milliseconds / 1_000);
    },
  });
  const writes = metrics.counter({
    name: 'settings_writes_total',
    help: 'Objects written: because a decision changed, to repair what others overwrote, or to take our settings back.',
    labels: ['kind', 'cause'],
  });
  const touches = metrics.counter({
    name: 'slice_touches_total',
    help: 'EndpointSlices written so that the webhook hints them, by what came back: hinted or unhinted.',
    labels: ['outcome'],
  });
  const failures = metrics.counter({ name: 'list_watch_failures_total', help: 'Lists and watches that failed.' });
  return {
    wrote: (kind, cause) => writes.inc({ kind, cause }),
    touched: (outcome) => touches.inc({ outcome }),
    failed: () => failures.inc(),
  };
};
