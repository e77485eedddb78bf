// What a metrics API server knows of Pods, and how metrics.k8s.io/v1beta1 writes it down.

/** What one Pod used, averaged over a window. */
export interface PodReading {
  readonly namespace: string;
  readonly pod: string;
  /** Labels of the Pod, for label selectors. Default: none. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Cores: of the only container, or of each by name. */
  readonly cores: number | Readonly<Record<string, number>>;
  /** Of each container. Default 64 MiB. */
  readonly memoryBytes?: number;
  /** End of the window, seconds since 1970; what is behind the second is cut off, as metrics-server does. */
  readonly sampledAt: number;
  /** Length of the window, seconds. */
  readonly window: number;
}

const GROUP_VERSION = 'metrics.k8s.io/v1beta1';

/** Seconds as RFC 3339 without a fraction, the precision of metav1.Time. */
const timestampOf = (seconds: number): string => `${new Date(Math.floor(seconds) * 1000).toISOString().slice(0, 19)}Z`;

/** Seconds as a Go duration, to the millisecond: `15.091s`, `1m0s`. */
const durationOf = (seconds: number): string => {
  const minutes = Math.floor(seconds / 60);
  const rest = `${Number((seconds - minutes * 60).toFixed(3))}s`;
  return minutes === 0 ? rest : `${minutes}m${rest}`;
};

const containersOf = ({ cores, memoryBytes = 64 * 1024 * 1024 }: PodReading): object[] =>
  Object.entries(typeof cores === 'number' ? { main: cores } : cores).map(([name, used]) => ({
    name,
    // metrics-server answers in nanocores and kibibytes.
    usage: { cpu: `${Math.round(used * 1e9)}n`, memory: `${Math.round(memoryBytes / 1024)}Ki` },
  }));

/** A PodMetrics; items of a list come without apiVersion and kind. */
export const podMetricsOf = (reading: PodReading): object => ({
  metadata: {
    name: reading.pod,
    namespace: reading.namespace,
    ...(reading.labels === undefined ? {} : { labels: reading.labels }),
    creationTimestamp: timestampOf(reading.sampledAt),
  },
  timestamp: timestampOf(reading.sampledAt),
  window: durationOf(reading.window),
  containers: containersOf(reading),
});

export const podMetricsListOf = (readings: readonly PodReading[]): object => ({
  kind: 'PodMetricsList',
  apiVersion: GROUP_VERSION,
  metadata: {},
  items: readings.map(podMetricsOf),
});

export const singlePodMetricsOf = (reading: PodReading): object => ({
  kind: 'PodMetrics',
  apiVersion: GROUP_VERSION,
  ...podMetricsOf(reading),
});

/** What discovery says of the group. */
export const DISCOVERY: object = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: GROUP_VERSION,
  resources: [{ name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] }],
};

/** meta/v1 Status of a failure. */
export const statusOf = (code: number, reason: string, message: string): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  code,
});
