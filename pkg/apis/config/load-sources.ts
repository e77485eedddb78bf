// Types and schema of the sources of load: `metricSources` of the flow-controller's configuration file.
import type { Static } from '@sinclair/typebox';
import * as Type from '@sinclair/typebox';
import type { CrossFieldProblem } from './load.ts';
import { flag, mapOf, object, oneOf, text, whole } from '../schema.ts';

/** Name of the source that is always there: the metrics API of the cluster. */
export const RESOURCE_METRICS = 'metrics.k8s.io';

/** What a Prometheus source takes that leaves fields out. */
export const PROMETHEUS_DEFAULTS = {
  method: 'POST',
  windowSeconds: 60,
  lookbackSeconds: 120,
  maxResponseBytes: 8 * 1024 * 1024,
  maxConcurrentQueries: 8,
  policyQueries: true,
  labels: { namespace: 'namespace', pod: 'pod', sourceZone: 'source_zone', destinationZone: 'destination_zone' },
} as const;

const DEFAULTS = PROMETHEUS_DEFAULTS;

const label = (name: string, description: string) =>
  Type.Optional(text(`${description} Default \`${name}\`.`, { maxLength: 253, pattern: '^[a-zA-Z_][a-zA-Z0-9_]*$' }));

const promql = (description: string) => Type.Optional(text(description, { maxLength: 16_384 }));

const file = (description: string) => Type.Optional(text(description));

const tls = object(
  {
    caFile: file('PEM of the authorities that may sign the server; default: those of the system.'),
    serverName: Type.Optional(
      text("Name in the server's certificate; default: the host of the URL.", { maxLength: 253 }),
    ),
    certFile: file('PEM of the client certificate; needs keyFile.'),
    keyFile: file('PEM of the key of the client certificate.'),
  },
  { description: 'Prometheus: TLS. Files are read again when they change.' },
);

const headers = mapOf<string>(
  { type: 'string', maxLength: 1_024, pattern: '^[\\x20-\\x7e]*$' },
  {
    description: 'Prometheus: headers of every query, for example `X-Scope-OrgID`; nothing secret.',
    propertyNames: { pattern: '^[A-Za-z][A-Za-z0-9-]{0,63}$' },
  },
);

const labels = object(
  {
    namespace: label(DEFAULTS.labels.namespace, 'Namespace of a Pod.'),
    pod: label(DEFAULTS.labels.pod, 'Name of a Pod.'),
    sourceZone: label(DEFAULTS.labels.sourceZone, 'Zone of the clients.'),
    destinationZone: label(DEFAULTS.labels.destinationZone, 'Zone of the endpoints.'),
  },
  { description: 'Prometheus: labels that identify the object of a sample.' },
);

const timeoutSeconds = whole(1, 60, 'Timeout of one request.', { default: 8 });

const common = {
  name: text('FlowPolicies, status, events and metrics refer to it by this name.', {
    maxLength: 63,
    pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
  }),
  type: oneOf(['ResourceMetrics', 'Prometheus', 'TrafficMeter'], {
    description:
      '`ResourceMetrics`: CPU of Pods from metrics.k8s.io; `Prometheus`: the result of a query; `TrafficMeter`: what traffic-meters count.',
  }),
  timeoutSeconds,
  cacheSeconds: whole(0, 300, 'An answer younger than this also serves other Services.', { default: 10 }),
};

const url = text('Prometheus, required: `http(s)://host[:port][/prefix]`; `/api/v1/query` is appended.', {
  maxLength: 2_048,
  pattern: '^https?://[^/?#@\\s]+(?:/[^?#\\s]*)?$',
});

/** How a Prometheus is reached. */
const reached = {
  method: Type.Optional(
    oneOf(['GET', 'POST'], {
      description: 'Prometheus: how queries are sent. Default `POST`, and `GET` where the server refuses that.',
    }),
  ),
  tls: Type.Optional(tls),
  bearerTokenFile: file('Prometheus: file with a bearer token, read again when it changes.'),
  headers: Type.Optional(headers),
};

/** A Prometheus that is asked by something else than a source of load. */
const prometheusServerSchema = (description: string) => object({ url, timeoutSeconds, ...reached }, { description });

type PrometheusServerConfiguration = Static<ReturnType<typeof prometheusServerSchema>>;

const source = object({
  ...common,
  url: Type.Optional(url),
  ...reached,
  query: promql(
    'Prometheus: PromQL for Services whose FlowPolicy has none: one sample per Pod, or per pair of zones. ' +
      '`$namespace` and `$service` stand for the Service.',
  ),
  sampleTimeQuery: promql(
    'Prometheus: PromQL with the labels of `query` that returns when each sample was taken, seconds since 1970.',
  ),
  windowSeconds: Type.Optional(
    whole(1, 3_600, `Prometheus: window over which queries average. Default ${DEFAULTS.windowSeconds}.`),
  ),
  lookbackSeconds: Type.Optional(
    whole(
      1,
      300,
      'Prometheus: samples older than this are not found by instant selectors, where the server knows ' +
        `\`lookback_delta\`. Default ${DEFAULTS.lookbackSeconds}.`,
    ),
  ),
  maxResponseBytes: Type.Optional(
    whole(
      1_024,
      268_435_456,
      'Prometheus: largest answer that is read; it may have one value or key for every 8 bytes of this. Default 8388608 (8 MiB).',
    ),
  ),
  maxConcurrentQueries: Type.Optional(
    whole(1, 100, `Prometheus: queries at the same time. Default ${DEFAULTS.maxConcurrentQueries}.`),
  ),
  policyQueries: Type.Optional(flag('Prometheus: whether FlowPolicies may have their own queries. Default `true`.')),
  labels: Type.Optional(labels),
  count: Type.Optional(
    oneOf(['Connections', 'Bytes'], {
      description:
        'TrafficMeter: the unit of demand; the CPU that one takes is learned from the Pods. Default `Connections`.',
    }),
  ),
  meterNamespace: Type.Optional(
    text('TrafficMeter without url: namespace of the meters. Default `topology-traffic-meter`.', { maxLength: 63 }),
  ),
});

type SourceConfiguration = Static<typeof source>;

/** CPU of Pods from metrics.k8s.io/v1beta1, which metrics-server or prometheus-adapter serve. */
export type ResourceMetricsSourceConfiguration = Pick<
  SourceConfiguration,
  'name' | 'timeoutSeconds' | 'cacheSeconds'
> & {
  type: 'ResourceMetrics';
};

/** Instant queries to Prometheus, or to whatever answers `/api/v1/query` as it does. */
export type PrometheusSourceConfiguration = Omit<SourceConfiguration, 'type' | 'url' | 'count' | 'meterNamespace'> & {
  type: 'Prometheus';
  url: string;
};

/** Traffic-meters: read one by one, or with a url from a Prometheus that scrapes them. */
export type TrafficMeterSourceConfiguration = Omit<
  SourceConfiguration,
  'type' | 'query' | 'sampleTimeQuery' | 'policyQueries' | 'labels'
> & {
  type: 'TrafficMeter';
};

export type MetricSourceConfiguration =
  ResourceMetricsSourceConfiguration | PrometheusSourceConfiguration | TrafficMeterSourceConfiguration;

export const METRIC_SOURCES_SCHEMA = Type.Unsafe<MetricSourceConfiguration[]>({
  type: 'array',
  items: source,
  minItems: 1,
  default: [{ name: RESOURCE_METRICS, type: 'ResourceMetrics' }],
  description:
    'Where load comes from; the first is the default of Services whose FlowPolicy names none. ' +
    'The fields of an item are in metric-sources.md.',
});

const COMMON: ReadonlySet<string> = new Set(Object.keys(common));

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/u;

type Problem = Omit<CrossFieldProblem, 'path'> & { readonly path: readonly string[] };

const isUrl = (address: string): boolean => URL.canParse(address);

/** A token is for the server alone: on the way there, only TLS or the own host's loopback keep it so. */
const sendsTokenInTheClear = (configured: PrometheusServerConfiguration): boolean => {
  const { protocol, hostname } = new URL(configured.url);
  return configured.bearerTokenFile !== undefined && protocol === 'http:' && !LOOPBACK.test(hostname);
};

const urlProblems = (configured: PrometheusServerConfiguration): Problem[] => {
  const { url: address, tls: secured } = configured as Partial<PrometheusServerConfiguration>;
  if (address === undefined) return [{ path: ['url'], message: 'is required for type Prometheus.' }];
  if (!isUrl(address)) return [{ path: ['url'], message: `is ${JSON.stringify(address)}, which is not a URL.` }];
  if (sendsTokenInTheClear(configured)) {
    return [{ path: ['bearerTokenFile'], message: 'would be sent unencrypted: the url is not https.' }];
  }
  if (secured !== undefined && address.startsWith('http:')) {
    return [{ path: ['tls'], message: 'has no effect: the url is not https.' }];
  }
  return [];
};

/** What authenticates or frames a request is not for a list of headers. */
const RESERVED = /^(?:authorization|cookie|host|connection|upgrade|expect|te|(?:content|transfer|proxy|accept)-.*)$/iu;

const headerProblems = ({ headers: given = {} }: PrometheusServerConfiguration): Problem[] =>
  Object.keys(given)
    .filter((name) => RESERVED.test(name))
    .map((name) => ({ path: ['headers', name], message: 'is not for this list.' }));

/** What the schema of a server cannot say. */
const prometheusServerProblems = (configured: PrometheusServerConfiguration): Problem[] => {
  const problems = [...urlProblems(configured), ...headerProblems(configured)];
  const { certFile, keyFile } = configured.tls ?? {};
  if ((certFile === undefined) === (keyFile === undefined)) return problems;
  const missing = certFile === undefined ? 'certFile' : 'keyFile';
  return [...problems, { path: ['tls', missing], message: 'is required: certFile and keyFile belong together.' }];
};

const prometheusProblems = (configured: PrometheusSourceConfiguration): Problem[] => {
  const { sampleTimeQuery, query } = configured;
  const problems = prometheusServerProblems(configured);
  if (sampleTimeQuery !== undefined && query === undefined) {
    problems.push({ path: ['sampleTimeQuery'], message: 'belongs to query, which is missing.' });
  }
  if (configured.policyQueries === false && query === undefined) {
    problems.push({ path: ['query'], message: 'is required where policyQueries is false.' });
  }
  if (configured.name === RESOURCE_METRICS) {
    problems.push({ path: ['name'], message: `is ${RESOURCE_METRICS}, the name of the metrics API.` });
  }
  return problems;
};

const OF_METERS: ReadonlySet<string> = new Set(['count', 'meterNamespace']);
/** What a query says is fixed where meters are asked about. */
const FIXED = ['query', 'sampleTimeQuery', 'policyQueries', 'labels'];

const meterProblems = (configured: TrafficMeterSourceConfiguration): Problem[] => {
  const fixed = FIXED.filter((field) => Object.hasOwn(configured, field)).map((field) => ({
    path: [field],
    message: 'is for type Prometheus only.',
  }));
  const { url: address } = configured;
  if (address !== undefined)
    return [...fixed, ...prometheusProblems({ ...configured, url: address, type: 'Prometheus' })];
  const needless = Object.keys(configured)
    .filter((field) => !COMMON.has(field) && !OF_METERS.has(field) && !FIXED.includes(field))
    .map((field) => ({ path: [field], message: 'has no effect without url.' }));
  return [...fixed, ...needless];
};

const problemsOf = (configured: MetricSourceConfiguration): Problem[] => {
  if (configured.type === 'TrafficMeter') return meterProblems(configured);
  const strangers =
    configured.type === 'Prometheus' ? [...OF_METERS] : Object.keys(configured).filter((field) => !COMMON.has(field));
  const others = strangers
    .filter((field) => Object.hasOwn(configured, field))
    .map((field) => ({
      path: [field],
      message: `is for type ${OF_METERS.has(field) ? 'TrafficMeter' : 'Prometheus'} only.`,
    }));
  return configured.type === 'Prometheus' ? [...prometheusProblems(configured), ...others] : others;
};

/** What the schema cannot say; `field` is the name of the list. */
export const metricSourcesProblems = (
  field: string,
  sources: readonly MetricSourceConfiguration[],
): CrossFieldProblem[] =>
  sources.flatMap((configured, index) => {
    const at = (problem: Problem): CrossFieldProblem => ({ ...problem, path: [field, index, ...problem.path] });
    const first = sources.findIndex(({ name }) => name === configured.name);
    const message = `is ${JSON.stringify(configured.name)}, as that of ${field}[${first}].`;
    return [...(first === index ? [] : [at({ path: ['name'], message })]), ...problemsOf(configured).map(at)];
  });
