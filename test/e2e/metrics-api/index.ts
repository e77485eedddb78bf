// A metrics API in a bed: serves metrics.k8s.io/v1beta1 through the real aggregator, with numbers that a test sets.
import { base64Of, exposeProgram, serviceHost } from '../bed/access.ts';
import type { Bed } from '../bed/index.ts';
import { controlPlaneAddresses, waitFor } from '../bed/machine.ts';
import type { PodReading } from './readings.ts';
import { startMetricsServer } from './server.ts';
import type { MetricsFault, MetricsRequest } from './server.ts';

export type { MetricsFault, MetricsRequest, PodReading };

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
