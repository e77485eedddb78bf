// SPDX-License-Identifier: Apache-2.0
// The settings reconciler's own metrics: decisions by reason, writes by cause, effectiveness, fights, and what carries admission.
import type { Metrics } from '../../telemetry/metrics.ts';
import type { WriteCause } from './apply.ts';

export interface SettingsFigures {
  /** Objects by owner and reason. */
  decisions(): { owner: string; reason: string; objects: number }[];
  foreignValues(): number;
  /** Services by `Effective` or the reason why not. */
  effectiveness(): { state: string; services: number }[];
  webhookUnavailable(): boolean;
  /** Who carries admission; undefined until it is known. */
  carrier(): CarrierFigures | undefined;
  /** Resources with the milliseconds since their cache was proved current. */
  staleness(): { resource: string; milliseconds: number }[];
}

export interface CarrierFigures {
  /** Who carries now. */
  readonly carrier: string;
  /** Who was chosen and is awaited; undefined: nobody. */
  readonly awaits: string | undefined;
}

const CARRIERS = ['webhook', 'policy'] as const;

export interface SettingsMetrics {
  wrote(kind: string, cause: WriteCause): void;
  touched(outcome: 'hinted' | 'unhinted' | 'spread' | 'planned'): void;
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
    name: 'admission_carrier',
    help: 'What carries admission of EndpointSlices and settings: 1 for webhook or policy, 0 for the other. Absent until it is known.',
    labels: ['carrier'],
    collect(gauge) {
      gauge.reset();
      const now = figures.carrier();
      if (now === undefined) return;
      for (const carrier of CARRIERS) gauge.set({ carrier }, carrier === now.carrier ? 1 : 0);
    },
  });
  metrics.gauge({
    name: 'admission_carrier_awaited',
    help: '1 for the carrier that shall take over and was not seen to act for long enough yet; the other carries until then.',
    labels: ['carrier'],
    collect(gauge) {
      gauge.reset();
      const now = figures.carrier();
      if (now === undefined) return;
      for (const carrier of CARRIERS) gauge.set({ carrier }, carrier === now.awaits ? 1 : 0);
    },
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
    help: 'EndpointSlices written so that admission looks at them again, by what came back: hinted or unhinted after an outage of the webhook; spread or (still) planned once the planner is gone.',
    labels: ['outcome'],
  });
  const failures = metrics.counter({ name: 'list_watch_failures_total', help: 'Lists and watches that failed.' });
  return {
    wrote: (kind, cause) => writes.inc({ kind, cause }),
    touched: (outcome) => touches.inc({ outcome }),
    failed: () => failures.inc(),
  };
};
