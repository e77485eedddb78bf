// The flow controller's own metrics: what loops see, plan and write, and what goes wrong.
import type { TurnFigures } from '../../flow/assemble/job.ts';
import { type Metrics, SERVICE_LABELS, limitServices, seriesLabels } from '../../telemetry/metrics.ts';

/** What is known of one Service's loop. */
export interface ServiceFigures {
  readonly namespace: string;
  readonly service: string;
  readonly strategy: string;
  /** Reasons of the three conditions. */
  readonly observed: string;
  readonly effective: string;
  readonly stable: string;
  /** Undefined while nothing is known of demand. */
  readonly figures: TurnFigures | undefined;
  /** Since the newest sample ended, seconds; undefined before there was one. */
  readonly sampleAge: number | undefined;
}

export interface FlowFigures {
  /** In an order that stays. */
  services(): Iterable<ServiceFigures>;
}

const SERVICE = SERVICE_LABELS;
const ZONE = [...SERVICE_LABELS, 'zone'] as const;

/** Services that have series of their own, and how many ask for each strategy and are in each condition. */
interface Look {
  readonly shown: readonly ServiceFigures[];
  readonly omitted: number;
  readonly counts: readonly { readonly labels: Record<(typeof COUNTED)[number], string>; readonly services: number }[];
}

const COUNTED = ['strategy', 'condition', 'reason'] as const;

const countByCondition = (services: readonly ServiceFigures[]): Look['counts'] => {
  const counts = new Map<string, { readonly labels: Look['counts'][number]['labels']; services: number }>();
  const count = (strategy: string, condition: string, reason: string): void => {
    const key = `${strategy} ${condition} ${reason}`;
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { labels: { strategy, condition, reason }, services: 1 });
    else known.services += 1;
  };
  for (const { strategy, observed, effective, stable } of services) {
    count(strategy, 'Observed', observed);
    count(strategy, 'Effective', effective);
    count(strategy, 'Stable', stable);
  }
  return [...counts.values()];
};

/** One look at all Services for all gauges of a scrape: prom-client asks them in one turn of the event loop. */
const lookOnce = ({ services }: FlowFigures): (() => Look) => {
  let current: Look | undefined;
  return () => {
    if (current === undefined) {
      const all = [...services()];
      current = { ...limitServices(all), counts: countByCondition(all) };
      queueMicrotask(() => (current = undefined));
    }
    return current;
  };
};

const countServices = (metrics: Metrics, look: () => Look): void => {
  metrics.gauge({
    name: 'flow_services',
    help: 'Services that request a plan, by strategy, condition and its reason.',
    labels: COUNTED,
    collect(gauge) {
      gauge.reset();
      for (const { labels, services } of look().counts) gauge.set(labels, services);
    },
  });
  metrics.gauge({
    name: 'services_without_series',
    help: 'Services without a per-Service series because of the limits (50 per namespace, 1,000 in total).',
    collect: (gauge) => gauge.set(look().omitted),
  });
  metrics.gauge({
    name: 'flow_sample_age_seconds',
    help: 'Age of the newest load sample.',
    labels: SERVICE,
    collect(gauge) {
      gauge.reset();
      for (const shown of look().shown)
        if (shown.sampleAge !== undefined) gauge.set(seriesLabels(shown), shown.sampleAge);
    },
  });
};

const showTraffic = (metrics: Metrics, look: () => Look): void => {
  const ofService = (name: string, help: string, value: (figures: TurnFigures) => number): void =>
    void metrics.gauge({
      name,
      help,
      labels: SERVICE,
      collect(gauge) {
        gauge.reset();
        for (const shown of look().shown)
          if (shown.figures !== undefined) gauge.set(seriesLabels(shown), value(shown.figures));
      },
    });
  const ofZone = (name: string, help: string, value: (zone: TurnFigures['zones'][number]) => number): void =>
    void metrics.gauge({
      name,
      help,
      labels: ZONE,
      collect(gauge) {
        gauge.reset();
        for (const shown of look().shown)
          for (const zone of shown.figures?.zones ?? [])
            gauge.set({ ...seriesLabels(shown), zone: zone.zone }, value(zone));
      },
    });
  ofService(
    'flow_in_zone_ratio',
    'Share of the demand that stays in its zone under the plan.',
    ({ inZoneShare }) => inZoneShare,
  );
  ofService(
    'flow_busiest_endpoint_ratio',
    'Load of the busiest endpoint under the plan, by its capacity.',
    ({ maxUtilization }) => maxUtilization,
  );
  ofZone('flow_demand', "Demand of a zone's clients, in the unit of capacity (cores).", ({ demand }) => demand);
  ofZone('flow_spill_ratio', "Share of a zone's demand that other zones serve.", ({ spill }) => spill);
  ofZone('flow_utilization_ratio', "Load of a zone's endpoints by their capacity.", ({ utilization }) => utilization);
};

/** Gauges are computed when they are scraped, so that nothing has to be kept in step. */
export const showFlow = (metrics: Metrics, figures: FlowFigures): void => {
  const look = lookOnce(figures);
  countServices(metrics, look);
  showTraffic(metrics, look);
};

export const createFlowCounters = (metrics: Metrics) => {
  const changes = metrics.counter({ name: 'flow_plan_changes_total', help: 'Plans that changed.', labels: ['reason'] });
  const hints = metrics.counter({ name: 'flow_hint_changes_total', help: 'Endpoints whose planned hints changed.' });
  const writes = metrics.counter({
    name: 'flow_slice_writes_total',
    help: 'EndpointSlice writes by cause: new plan, reassertion, removal of a plan, and conflicts with other writers.',
    labels: ['cause'],
  });
  const reads = metrics.counter({
    name: 'flow_load_reads_total',
    help: 'Load reads by source and outcome: success, or the reason of the failure.',
    labels: ['source', 'outcome'],
  });
  const seconds = metrics.histogram({
    name: 'flow_load_read_duration_seconds',
    help: 'Duration of load reads.',
    labels: ['source'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const planning = metrics.histogram({
    name: 'flow_planning_duration_seconds',
    help: 'Duration of one planning job, by outcome: complete, cut-short by its effort limit, timed-out, failed.',
    labels: ['outcome'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  return {
    /** A plan changed, and so did the hints of so many endpoints. */
    changed(reason: string, endpoints: number): void {
      changes.inc({ reason });
      hints.inc(endpoints);
    },
    /** EndpointSlices were written: for a plan, to reassert it, to revert it, or without effect. */
    wrote: (cause: 'plan' | 'reassert' | 'takeback' | 'conflict', slices: number): void =>
      writes.inc({ cause }, slices),
    /** A source of load was read. */
    read(source: string, outcome: string, durationMs: number): void {
      reads.inc({ source, outcome });
      seconds.observe({ source }, durationMs / 1_000);
    },
    /** A plan was made, cut short, given up at the deadline, or failed. */
    planned: (outcome: 'complete' | 'cut-short' | 'timed-out' | 'failed', durationMs: number): void =>
      planning.observe({ outcome }, durationMs / 1_000),
  };
};

export type FlowCounters = ReturnType<typeof createFlowCounters>;
