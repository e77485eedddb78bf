// Reads from a cluster what a status is judged by; what may not be read is named and left out.
// Tries admission with a slice that is created as a dry run: what comes back has hints if the webhook acts. Nothing is stored.
// How long the serving certificate of a webhook is valid: by its metrics, which hold no secret, else by its Secret.
// Which resources of a cluster a status looks at.
import { YAMLParseError, parse } from 'yaml';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { defined, isFields } from '../../pkg/apis/values.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { COMMANDS, LABEL_SERVICE_NAME, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  EVENTS,
  EXTENSIONS,
  LEASES,
  NAMESPACES,
  PODS,
  SECRETS,
} from '../../pkg/apis/resources.ts';
import { FieldError } from '../../pkg/diagnosis/project/fields.ts';
import type { CollectionName } from '../../pkg/diagnosis/snapshot.ts';
import { type StatusCollector, createStatusCollector } from '../../pkg/diagnosis/status/collect.ts';
import type {
  CertificateFacts,
  ProbeResult,
  RegistrationEntry,
  ServingCertificate,
  StatusEvidence,
  StatusObjects,
  Unseen,
} from '../../pkg/diagnosis/status/evidence.ts';
import { probedNamespace } from '../../pkg/diagnosis/status/findings.ts';
import { CHART_SELECTOR, servicesBehind } from '../../pkg/diagnosis/status/status.ts';
import { ApiError, ConnectionError, isForbidden } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { secretNames } from '../../pkg/webhook/certificates/secrets.ts';
import { UsageError } from './io.ts';
import { SOURCES, type Source, authoritiesOf, certificateIn } from './input/resources.ts';
import { describeProblem, versionIn } from './input/documents.ts';
import { listObjects, readRefusalOf, serverVersion } from './input/cluster.ts';

/** Undefined where it is no YAML. */
export const parseQuietly = (text: string): unknown => {
  try {
    return parse(text, { logLevel: 'silent' }) as unknown;
  } catch (error) {
    if (error instanceof YAMLParseError || error instanceof ReferenceError) return undefined;
    throw error;
  }
};

export interface ProbeOptions {
  readonly client: Pick<Client, 'create'>;
  readonly objects: StatusObjects;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

const NAME = 'topology-status-probe';
const ZONE = 'probe-zone';

/** Ready, with a zone and without hints; the address is one for documentation. */
const sliceFor = (namespace: string): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: NAME,
    namespace,
    labels: { [LABEL_SERVICE_NAME]: NAME, [LABEL_STRATEGY]: 'same-zone' },
  },
  addressType: 'IPv4',
  ports: [],
  endpoints: [{ addresses: ['192.0.2.1'], zone: ZONE, conditions: { ready: true } }],
});

const isHinted = ({ endpoints }: EndpointSlice): boolean =>
  endpoints?.[0]?.hints?.forZones?.some(({ name }) => name === ZONE) ?? false;

/** A webhook that fails, as API servers word it, under `failurePolicy: Fail`. */
const isRefusal = ({ status, message }: ApiError): boolean =>
  status === 500 && message.includes('failed calling webhook');

const failureOf = (error: unknown): Pick<ProbeResult, 'outcome' | 'message'> => {
  if (error instanceof ConnectionError) return { outcome: 'Unknown', message: error.message };
  if (!(error instanceof ApiError)) throw error;
  const { message } = error;
  if (isRefusal(error)) return { outcome: 'Refused', message };
  const needed = error.status === 403 ? 'it needs the right to create endpointslices there, even as a dry run: ' : '';
  return { outcome: 'Unknown', message: `${needed}${message}` };
};

const probeInstallation = async (namespace: string, { client, now, signal }: ProbeOptions): Promise<ProbeResult> => {
  const before = now();
  try {
    const stored = await client.create(ENDPOINT_SLICES, sliceFor(namespace), { dryRun: true }, signal);
    const milliseconds = now() - before;
    return { namespace, outcome: isHinted(stored) ? 'Hinted' : 'NotHinted', milliseconds, message: '' };
  } catch (error) {
    return { namespace, ...failureOf(error) };
  }
};

/** One result where a webhook is registered, else none. */
export const probeAdmission = async (options: ProbeOptions): Promise<ProbeResult[]> => {
  const namespace = probedNamespace(options.objects);
  if (namespace === undefined) return [];
  return [
    namespace === ''
      ? { namespace, outcome: 'Unknown', message: 'no namespace is known that the webhook serves' }
      : await probeInstallation(namespace, options),
  ];
};

/** In a few words. Throws what is neither the server's nor the connection's, and everything once the signal has aborted. */
export const whyNoAnswer = (error: unknown, signal: AbortSignal): string => {
  if (signal.aborted) throw error;
  if (isForbidden(error)) return 'not allowed';
  if (error instanceof ApiError) return `${error.status} ${error.reason}`;
  if (error instanceof ConnectionError || (error instanceof Error && error.name === 'TimeoutError')) return 'no answer';
  throw error;
};

/** A Pod that does not answer the API server's proxy is not worth more. */
const PATIENCE_MS = 5_000;
const SECOND_MS = 1_000;

const METRIC = /^\w*serving_certificate_expiration_timestamp_seconds(?:\{[^}\n]*\})? (\d[\d.e+]*)$/m;

type Ref = { readonly namespace: string; readonly name: string };

const fromMetrics = async (
  client: Client,
  { namespace, name }: Ref,
  signal: AbortSignal,
): Promise<CertificateFacts | undefined> => {
  const path = `/api/v1/namespaces/${namespace}/services/http:${name}:metrics/proxy/metrics`;
  const text = await client.text(path, AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]));
  const seconds = Number(METRIC.exec(text)?.[1] ?? Number.NaN);
  return seconds > 0 ? { notAfter: Math.round(seconds * SECOND_MS), fingerprint: '' } : undefined;
};

/** Takes the certificate out of the answer; nothing else of it is looked at or kept. */
const fromSecret = async (client: Client, ref: Ref, signal: AbortSignal): Promise<CertificateFacts | undefined> => {
  const { data } = await client.get<KubernetesObject & { data?: { 'tls.crt'?: string } }>(SECRETS, ref, signal);
  return certificateIn(Buffer.from(data?.['tls.crt'] ?? '', 'base64').toString('latin1'));
};

const servingCertificate = async (client: Client, service: Ref, signal: AbortSignal): Promise<ServingCertificate> => {
  const { namespace } = service;
  const secret = { namespace, name: secretNames(COMMANDS.endpointSliceWebhook).server };
  const ways = [
    ['the metrics of a Pod', 'get services/proxy', () => fromMetrics(client, service, signal)],
    [`Secret ${secret.name}`, 'get secrets', () => fromSecret(client, secret, signal)],
  ] as const;
  const failed: string[] = [];
  for (const [from, right, look] of ways) {
    try {
      const certificate = await look();
      if (certificate !== undefined) return { namespace, certificate, from, why: '' };
      failed.push(`${from}: no certificate there`);
    } catch (error) {
      failed.push(`${from} (${right}): ${whyNoAnswer(error, signal)}`);
    }
  }
  return { namespace, from: '', why: failed.join('; ') };
};

/** One for each Service that answers as a webhook. */
export const servingCertificates = async (
  client: Client,
  registrations: readonly RegistrationEntry[],
  signal: AbortSignal,
): Promise<ServingCertificate[]> => {
  const found: ServingCertificate[] = [];
  for (const service of servicesBehind(registrations)) found.push(await servingCertificate(client, service, signal));
  return found;
};

/** What is read together, and what it is called where it cannot be seen. */
export interface StatusSource {
  readonly what: string;
  readonly sources: readonly Source[];
}

/** Where the installations are. */
export const DEPLOYED: Source = { resource: DEPLOYMENTS, labelSelector: CHART_SELECTOR };

/** Of each namespace with an installation. */
export const OF_INSTALLATIONS: readonly StatusSource[] = [
  { what: 'pods', sources: [{ resource: PODS, labelSelector: CHART_SELECTOR }] },
  { what: 'leases', sources: [{ resource: LEASES }] },
  {
    what: 'configmaps',
    sources: Object.values(COMMANDS).map((name) => ({
      resource: CONFIG_MAPS,
      fieldSelector: `metadata.name=${name}`,
    })),
  },
  { what: 'events', sources: [{ resource: EVENTS, fieldSelector: 'type=Warning' }] },
];

/** Parts of the snapshot that the Services are judged by. */
const COLLECTIONS: readonly CollectionName[] = [
  'nodes',
  'services',
  'slices',
  'webhooks',
  'routers',
  'flowPolicies',
  'evacuations',
];

/** Of the whole cluster. */
export const OF_CLUSTER: readonly StatusSource[] = [
  ...COLLECTIONS.map((what) => ({ what, sources: SOURCES[what] })),
  { what: 'namespaces', sources: [{ resource: NAMESPACES }] },
  { what: 'extensions', sources: [{ resource: EXTENSIONS, optional: true }] },
  {
    what: 'events',
    sources: Object.values(COMMANDS).map((name) => ({
      resource: EVENTS,
      fieldSelector: `type=Warning,source=${name}`,
    })),
  },
];

/** What is not read at all has no place among what could not be seen. */
export const NEVER_READ: readonly CollectionName[] = ['pods', 'workloads', 'autoscalers', 'events'];

export interface GatherOptions {
  readonly client: Client;
  /** Installations are looked for in it; undefined: in all. */
  readonly namespace?: string | undefined;
  /** Whether admission is tried by dry runs. */
  readonly probe: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onProgress?: (what: string, count: number) => void;
  readonly signal: AbortSignal;
}

/** Reads sources one after the other and remembers what it may not read. */
const createReading = ({ client, onProgress, signal }: GatherOptions, collector: StatusCollector) => {
  const unseen = new Map<string, string>();
  const spoilt = new Map<string, string>();
  const read = async (what: string, source: Source, namespace?: string): Promise<void> => {
    let count = 0;
    const take = (object: unknown): void => {
      try {
        collector.add(object);
      } catch (error) {
        // One malformed object must not hide the rest.
        if (!(error instanceof FieldError)) throw error;
        spoilt.set(`${what} (in part)`, describeProblem(object, error));
      }
      count += 1;
      onProgress?.(what, count);
    };
    try {
      await listObjects(client, source, take, { namespace, signal });
    } catch (error) {
      const why = readRefusalOf(error, source);
      if (why === undefined) throw error;
      if (source.evidence === true) return;
      const where = namespace ?? source.namespace;
      unseen.set(what, where === undefined ? why : `${why} in namespace ${where}`);
    }
  };
  return {
    unseen,
    spoilt,
    read,
    async readAll(all: readonly StatusSource[], namespace?: string): Promise<void> {
      for (const { what, sources } of all) for (const source of sources) await read(what, source, namespace);
    },
  };
};

const namespacesOf = ({ deployments }: StatusObjects): string[] => [
  ...new Set(deployments.map(({ namespace }) => namespace)),
];

/** Leases that several installations share are in none of their namespaces. */
const sharedLeases = ({ configs, deployments }: StatusObjects): Source[] => {
  const read = new Set(deployments.map(({ namespace }) => namespace));
  const shared = configs.flatMap(({ leases }) => leases).filter(({ namespace }) => !read.has(namespace));
  const distinct = new Map(shared.map((lease) => [`${lease.namespace}/${lease.name}`, lease]));
  return [...distinct.values()].map(({ namespace, name }) => ({
    resource: LEASES,
    namespace,
    fieldSelector: `metadata.name=${name}`,
  }));
};

const missingOf = (unseen: ReadonlyMap<string, string>): Map<CollectionName, string> =>
  new Map([
    ...NEVER_READ.map((name) => [name, 'it was not read'] as const),
    // Names of other parts are no collections and are not requested.
    ...([...unseen] as [CollectionName, string][]),
  ]);

const gitVersionOf = (answer: unknown): { serverVersion?: string } =>
  isFields(answer) && typeof answer['gitVersion'] === 'string' ? { serverVersion: answer['gitVersion'] } : {};

/** @throws ApiError and ConnectionError where the cluster gives no answer to build on, UsageError where nothing may be looked for. */
export const gatherStatus = async (options: GatherOptions): Promise<StatusEvidence> => {
  const { client, namespace, probe, now, signal } = options;
  const collector = createStatusCollector(parseQuietly);
  const { unseen, spoilt, read, readAll } = createReading(options, collector);
  const answer = await serverVersion(client, signal);
  await read('deployments', DEPLOYED, namespace);
  const refused = unseen.get('deployments');
  if (refused !== undefined) {
    const hint = namespace === undefined ? ' of all namespaces; name the one of the installation with --namespace' : '';
    throw new UsageError(`installations cannot be looked for: ${refused}${hint}`);
  }
  for (const each of namespacesOf(collector.objects(new Map()))) await readAll(OF_INSTALLATIONS, each);
  for (const lease of sharedLeases(collector.objects(new Map()))) await read('leases', lease);
  await readAll(OF_CLUSTER);
  const objects = collector.objects(missingOf(unseen), versionIn(answer));
  const serving = await servingCertificates(client, objects.registrations, signal);
  const probes = probe ? await probeAdmission({ client, objects, now, signal }) : [];
  const listed: Unseen[] = [...unseen, ...spoilt].map(([what, why]) => ({ what, why }));
  return {
    ...objects,
    now: now(),
    ...gitVersionOf(answer),
    ...defined({ namespace }),
    serving,
    probes,
    unseen: listed,
    authorities: authoritiesOf(objects.registrations),
  };
};
