// The flow controller's own metrics: what loops see, plan and write, and what goes wrong.
import type { FindingsInput } from '../../flow/assemble/conditions.ts';
import { type Metrics, SERVICE_LABELS, type Sample, limitServices, seriesLabels } from '../../telemetry/metrics.ts';

export interface ServiceFigures extends Pick<FindingsInput, 'figures'> {
  readonly namespace: string;
  readonly service: string;
  readonly strategy: string;
  /** By condition. */
  readonly findings: Readonly<Record<'Observed' | 'Effective' | 'Stable', { readonly reason: string }>>;
  /** Since the newest sample ended, seconds; undefined before there was one. */
  readonly sampleAge: number | undefined;
}

/** `services`: in an order that stays. */
export const showFlow = (
  metrics: Metrics,
  { services }: { readonly services: () => Iterable<ServiceFigures> },
): void => {
  const look = () => {
    const all = [...services()];
    return { ...limitServices(all), all };
  };
  let current: ReturnType<typeof look> | undefined;
  /** One look at all Services for all gauges of a scrape: prom-client asks them in one turn of the event loop. */
  const lookOnce = (): ReturnType<typeof look> => {
    if (current === undefined) {
      current = look();
      queueMicrotask(() => (current = undefined));
    }
    return current;
  };
  const ofServices = (name: string, help: string, value: (service: ServiceFigures) => number | undefined): void =>
    void metrics.gauge({
      name,
      help,
      labels: SERVICE_LABELS,
      samples: () => lookOnce().shown.map((shown) => [seriesLabels(shown), value(shown)]),
    });
  const ofZones = (name: string, help: string, field: 'demand' | 'spill' | 'utilization'): void =>
    void metrics.gauge({
      name,
      help,
      labels: [...SERVICE_LABELS, 'zone'],
      samples: () =>
        lookOnce().shown.flatMap((shown) =>
          (shown.figures?.zones ?? []).map((of): Sample => [{ ...seriesLabels(shown), zone: of.zone }, of[field]]),
        ),
    });
  metrics.gauge({
    name: 'flow_services',
    help: 'Services that request a plan, by strategy, condition and its reason.',
    labels: ['strategy', 'condition', 'reason'],
    samples: () =>
      lookOnce().all.flatMap(({ strategy, findings }) =>
        Object.entries(findings).map(([condition, { reason }]) => [{ strategy, condition, reason }, 1] as const),
      ),
  });
  metrics.gauge({
    name: 'services_without_series',
    help: 'Services without a per-Service series because of the limits (50 per namespace, 1,000 in total).',
    samples: () => [[{}, lookOnce().omitted]],
  });
  ofServices('flow_sample_age_seconds', 'Age of the newest load sample.', ({ sampleAge }) => sampleAge);
  ofServices(
    'flow_in_zone_ratio',
    'Share of the demand that stays in its zone under the plan.',
    ({ figures }) => figures?.inZoneShare,
  );
  ofServices(
    'flow_busiest_endpoint_ratio',
    'Load of the busiest endpoint under the plan, by its capacity.',
    ({ figures }) => figures?.maxUtilization,
  );
  ofZones('flow_demand', "Demand of a zone's clients, in the unit of capacity (cores).", 'demand');
  ofZones('flow_spill_ratio', "Share of a zone's demand that other zones serve.", 'spill');
  ofZones('flow_utilization_ratio', "Load of a zone's endpoints by their capacity.", 'utilization');
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
    read(source: string, outcome: string, durationMs: number): void {
      reads.inc({ source, outcome });
      seconds.observe({ source }, durationMs / 1_000);
    },
    /** A plan was made, cut short, given up at the deadline, or failed. */
    planned: (outcome: 'complete' | 'cut-short' | 'timed-out' | 'failed', durationMs: number): void =>
      planning.observe({ outcome }, durationMs / 1_000),
  };
};
