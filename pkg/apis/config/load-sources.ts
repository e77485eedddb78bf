// Types and schema of the sources of load: `metricSources` of the flow-controller's configuration file.
import * as Type from '@sinclair/typebox';
import type { CrossFieldProblem } from './load.ts';
import { flag, mapOf, object, oneOf, optional, text, whole } from '../schema.ts';

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

const label = (name: string, description: string) =>
  text(`${description} Default \`${name}\`.`, { maxLength: 253, pattern: '^[a-zA-Z_][a-zA-Z0-9_]*$' });

const promql = (description: string) => Type.Optional(text(description, { maxLength: 16_384 }));

const tls = object(
  optional({
    caFile: text('PEM of the authorities that may sign the server; default: those of the system.'),
    serverName: text("Name in the server's certificate; default: the host of the URL.", { maxLength: 253 }),
    certFile: text('PEM of the client certificate; needs keyFile.'),
    keyFile: text('PEM of the key of the client certificate.'),
  }),
  { description: 'Files are read again when they change.' },
);

const headers = mapOf<string>(
  { type: 'string', maxLength: 1_024, pattern: '^[\\x20-\\x7e]*$' },
  {
    description: 'Headers of every query, for example `X-Scope-OrgID`; nothing secret.',
    propertyNames: { pattern: '^[A-Za-z][A-Za-z0-9-]{0,63}$' },
  },
);

const labels = object(
  optional({
    namespace: label(PROMETHEUS_DEFAULTS.labels.namespace, 'Namespace of a Pod.'),
    pod: label(PROMETHEUS_DEFAULTS.labels.pod, 'Name of a Pod.'),
    sourceZone: label(PROMETHEUS_DEFAULTS.labels.sourceZone, 'Zone of the clients.'),
    destinationZone: label(PROMETHEUS_DEFAULTS.labels.destinationZone, 'Zone of the endpoints.'),
  }),
  { description: 'Labels that identify the object of a sample.' },
);

/** One type of source: its own fields beside those of all. */
const source = <const T extends string, P extends Type.TProperties>(type: T, properties: P) =>
  object({
    name: text('FlowPolicies, status, events and metrics refer to it by this name.', {
      maxLength: 63,
      pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
    }),
    type: Type.Literal(type, { description: `\`${type}\`.` }),
    timeoutSeconds: whole(1, 60, 'Timeout of one request.', 8),
    cacheSeconds: whole(0, 300, 'An answer younger than this also serves other Services.', 10),
    ...properties,
  });

const url = text('`http(s)://host[:port][/prefix]`; `/api/v1/query` is appended.', {
  maxLength: 2_048,
  pattern: '^https?://[^/?#@\\s]+(?:/[^?#\\s]*)?$',
});

/** How a Prometheus is asked. */
const asked = optional({
  method: oneOf(['GET', 'POST'], {
    description: 'How queries are sent. Default `POST`, and `GET` where the server refuses that.',
  }),
  tls,
  bearerTokenFile: text('File with a bearer token, read again when it changes.'),
  headers,
  windowSeconds: whole(1, 3_600, `Window over which queries average. Default ${PROMETHEUS_DEFAULTS.windowSeconds}.`),
  lookbackSeconds: whole(
    1,
    300,
    'Samples older than this are not found by instant selectors, where the server knows ' +
      `\`lookback_delta\`. Default ${PROMETHEUS_DEFAULTS.lookbackSeconds}.`,
  ),
  maxResponseBytes: whole(
    1_024,
    268_435_456,
    'Largest answer that is read; it may have one value or key for every 8 bytes of this. Default 8388608 (8 MiB).',
  ),
  maxConcurrentQueries: whole(1, 100, `Queries at the same time. Default ${PROMETHEUS_DEFAULTS.maxConcurrentQueries}.`),
});

const resourceMetrics = source('ResourceMetrics', {});

const prometheus = source('Prometheus', {
  url,
  ...asked,
  query: promql(
    'PromQL for Services whose FlowPolicy has none: one sample per Pod, or per pair of zones. ' +
      '`$namespace` and `$service` stand for the Service.',
  ),
  sampleTimeQuery: promql(
    'PromQL with the labels of `query` that returns when each sample was taken, seconds since 1970.',
  ),
  policyQueries: Type.Optional(flag('Whether FlowPolicies may have their own queries. Default `true`.')),
  labels: Type.Optional(labels),
});

const trafficMeter = source('TrafficMeter', {
  url: Type.Optional(url),
  ...asked,
  count: Type.Optional(
    oneOf(['Connections', 'Bytes'], {
      description: 'The unit of demand; the CPU that one takes is learned from the Pods. Default `Connections`.',
    }),
  ),
  meterNamespace: Type.Optional(
    text('Without url: namespace of the meters. Default `topology-traffic-meter`.', { maxLength: 63 }),
  ),
});

/** Instant queries to Prometheus, or to whatever answers `/api/v1/query` as it does. */
export type PrometheusSourceConfiguration = Type.Static<typeof prometheus>;

/** Traffic-meters: read one by one, or with a url from a Prometheus that scrapes them. */
export type TrafficMeterSourceConfiguration = Type.Static<typeof trafficMeter>;

export type MetricSourceConfiguration =
  Type.Static<typeof resourceMetrics> | PrometheusSourceConfiguration | TrafficMeterSourceConfiguration;

/** CPU of Pods from metrics.k8s.io/v1beta1, the result of queries, or what traffic-meters count. */
export const METRIC_SOURCE_SCHEMAS = [resourceMetrics, prometheus, trafficMeter];

export const METRIC_SOURCES_SCHEMA = Type.Unsafe<MetricSourceConfiguration[]>({
  type: 'array',
  items: { type: 'object', discriminator: { propertyName: 'type' }, oneOf: METRIC_SOURCE_SCHEMAS },
  minItems: 1,
  default: [{ name: RESOURCE_METRICS, type: 'ResourceMetrics' }],
  description:
    'Where load comes from; the first is the default of Services whose FlowPolicy names none. ' +
    'The fields of an item are in metric-sources.md.',
});

type Problem = Omit<CrossFieldProblem, 'path'> & { readonly path: readonly string[] };

/** What authenticates or frames a request is not for a list of headers. */
const RESERVED = /^(?:authorization|cookie|host|connection|upgrade|expect|te|(?:content|transfer|proxy|accept)-.*)$/iu;

/** What the schema cannot say of one source. */
const problemsOf = (configured: MetricSourceConfiguration): Problem[] => {
  const problems: Problem[] = [];
  const check = (isRight: boolean, message: string, ...path: string[]): void => {
    if (!isRight) problems.push({ path, message });
  };
  if (configured.type === 'ResourceMetrics') return problems;
  check(configured.name !== RESOURCE_METRICS, `is ${RESOURCE_METRICS}, the name of the metrics API.`, 'name');
  if (configured.type === 'Prometheus') {
    const { sampleTimeQuery, query, policyQueries } = configured;
    check(query !== undefined || sampleTimeQuery === undefined, 'belongs to query, which is unset.', 'sampleTimeQuery');
    check(query !== undefined || policyQueries !== false, 'is required where policyQueries is false.', 'query');
  }
  const { url: address, tls: secured, bearerTokenFile, headers: given = {} } = configured;
  if (address === undefined) {
    for (const field of Object.keys(asked))
      check(!Object.hasOwn(configured, field), 'has no effect without url.', field);
    return problems;
  }
  const server = URL.canParse(address) ? new URL(address) : undefined;
  check(server !== undefined, `is ${JSON.stringify(address)}, which is not a URL.`, 'url');
  if (server?.protocol === 'http:') {
    // A token is for the server alone: on the way there, only TLS or the own host's loopback keep it so.
    const safe = bearerTokenFile === undefined || /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/u.test(server.hostname);
    check(safe, 'would be sent unencrypted: the url is not https.', 'bearerTokenFile');
    check(secured === undefined, 'has no effect: the url is not https.', 'tls');
  }
  for (const name of Object.keys(given)) check(!RESERVED.test(name), 'is not for this list.', 'headers', name);
  const { certFile, keyFile } = secured ?? {};
  const missing = certFile === undefined ? 'certFile' : 'keyFile';
  const both = (certFile === undefined) === (keyFile === undefined);
  check(both, 'is required: certFile and keyFile belong together.', 'tls', missing);
  return problems;
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
