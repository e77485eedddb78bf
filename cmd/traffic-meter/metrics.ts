// The metrics of the meter, computed from the ledger when they are scraped.
import type { Metrics } from '../../pkg/telemetry/metrics.ts';
import type { Directory } from '../../pkg/traffic/directory.ts';
import type { Ledger, Series } from '../../pkg/traffic/ledger.ts';
import type { NodeFacts } from './node.ts';

/** Names that do not begin as the controllers' do: they are what others query. */
const PREFIX = 'topology_traffic_';

/** What the meter can say about its node. */
export const STATES = ['Starting', 'Measuring', 'NoServiceTraffic', 'AccountingOff', 'Unsupported'] as const;
export type MeterState = (typeof STATES)[number];

export interface MeterView {
  readonly ledger: Pick<Ledger, 'series' | 'proofs' | 'losses' | 'living' | 'seesServices'>;
  readonly facts: () => NodeFacts | undefined;
  /** Seconds since the last complete list; undefined before the first. */
  readonly listAgeSeconds: () => number | undefined;
  /** Since counters began at 0; undefined before. */
  readonly countingSeconds: () => number | undefined;
  readonly overruns: () => number;
  /** Lines of conntrack that were too long to be read. */
  readonly longLines: () => number;
  /** Services (`namespace/name`) whose flows the kernel does not track on this node. */
  readonly unsupported: () => readonly string[];
}

/** Nothing is measured where the kernel does not see what the proxy does: zero would be a lie. */
export const stateOf = ({ ledger, facts, listAgeSeconds }: MeterView): MeterState => {
  const known = facts();
  if (known === undefined || listAgeSeconds() === undefined) return 'Starting';
  if (!ledger.seesServices && known.foreignPlane !== '') return 'Unsupported';
  if (known.accounting === false) return 'AccountingOff';
  return ledger.seesServices ? 'Measuring' : 'NoServiceTraffic';
};

const LABELS = ['service_namespace', 'service_name', 'source_zone', 'destination_zone'] as const;

const SERVICE_LABELS = ['service_namespace', 'service_name'] as const;

const serviceLabels = (service: string): Record<(typeof SERVICE_LABELS)[number], string> => {
  const slash = service.indexOf('/');
  return {
    service_namespace: slash === -1 ? '' : service.slice(0, slash),
    service_name: slash === -1 ? service : service.slice(slash + 1),
  };
};

const labelsOf = ({ service, source, destination }: Series): Record<(typeof LABELS)[number], string> => ({
  ...serviceLabels(service),
  source_zone: source,
  destination_zone: destination,
});

/** New connections against the hints in force: what the condition TrafficDistributionHonored and two alerts go by. */
const registerProofs = (metrics: Metrics, ledger: MeterView['ledger']): void => {
  metrics.counter({
    prefix: PREFIX,
    name: 'judged_connections_total',
    help: 'New connections of clients of this node against the hints in force, by outcome: Honored, or why not.',
    labels: [...SERVICE_LABELS, 'outcome'],
    collect(counter) {
      counter.reset();
      for (const { service, outcomes } of ledger.proofs)
        for (const [outcome, count] of Object.entries(outcomes))
          if (count > 0) counter.inc({ ...serviceLabels(service), outcome }, count);
    },
  });
  metrics.counter({
    prefix: PREFIX,
    name: 'crossing_connections_total',
    help: 'Judged connections to another zone: measured, and predicted from hints and endpoints of the same moment.',
    labels: [...SERVICE_LABELS, 'kind'],
    collect(counter) {
      counter.reset();
      for (const { service, crossed, predicted } of ledger.proofs) {
        counter.inc({ ...serviceLabels(service), kind: 'measured' }, crossed);
        counter.inc({ ...serviceLabels(service), kind: 'predicted' }, predicted);
      }
    },
  });
};

/** Services of DNS at an address of this node's own DNS cache, which exempts it from connection tracking. */
export const untrackedServices = (
  directory: Pick<Directory, 'serviceAt'>,
  { localDns }: Pick<NodeFacts, 'localDns'>,
): string[] => {
  const found = localDns.flatMap((address) =>
    ['udp', 'tcp'].map((protocol) => directory.serviceAt(protocol, address, 53)),
  );
  return [...new Set(found.filter((service) => service !== undefined))];
};

/** Registers them; `view` is read at each scrape. */
export const registerMeterMetrics = (metrics: Metrics, view: MeterView): void => {
  const { ledger } = view;
  metrics.counter({
    prefix: PREFIX,
    name: 'bytes_total',
    help: 'Bytes with IP headers between zones, by Service; direction request is from client to endpoint, response the other way.',
    labels: [...LABELS, 'direction'],
    collect(counter) {
      counter.reset();
      for (const series of ledger.series) {
        counter.inc({ ...labelsOf(series), direction: 'request' }, series.requestBytes);
        counter.inc({ ...labelsOf(series), direction: 'response' }, series.responseBytes);
      }
    },
  });
  metrics.counter({
    prefix: PREFIX,
    name: 'connections_total',
    help: 'Connections (flows of UDP as well) between zones, by Service.',
    labels: LABELS,
    collect(counter) {
      counter.reset();
      for (const series of ledger.series) counter.inc(labelsOf(series), series.connections);
    },
  });
  registerProofs(metrics, ledger);
  metrics.counter({
    prefix: PREFIX,
    name: 'lost_total',
    help: 'What could not be counted: Overrun, events that the kernel dropped; LongLine, lines of conntrack above 4 KiB; End, flows whose end was missed; Unaccounted, flows without byte counters; Ambiguous, flows of unknown clients.',
    labels: ['reason'],
    collect(counter) {
      counter.reset();
      counter.inc({ reason: 'Overrun' }, view.overruns());
      counter.inc({ reason: 'LongLine' }, view.longLines());
      counter.inc({ reason: 'End' }, Math.max(0, ledger.losses.ends));
      counter.inc({ reason: 'Unaccounted' }, ledger.losses.unaccounted);
      counter.inc({ reason: 'Ambiguous' }, ledger.losses.ambiguous);
    },
  });
  metrics.gauge({
    prefix: PREFIX,
    name: 'flows',
    help: 'Flows in memory.',
    collect: (gauge) => gauge.set(ledger.living),
  });
  metrics.gauge({
    prefix: PREFIX,
    name: 'conntrack_max',
    help: "Capacity of the node's conntrack table, entries.",
    collect: (gauge) => gauge.set(view.facts()?.maxEntries ?? Number.NaN),
  });
  metrics.gauge({
    prefix: PREFIX,
    name: 'list_age_seconds',
    help: 'Time since the whole conntrack table was read, which is the age of the bytes of open flows.',
    collect: (gauge) => gauge.set(view.listAgeSeconds() ?? Number.NaN),
  });
  metrics.gauge({
    prefix: PREFIX,
    name: 'counting_seconds',
    help: 'Time that the counters cover, from 0 to the last window of two seconds.',
    collect: (gauge) => gauge.set(view.countingSeconds() ?? 0),
  });
  metrics.gauge({
    prefix: PREFIX,
    name: 'unsupported_services',
    help: 'Always 1: a Service that is not measured on this node, because node-local DNS exempts its address from connection tracking.',
    labels: SERVICE_LABELS,
    collect(gauge) {
      gauge.reset();
      for (const service of view.unsupported()) gauge.set(serviceLabels(service), 1);
    },
  });
  metrics.gauge({
    prefix: PREFIX,
    name: 'state',
    help: 'Whether this node is measured: 1 for the current state. Unsupported: its data plane keeps flows out of the kernel.',
    labels: ['state'],
    collect(gauge) {
      const current = stateOf(view);
      for (const state of STATES) gauge.set({ state }, state === current ? 1 : 0);
    },
  });
};
