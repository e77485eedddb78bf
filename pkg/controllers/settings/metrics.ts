// SPDX-License-Identifier: Apache-2.0
// The settings reconciler's own metrics: decisions by reason, writes by cause, effectiveness, fights, and what carries admission.
import type { Metrics } from '../../telemetry/metrics.ts';
import { SERVICE_LABELS, labelsOf, limitServices } from '../../telemetry/series-limit.ts';
import type { ServiceFigures } from '../effectiveness/figures.ts';
import type { WriteCause } from './apply.ts';

export interface SettingsFigures {
  /** Objects by owner and reason. */
  decisions(): { owner: string; reason: string; objects: number }[];
  foreignValues(): number;
  /** Namespaces whose settings are overwritten again and again. */
  fights(): number;
  /** Services by `Effective` or the reason why not. */
  effectiveness(): { state: string; services: number }[];
  /** Of every Service that shall route by zone, in an order that stays. */
  services(): Iterable<{ namespace: string; service: string; figures: ServiceFigures }>;
  webhookUnavailable(): boolean;
  /** Who carries admission; undefined until it is known. */
  carrier(): CarrierFigures | undefined;
  /** Whether the flow controller renews its Lease; undefined until it is known. */
  plannerAlive(): boolean | undefined;
}

export interface CarrierFigures {
  /** Who carries now. */
  readonly carrier: string;
  /** Who was chosen and is awaited; undefined: nobody. */
  readonly awaits: string | undefined;
}

const CARRIERS = ['webhook', 'policy'] as const;

const ASSUMPTION = 'if every ready Node has as many clients';

export interface SettingsCounters {
  wrote(cause: WriteCause): void;
  touched(outcome: 'hinted' | 'unhinted' | 'spread' | 'planned'): void;
}

const showDecisions = (metrics: Metrics, figures: SettingsFigures): void => {
  metrics.gauge({
    name: 'settings_objects',
    help: 'Services and Etcds by the reconciler that decides about them and by decision: Enabled, or the reason why not.',
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
    name: 'settings_fights',
    help: 'Namespaces whose settings somebody else overwrites again and again.',
    collect: (gauge) => gauge.set(figures.fights()),
  });
};

/** Every Service counts as much, whatever its traffic: nobody measures that here. */
const meanOf = (shares: readonly number[]): number => shares.reduce((sum, share) => sum + share, 0) / shares.length;

const sharesIn = (figures: SettingsFigures): { namespace: string; service: string; share: number }[] =>
  [...figures.services()].flatMap(({ namespace, service, figures: { inZone } }) =>
    inZone === undefined ? [] : [{ namespace, service, share: inZone }],
  );

const showEffect = (metrics: Metrics, figures: SettingsFigures): void => {
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
    name: 'ready_endpoints',
    help: 'Ready endpoints of Services that shall route by zone, by whether they carry a zone hint: present or missing.',
    labels: ['hint'],
    collect(gauge) {
      let [present, missing] = [0, 0];
      for (const { figures: of } of figures.services()) {
        present += of.hinted;
        missing += of.unhinted;
      }
      gauge.set({ hint: 'present' }, present);
      gauge.set({ hint: 'missing' }, missing);
    },
  });
  metrics.gauge({
    name: 'predicted_in_zone_ratio',
    help: `Mean over Services that shall route by zone of the share of their connections that stays in the client's zone, as predicted from hints and proxies' versions ${ASSUMPTION}. Connections, not bytes.`,
    collect(gauge) {
      const shares = sharesIn(figures).map(({ share }) => share);
      if (shares.length > 0) gauge.set(meanOf(shares));
      else gauge.remove();
    },
  });
  metrics.gauge({
    name: 'service_predicted_in_zone_ratio',
    help: `Share of a Service's connections predicted to stay in the client's zone ${ASSUMPTION}. For 50 Services a namespace and 1,000 in all.`,
    labels: SERVICE_LABELS,
    collect(gauge) {
      gauge.reset();
      for (const shown of limitServices(sharesIn(figures)).shown) gauge.set(labelsOf(shown), shown.share);
    },
  });
  metrics.gauge({
    name: 'services_without_series',
    help: 'Services that are counted but have no series of their own, because there are too many.',
    collect: (gauge) => gauge.set(limitServices(sharesIn(figures)).omitted),
  });
};

const showCarrier = (metrics: Metrics, figures: SettingsFigures): void => {
  const ofCarrier = (name: string, help: string, isOne: (carrier: string, now: CarrierFigures) => boolean): void =>
    void metrics.gauge({
      name,
      help,
      labels: ['carrier'],
      collect(gauge) {
        gauge.reset();
        const now = figures.carrier();
        if (now === undefined) return;
        for (const carrier of CARRIERS) gauge.set({ carrier }, isOne(carrier, now) ? 1 : 0);
      },
    });
  metrics.gauge({
    name: 'webhook_unavailable',
    help: '1 while slices that are written come back without hints.',
    collect: (gauge) => gauge.set(figures.webhookUnavailable() ? 1 : 0),
  });
  metrics.gauge({
    name: 'planner_alive',
    help: "1 while the flow-controller's Lease is renewed: only then admission keeps plans. Absent until it is known.",
    collect(gauge) {
      const alive = figures.plannerAlive();
      if (alive === undefined) gauge.remove();
      else gauge.set(alive ? 1 : 0);
    },
  });
  ofCarrier(
    'admission_carrier',
    'What carries admission of EndpointSlices and settings: 1 for webhook or policy, 0 for the other. Absent until it is known.',
    (carrier, now) => carrier === now.carrier,
  );
  ofCarrier(
    'admission_carrier_awaited',
    '1 for the carrier that shall take over and was not seen to act for long enough yet; the other carries until then.',
    (carrier, now) => carrier === now.awaits,
  );
};

/** Gauges are computed when they are scraped, so that nothing has to be kept in step. */
export const showSettings = (metrics: Metrics, figures: SettingsFigures): void => {
  showDecisions(metrics, figures);
  showEffect(metrics, figures);
  showCarrier(metrics, figures);
};

export const createSettingsCounters = (metrics: Metrics): SettingsCounters => {
  const writes = metrics.counter({
    name: 'settings_writes_total',
    help: 'Services written: because a decision changed, to repair what others overwrote, or to take our settings back.',
    labels: ['kind', 'cause'],
  });
  const touches = metrics.counter({
    name: 'slice_touches_total',
    help: 'EndpointSlices written so that admission looks at them again, by what came back: hinted or unhinted after an outage of the webhook; spread or (still) planned once the planner is gone.',
    labels: ['outcome'],
  });
  return {
    // The label is part of a stable metric; nothing but Services is written.
    wrote: (cause) => writes.inc({ kind: 'Service', cause }),
    touched: (outcome) => touches.inc({ outcome }),
  };
};
