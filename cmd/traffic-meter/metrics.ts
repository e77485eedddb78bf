// The metrics of the meter, computed from the ledger when they are scraped.
import { type Metrics, SERVICE_LABELS, seriesLabels } from '../../pkg/telemetry/metrics.ts';
import type { Directory } from '../../pkg/traffic/directory.ts';
import type { Route } from '../../pkg/traffic/conntrack.ts';
import type { Ledger } from '../../pkg/traffic/ledger.ts';
import type { createMeter } from './meter.ts';
import type { NodeFacts } from './node.ts';

/** Names that do not begin as the controllers' do: they are what others query. */
const PREFIX = 'topology_traffic_';

export const STATES = ['Starting', 'Measuring', 'NoServiceTraffic', 'AccountingOff', 'Unsupported'] as const;
export type MeterState = (typeof STATES)[number];

type Clockwork = ReturnType<typeof createMeter>;

export interface MeterView extends Pick<Clockwork, 'listAgeSeconds' | 'countingSeconds' | 'overruns'> {
  readonly ledger: Pick<Ledger, 'series' | 'direct' | 'proofs' | 'losses' | 'living' | 'seesServices'>;
  readonly facts: () => NodeFacts | undefined;
  /** Lines of conntrack that were too long to be read. */
  readonly longLines: () => number;
  /** Services (`namespace/name`) whose flows the kernel does not track on this node. */
  readonly unsupported: () => readonly string[];
}

/** Nothing is measured where the kernel does not see what the proxy does: zero would be a lie. */
export const stateOf = ({ ledger, facts, listAgeSeconds }: MeterView): MeterState => {
  const known = facts();
  if (known === undefined || listAgeSeconds() === undefined) return 'Starting';
  if (!ledger.seesServices() && known.foreignPlane !== '') return 'Unsupported';
  if (known.accounting === false) return 'AccountingOff';
  return ledger.seesServices() ? 'Measuring' : 'NoServiceTraffic';
};

/** A socket load balancer translates before the kernel's table does: there a connection to a Service looks like one to a Pod. */
const seesDirect = ({ ledger, facts }: MeterView): boolean => ledger.seesServices() && facts()?.foreignPlane === '';

const ROUTE_LABELS = [...SERVICE_LABELS, 'source_zone', 'destination_zone'];

type Labels = Record<string, string>;
type Sample = readonly [Labels, number];

const serviceLabels = (service: string): Labels => {
  const slash = service.indexOf('/');
  return seriesLabels({ namespace: service.slice(0, Math.max(0, slash)), service: service.slice(slash + 1) });
};

const routeLabels = ({ service, source, destination }: Route): Labels => ({
  ...serviceLabels(service),
  source_zone: source,
  destination_zone: destination,
});

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

export const registerMeterMetrics = (metrics: Metrics, view: MeterView): void => {
  const { ledger } = view;
  type Shown = readonly [name: string, help: string, labels: readonly string[], samples: () => readonly Sample[]];
  const show = (type: 'counter' | 'gauge', ...[name, help, labels, samples]: Shown): void =>
    void metrics[type]<string>({ prefix: PREFIX, name, help, labels, samples });
  const counter = (...shown: Shown): void => show('counter', ...shown);
  const gauge = (...shown: Shown): void => show('gauge', ...shown);
  const figure = (name: string, help: string, value: () => number): void =>
    gauge(name, help, [], () => [[{}, value()]]);
  counter(
    'bytes_total',
    'Bytes with IP headers between zones, by Service; direction request is from client to endpoint, response the other way.',
    [...ROUTE_LABELS, 'direction'],
    () =>
      [...ledger.series()].flatMap((series): Sample[] => [
        [{ ...routeLabels(series), direction: 'request' }, series.requestBytes],
        [{ ...routeLabels(series), direction: 'response' }, series.responseBytes],
      ]),
  );
  counter('connections_total', 'Connections (flows of UDP as well) between zones, by Service.', ROUTE_LABELS, () =>
    [...ledger.series()].map((series) => [routeLabels(series), series.connections]),
  );
  counter(
    'direct_connections_total',
    'Connections to endpoints by their own addresses, past the Service: of those without a Service, once for each Service of the endpoint.',
    ROUTE_LABELS,
    () =>
      seesDirect(view) ? [...ledger.direct()].map((series) => [routeLabels(series), series.connections] as const) : [],
  );
  figure(
    'direct_visible',
    '1 where connections past Services can be counted; 0 where none to a Service was seen translated, or a data plane translates before the kernel.',
    () => (seesDirect(view) ? 1 : 0),
  );
  // What the status of FlowPolicies and two alerts go by.
  counter(
    'judged_connections_total',
    'New connections of clients of this node against the hints in force, by outcome: Honored, or why not.',
    [...SERVICE_LABELS, 'outcome'],
    () =>
      [...ledger.proofs()].flatMap(({ service, outcomes }) =>
        Object.entries(outcomes)
          .filter(([, count]) => count > 0)
          .map(([outcome, count]): Sample => [{ ...serviceLabels(service), outcome }, count]),
      ),
  );
  counter(
    'crossing_connections_total',
    'Judged connections to another zone: measured, and predicted from hints and endpoints of the same moment.',
    [...SERVICE_LABELS, 'kind'],
    () =>
      [...ledger.proofs()].flatMap(({ service, crossed, predicted }): Sample[] => [
        [{ ...serviceLabels(service), kind: 'measured' }, crossed],
        [{ ...serviceLabels(service), kind: 'predicted' }, predicted],
      ]),
  );
  counter(
    'lost_total',
    'What could not be counted: Overrun, events that the kernel dropped; LongLine, lines of conntrack above 4 KiB; End, flows whose end was missed; Unaccounted, flows without byte counters; Ambiguous, flows of unknown clients.',
    ['reason'],
    () => [
      [{ reason: 'Overrun' }, view.overruns()],
      [{ reason: 'LongLine' }, view.longLines()],
      [{ reason: 'End' }, Math.max(0, ledger.losses.ends)],
      [{ reason: 'Unaccounted' }, ledger.losses.unaccounted],
      [{ reason: 'Ambiguous' }, ledger.losses.ambiguous],
    ],
  );
  figure('flows', 'Flows in memory.', () => ledger.living());
  figure('conntrack_max', "Size of the node's conntrack table, entries.", () => view.facts()?.maxEntries ?? Number.NaN);
  figure(
    'list_age_seconds',
    'Time since the whole conntrack table was read, which is the age of the bytes of open flows.',
    () => view.listAgeSeconds() ?? Number.NaN,
  );
  figure(
    'counting_seconds',
    'Time that the counters cover, from 0 to the last window of two seconds.',
    () => view.countingSeconds() ?? 0,
  );
  gauge(
    'unsupported_services',
    'Always 1: a Service that is not measured on this node, because node-local DNS exempts its address from connection tracking.',
    SERVICE_LABELS,
    () => view.unsupported().map((service) => [serviceLabels(service), 1]),
  );
  gauge(
    'state',
    'Whether this node is measured: 1 for the current state. Unsupported: its data plane keeps flows out of the kernel.',
    ['state'],
    () => STATES.map((state) => [{ state }, state === stateOf(view) ? 1 : 0]),
  );
};
