// SPDX-License-Identifier: Apache-2.0
// Formats of measured traffic in Prometheus: by which metric each is known, what is asked, and what its rows mean. Pure.
// Names of metrics and labels as in the source of each: ztunnel src/proxy/metrics.rs, NetObserv's sample FlowMetrics, OBI's
// documentation of its network metrics (Beyla's are the same with another prefix).
import type { MeasuredFlow, WorkloadFlow, WorkloadRef } from '../traffic/measured.ts';
import { addUp } from '../traffic/measured.ts';
import { NO_SERVICE, ZONE_UNKNOWN } from '../traffic/route.ts';
import type { LabelledRow } from './prometheus-answer.ts';

type Labels = LabelledRow['labels'];

/** One row of an answer as what it says. */
export type FormatRow =
  | { readonly kind: 'service'; readonly flow: MeasuredFlow }
  | { readonly kind: 'workload'; readonly flow: WorkloadFlow };

interface FormatQuery {
  /** `rate` of this, summed by these labels; `{}` holds the filter. */
  readonly metric: string;
  readonly filter: string;
  readonly by: readonly string[];
  row(labels: Labels, value: number): FormatRow;
}

export interface Format {
  readonly name: string;
  /** Its presence shows the format. */
  readonly metric: string;
  readonly queries: readonly FormatQuery[];
  /** What its figures lack, in sentences. */
  readonly notes: readonly string[];
}

const PAIR = ['source_zone', 'destination_zone'] as const;

const zones = (labels: Labels, from: string, to: string): Pick<MeasuredFlow, 'source' | 'destination'> => ({
  source: labels[from] ?? ZONE_UNKNOWN,
  destination: labels[to] ?? ZONE_UNKNOWN,
});

const serviceFlow = (
  service: string,
  pair: Pick<MeasuredFlow, 'source' | 'destination'>,
  rates: Partial<Pick<MeasuredFlow, 'connections' | 'requestBytes' | 'responseBytes'>>,
): FormatRow => ({
  kind: 'service',
  flow: { service, ...pair, connections: 0, requestBytes: 0, responseBytes: 0, ...rates },
});

const meterService = ({ service_namespace: namespace = '', service_name: name = '' }: Labels): string =>
  namespace === '' ? name : `${namespace}/${name}`;

const METER_LABELS = ['service_namespace', 'service_name', ...PAIR];

const METER: Format = {
  name: 'traffic-meter',
  metric: 'topology_traffic_bytes_total',
  notes: [],
  queries: [
    {
      metric: 'topology_traffic_bytes_total',
      filter: '',
      by: [...METER_LABELS, 'direction'],
      row: (labels, value) =>
        serviceFlow(
          meterService(labels),
          zones(labels, ...PAIR),
          labels['direction'] === 'response' ? { responseBytes: value } : { requestBytes: value },
        ),
    },
    {
      metric: 'topology_traffic_connections_total',
      filter: '',
      by: METER_LABELS,
      row: (labels, value) => serviceFlow(meterService(labels), zones(labels, ...PAIR), { connections: value }),
    },
  ],
};

/** What ztunnel writes for what it does not know. */
const isUnknown = (text: string | undefined): boolean => text === undefined || text === 'unknown';

const istioService = ({ destination_service_namespace: namespace, destination_service_name: name }: Labels): string =>
  isUnknown(namespace) || isUnknown(name) ? NO_SERVICE : `${namespace ?? ''}/${name ?? ''}`;

const istio = (metric: string, rates: (value: number) => Parameters<typeof serviceFlow>[2]): FormatQuery => ({
  metric,
  // Both ends of a flow report it.
  filter: 'reporter="source"',
  by: ['destination_service_namespace', 'destination_service_name', ...PAIR],
  row: (labels, value) => serviceFlow(istioService(labels), zones(labels, ...PAIR), rates(value)),
});

const ISTIO: Format = {
  name: 'Istio ambient',
  metric: 'istio_tcp_sent_bytes_total',
  notes: ['Istio sees the Pods of its mesh only; other cross-zone traffic is not in these figures'],
  queries: [
    // Sent and received are named from the server's side: sent is the answer.
    istio('istio_tcp_sent_bytes_total', (value) => ({ responseBytes: value })),
    istio('istio_tcp_received_bytes_total', (value) => ({ requestBytes: value })),
    istio('istio_tcp_connections_opened_total', (value) => ({ connections: value })),
  ],
};

const workload = (labels: Labels, namespace: string, kind: string, name: string): WorkloadRef | undefined => {
  const { [namespace]: space, [kind]: owner = '', [name]: own } = labels;
  return space === undefined || own === undefined ? undefined : { namespace: space, kind: owner, name: own };
};

const BY_WORKLOAD =
  'bytes are by workload: a flow between two workloads that both are behind Services is counted as "unknown"';

const NETOBSERV: Format = {
  name: 'NetObserv',
  metric: 'netobserv_az_aware_workloads_traffic_bytes_total',
  notes: [BY_WORKLOAD],
  queries: [
    {
      metric: 'netobserv_az_aware_workloads_traffic_bytes_total',
      filter: 'DstK8S_OwnerType!="Service",SrcK8S_OwnerType!="Service"',
      by: ['Src', 'Dst'].flatMap((end) =>
        ['Namespace', 'OwnerName', 'OwnerType', 'Zone'].map((part) => `${end}K8S_${part}`),
      ),
      row: (labels, bytes) => ({
        kind: 'workload',
        flow: {
          from: workload(labels, 'SrcK8S_Namespace', 'SrcK8S_OwnerType', 'SrcK8S_OwnerName'),
          to: workload(labels, 'DstK8S_Namespace', 'DstK8S_OwnerType', 'DstK8S_OwnerName'),
          ...zones(labels, 'SrcK8S_Zone', 'DstK8S_Zone'),
          bytes,
          direction: undefined,
        },
      }),
    },
  ],
};

const direction = (text: string | undefined): WorkloadFlow['direction'] =>
  text === 'request' || text === 'response' ? text : undefined;

const obi = (name: string, prefix: string): Format => ({
  name,
  metric: `${prefix}_network_flow_bytes_total`,
  notes: [BY_WORKLOAD],
  queries: [
    {
      metric: `${prefix}_network_flow_bytes_total`,
      // A flow to a Service has two series: one to its address, without a zone, and one to the Pod.
      filter: 'k8s_dst_owner_type!="Service",k8s_src_owner_type!="Service",src_zone!="",dst_zone!=""',
      by: ['src', 'dst']
        .flatMap((end) => [`k8s_${end}_namespace`, `k8s_${end}_owner_name`, `k8s_${end}_owner_type`, `${end}_zone`])
        .concat('direction'),
      row: (labels, bytes) => ({
        kind: 'workload',
        flow: {
          from: workload(labels, 'k8s_src_namespace', 'k8s_src_owner_type', 'k8s_src_owner_name'),
          to: workload(labels, 'k8s_dst_namespace', 'k8s_dst_owner_type', 'k8s_dst_owner_name'),
          ...zones(labels, 'src_zone', 'dst_zone'),
          bytes,
          direction: direction(labels['direction']),
        },
      }),
    },
  ],
});

/** In the order in which they are taken where several are there: what knows Services and sees all of the kernel first. */
export const FORMATS: readonly Format[] = [METER, ISTIO, NETOBSERV, obi('OBI', 'obi'), obi('Beyla', 'beyla')];

/** Which of the formats have series. */
export const detectQuery = (): string =>
  `count by (__name__) ({__name__=~"${FORMATS.map(({ metric }) => metric).join('|')}"})`;

export const formatOf = (rows: readonly LabelledRow[]): Format | undefined => {
  const present = new Set(rows.map(({ labels }) => labels['__name__']));
  return FORMATS.find(({ metric }) => present.has(metric));
};

/** Averages over the window, a second. */
export const promqlOf = ({ metric, filter, by }: FormatQuery, seconds: number): string =>
  `sum by (${by.join(', ')}) (rate(${metric}{${filter}}[${seconds}s]))`;

/** Flows by Service, added up; those by workload as they come. */
export const flowsOf = (
  rows: readonly FormatRow[],
  countsConnections: boolean,
): { readonly flows: readonly MeasuredFlow[]; readonly workloads: readonly WorkloadFlow[] } => ({
  flows: addUp(
    rows.flatMap((row) =>
      row.kind === 'service' ? [countsConnections ? row.flow : { ...row.flow, connections: null }] : [],
    ),
  ),
  workloads: rows.flatMap((row) => (row.kind === 'workload' ? [row.flow] : [])),
});
