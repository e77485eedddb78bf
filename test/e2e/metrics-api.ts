// A metrics API in a bed: serves metrics.k8s.io/v1beta1 as metrics-server does, through the real aggregator, with numbers that a test sets.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { parseLabelSelector } from '../sandbox/selectors.ts';
import { base64Of, exposeProgram, serviceHost } from './bed/access.ts';
import type { Bed } from './bed/index.ts';
import { controlPlaneAddresses, waitFor } from './bed/machine.ts';

/** What one Pod used, averaged over a window. */
export interface PodReading {
  readonly namespace: string;
  readonly pod: string;
  /** Labels of the Pod, for label selectors. Default: none. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Cores: of the only container, or of each by name. */
  readonly cores: number | Readonly<Record<string, number>>;
  /** End of the window, seconds since 1970; what is behind the second is cut off, as metrics-server does. */
  readonly sampledAt: number;
  /** Length of the window, seconds. */
  readonly window: number;
}

export interface MetricsApi {
  /** Has seen every Pod that there is now, each at a tenth of a core. Of no effect where `readings` is given. */
  measure(): Promise<void>;
  /** Whether requests for metrics are answered with 503 from now on. */
  unavailable: boolean;
}

const GROUP = 'metrics.k8s.io';
const GROUP_VERSION = `${GROUP}/v1beta1`;
const ROOT = `/apis/${GROUP_VERSION}`;
const PODS = new RegExp(`^${ROOT}(?:/namespaces/([^/]+))?/pods(?:/([^/]+))?$`, 'u');
const PORT = 10_443;
const SERVICE = { namespace: 'kube-system', name: 'metrics-server' };
const DISCOVERY = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: GROUP_VERSION,
  resources: [{ name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] }],
};

/** Seconds as RFC 3339 without a fraction, the precision of metav1.Time. */
const timestampOf = (seconds: number): string => `${new Date(Math.floor(seconds) * 1000).toISOString().slice(0, 19)}Z`;

/** Seconds as a Go duration, to the millisecond: `15.091s`, `1m0s`. */
const durationOf = (seconds: number): string => {
  const minutes = Math.floor(seconds / 60);
  const rest = `${Number((seconds - minutes * 60).toFixed(3))}s`;
  return minutes === 0 ? rest : `${minutes}m${rest}`;
};

const podMetricsOf = ({ pod, namespace, labels = {}, cores, sampledAt, window }: PodReading): object => ({
  metadata: { name: pod, namespace, labels, creationTimestamp: timestampOf(sampledAt) },
  timestamp: timestampOf(sampledAt),
  window: durationOf(window),
  // metrics-server answers in nanocores and kibibytes.
  containers: Object.entries(typeof cores === 'number' ? { main: cores } : cores).map(([name, used]) => ({
    name,
    usage: { cpu: `${Math.round(used * 1e9)}n`, memory: '65536Ki' },
  })),
});

/** Code and body of an answer. */
type Answer = readonly [code: number, body: object];
const failure = (code: number, reason: string, message: string): Answer => [
  code,
  { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code },
];

const answerTo = (url: URL, readings: (namespace?: string) => Iterable<PodReading>): Answer => {
  if (url.pathname === ROOT) return [200, DISCOVERY];
  const path = PODS.exec(url.pathname);
  if (path === null) return failure(404, 'NotFound', 'the server could not find the requested resource');
  const [, namespace, name] = path;
  const here = [...readings(namespace)].filter((one) => namespace === undefined || one.namespace === namespace);
  if (name !== undefined) {
    const found = here.find(({ pod }) => pod === name);
    if (found === undefined) return failure(404, 'NotFound', `podmetrics.${GROUP} "${namespace}/${name}" not found`);
    return [200, { kind: 'PodMetrics', apiVersion: GROUP_VERSION, ...podMetricsOf(found) }];
  }
  const matches = parseLabelSelector(url.searchParams.get('labelSelector') ?? undefined);
  // Items of a list come without apiVersion and kind.
  const items = here.filter(({ labels }) => matches(labels ?? {})).map(podMetricsOf);
  return [200, { kind: 'PodMetricsList', apiVersion: GROUP_VERSION, metadata: {}, items }];
};

/**
 * Starts it, registers it, and returns when `kubectl top pods` would work: about a second. One per bed. `readings` is asked for every
 * request, with the namespace that it is about, and may give others too. Default: what `measure` saw.
 */
export const startMetricsApi = async (
  bed: Bed,
  { readings }: { readonly readings?: (namespace?: string) => Iterable<PodReading> } = {},
): Promise<MetricsApi> => {
  let seen: readonly PodReading[] = [];
  const pair = await bed.pki.serving('metrics-api', [serviceHost(SERVICE)]);
  const server = createServer(
    {
      cert: readFileSync(pair.certificate),
      key: readFileSync(pair.key),
      // The authority whose clients are believed when they say who asks.
      ca: readFileSync(bed.pki.frontProxyAuthority.certificate),
      requestCert: true,
      // Refused with an answer that says why, not with a broken connection.
      rejectUnauthorized: false,
    },
    ({ url = '', socket }, response) => {
      const asked = new URL(url, 'https://metrics');
      const allowed = (socket as TLSSocket).authorized;
      const [code, body] = !allowed
        ? failure(401, 'Unauthorized', 'only the aggregator may ask')
        : api.unavailable && PODS.test(asked.pathname)
          ? failure(503, 'ServiceUnavailable', 'the test wants it so')
          : answerTo(asked, readings ?? (() => seen));
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    },
  );
  server.listen(PORT, controlPlaneAddresses.ipv4);
  await once(server, 'listening');
  await exposeProgram(bed.api, { ...SERVICE, targetPort: PORT });
  const api: MetricsApi = {
    unavailable: false,
    async measure() {
      const pods = await bed.api.list('/api/v1/pods');
      const numbers = { cores: 0.1, sampledAt: Date.now() / 1000, window: 15 };
      seen = pods.map(({ metadata: { namespace = '', name, labels = {} } }) => ({
        namespace,
        pod: name,
        labels,
        ...numbers,
      }));
    },
  };
  const priorities = { groupPriorityMinimum: 100, versionPriority: 100 };
  const caBundle = base64Of(bed.pki.authority.certificate);
  await bed.api.create('/apis/apiregistration.k8s.io/v1/apiservices', {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `v1beta1.${GROUP}` },
    spec: { group: GROUP, version: 'v1beta1', ...priorities, service: SERVICE, caBundle },
  });
  const answer = (): Promise<unknown> => bed.api.get(`${ROOT}/namespaces/default/pods`);
  await waitFor('the metrics API behind the aggregator', answer);
  return api;
};
