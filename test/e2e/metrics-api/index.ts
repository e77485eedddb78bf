// A metrics API in a bed: serves metrics.k8s.io/v1beta1 through the real aggregator, with numbers that a test sets.
import { base64Of, exposeProgram, serviceHost } from '../bed/access.ts';
import type { Bed } from '../bed/index.ts';
import { controlPlaneAddresses, waitFor } from '../bed/machine.ts';
import { startMetricsServer } from './server.ts';
import type { MetricsFault, MetricsRequest } from './server.ts';

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

export type { MetricsFault, MetricsRequest };

export interface MetricsApiOptions {
  /**
   * Asked for every request, with the namespace that it is about, so that numbers can come from Pods that run; others may be among
   * them. Default: what `set` was given.
   */
  readonly readings?: (namespace?: string) => Iterable<PodReading>;
  /** Where it listens in the control plane's namespace. Default 10443. */
  readonly port?: number;
}

export interface MetricsApi {
  /** Sets what is known of Pods; a Pod's reading replaces the one before. Of no effect where `readings` is given. */
  set(...readings: readonly PodReading[]): void;
  /** Forgets a Pod, or all. */
  forget(namespace?: string, pod?: string): void;
  /** Requests for metrics that arrived, the oldest first. */
  readonly requests: readonly MetricsRequest[];
  /** What requests for metrics meet from now on; undefined: a good answer. */
  fault: MetricsFault | undefined;
  /** Makes the group known to the API server and waits until it can be asked. Done by the start. */
  register(): Promise<void>;
  /** Makes the group unknown, as in a cluster without metrics-server; the server goes on. */
  unregister(): Promise<void>;
  /** Ends the server: the group stays known, and the API server answers 503. */
  stop(): Promise<void>;
}

const SERVICE = { namespace: 'kube-system', name: 'metrics-server' };
const API_SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
const API_SERVICE = 'v1beta1.metrics.k8s.io';
const PODS = '/apis/metrics.k8s.io/v1beta1/namespaces/default/pods';

const apiServiceOf = (bed: Bed): object => ({
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: API_SERVICE },
  spec: {
    group: 'metrics.k8s.io',
    version: 'v1beta1',
    groupPriorityMinimum: 100,
    versionPriority: 100,
    service: SERVICE,
    caBundle: base64Of(bed.pki.authority.certificate),
  },
});

/** Starts it, registers it, and returns when `kubectl top pods` would work: about a second. One per bed. */
export const startMetricsApi = async (
  bed: Bed,
  { readings, port = 10_443 }: MetricsApiOptions = {},
): Promise<MetricsApi> => {
  const table = new Map<string, PodReading>();
  const server = await startMetricsServer({
    address: controlPlaneAddresses.ipv4,
    port,
    serving: await bed.pki.serving('metrics-api', [serviceHost(SERVICE)]),
    frontProxyAuthority: bed.pki.frontProxyAuthority.certificate,
    readings: readings ?? (() => table.values()),
  });
  await exposeProgram(bed.api, { ...SERVICE, targetPort: port });
  const keyOf = (namespace: string, pod: string): string => `${namespace}/${pod}`;

  const api: MetricsApi = {
    set(...given) {
      for (const reading of given) table.set(keyOf(reading.namespace, reading.pod), reading);
    },
    forget(namespace, pod) {
      if (namespace === undefined || pod === undefined) table.clear();
      else table.delete(keyOf(namespace, pod));
    },
    get requests() {
      return server.requests;
    },
    get fault() {
      return server.fault;
    },
    set fault(fault) {
      server.fault = fault;
    },
    async register() {
      await bed.api.create(API_SERVICES, apiServiceOf(bed));
      await waitFor(
        'the metrics API behind the aggregator',
        () => bed.api.get(PODS),
        () => true,
      );
    },
    async unregister() {
      await bed.api.delete(`${API_SERVICES}/${API_SERVICE}`);
      await waitFor(
        'the metrics API unknown to the API server',
        () => bed.api.get(PODS).then(undefined, (error: Error) => error.message),
        (answer) => typeof answer === 'string' && answer.includes(' 404 '),
      );
    },
    stop: () => server.stop(),
  };
  await api.register();
  return api;
};
