// Reads from a cluster what a status is judged by; what may not be read is named and left out.
// Tries admission with a slice that is created as a dry run: what comes back has hints if the webhook acts. Nothing is stored.
import { YAMLParseError, parse } from 'yaml';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { defined, isFields, nameOf } from '../../pkg/apis/values.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { COMMANDS, LABEL_SERVICE_NAME, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { CONFIG_MAPS, DEPLOYMENTS, ENDPOINT_SLICES, LEASES, NAMESPACES, PODS } from '../../pkg/apis/resources.ts';
import { createCollector } from '../../pkg/diagnosis/project/collect.ts';
import { FieldError } from '../../pkg/diagnosis/project/fields.ts';
import type { CollectionName } from '../../pkg/diagnosis/snapshot.ts';
import {
  CHART_SELECTOR,
  type ComponentConfig,
  type ProbeResult,
  type StatusEvidence,
  type StatusObjects,
} from '../../pkg/diagnosis/status/evidence.ts';
import { leaseUsesOf } from '../../pkg/diagnosis/status/installations.ts';
import { probedNamespace } from '../../pkg/diagnosis/status/services.ts';
import { ApiError, ConnectionError } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { UsageError } from './io.ts';
import { SOURCES, type Source, withCertificates } from './input/resources.ts';
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

interface ProbeOptions {
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
const probeAdmission = async (options: ProbeOptions): Promise<ProbeResult[]> => {
  const namespace = probedNamespace(options.objects);
  if (namespace === undefined) return [];
  return [
    namespace === ''
      ? { namespace, outcome: 'Unknown', message: 'no namespace is known that the webhook serves' }
      : await probeInstallation(namespace, options),
  ];
};

/** Parts of the snapshot that the Services are judged by. */
const COLLECTIONS: readonly CollectionName[] = ['nodes', 'services', 'slices', 'webhooks', 'routers', 'evacuations'];

/** What is not read at all has no place among what could not be seen. */
const NEVER_READ: readonly CollectionName[] = [
  'pods',
  'workloads',
  'autoscalers',
  'events',
  'ingresses',
  'flowPolicies',
];

interface GatherOptions {
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

const CONFIG_KEY = 'config.yaml';
const COMPONENTS: ReadonlySet<string> = new Set(Object.values(COMMANDS));

const configsOf = (objects: readonly (KubernetesObject & { data?: Record<string, string> })[]): ComponentConfig[] =>
  objects
    .filter((object) => COMPONENTS.has(nameOf(object)))
    .map(({ metadata, data }) => ({
      namespace: metadata?.namespace ?? '',
      component: metadata?.name ?? '',
      config: parseQuietly(data?.[CONFIG_KEY] ?? ''),
    }));

/** Reads sources one after the other and remembers what it may not read. */
const createReading = ({ client, onProgress, signal }: GatherOptions) => {
  const unseen = new Map<string, string>();
  /** Objects by resource; a list that begins anew replaces what came already. */
  const taken = new Map<string, Map<string, KubernetesObject>>();
  const read = async (
    what: string,
    source: Source,
    namespace?: string,
    collect?: (object: unknown) => void,
  ): Promise<void> => {
    let count = 0;
    const own = taken.get(what) ?? new Map<string, KubernetesObject>();
    taken.set(what, own);
    const take = (object: unknown): void => {
      const { metadata } = object as KubernetesObject;
      try {
        if (collect === undefined) own.set(`${metadata?.namespace}/${metadata?.name}`, object as KubernetesObject);
        else collect(object);
      } catch (error) {
        // One malformed object must not hide the rest.
        if (!(error instanceof FieldError)) throw error;
        unseen.set(`${what} (in part)`, describeProblem(object, error));
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
  /** What is read is what the API serves under that name. */
  const objects = <T extends KubernetesObject>(what: string): T[] => [...(taken.get(what)?.values() ?? [])] as T[];
  return { unseen, read, objects };
};

type Reading = ReturnType<typeof createReading>;

/** Of each namespace with an installation; Leases that several installations share are in none of their namespaces. */
const readInstallations = async ({ read, objects }: Reading): Promise<ComponentConfig[]> => {
  const namespaces = new Set(objects('deployments').map(({ metadata }) => metadata?.namespace ?? ''));
  for (const namespace of namespaces) {
    await read('pods', { resource: PODS, labelSelector: CHART_SELECTOR }, namespace);
    await read('leases', { resource: LEASES }, namespace);
    await read('configmaps', { resource: CONFIG_MAPS, labelSelector: CHART_SELECTOR }, namespace);
  }
  const configs = configsOf(objects('configmaps'));
  const shared = [...namespaces]
    .flatMap((namespace) => leaseUsesOf(configs, namespace))
    .filter(({ namespace }) => !namespaces.has(namespace));
  for (const { namespace, name } of shared) {
    await read('leases', { resource: LEASES, namespace, fieldSelector: `metadata.name=${name}` });
  }
  return configs;
};

const gitVersionOf = (answer: unknown): { serverVersion?: string } =>
  isFields(answer) && typeof answer['gitVersion'] === 'string' ? { serverVersion: answer['gitVersion'] } : {};

/** @throws ApiError and ConnectionError where the cluster gives no answer to build on, UsageError where nothing may be looked for. */
export const gatherStatus = async (options: GatherOptions): Promise<StatusEvidence> => {
  const { client, namespace, probe, now, signal } = options;
  const collector = createCollector();
  const reading = createReading(options);
  const { unseen, read, objects } = reading;
  const answer = await serverVersion(client, signal);
  await read('deployments', { resource: DEPLOYMENTS, labelSelector: CHART_SELECTOR }, namespace);
  const refused = unseen.get('deployments');
  if (refused !== undefined) {
    const hint = namespace === undefined ? ' of all namespaces; name the one of the installation with --namespace' : '';
    throw new UsageError(`installations cannot be looked for: ${refused}${hint}`);
  }
  const configs = await readInstallations(reading);
  for (const what of COLLECTIONS) {
    for (const source of SOURCES[what]) await read(what, source, undefined, (object) => collector.add(object));
  }
  await read('namespaces', { resource: NAMESPACES });
  const missing = new Map<CollectionName, string>([
    ...NEVER_READ.map((name) => [name, 'it was not read'] as const),
    // Names of other parts are no collections and are not requested.
    ...([...unseen] as [CollectionName, string][]),
  ]);
  const found: StatusObjects = {
    snapshot: withCertificates(collector.snapshot(missing, versionIn(answer))),
    deployments: objects('deployments'),
    pods: objects('pods'),
    leases: objects('leases'),
    namespaces: objects('namespaces'),
    configs,
  };
  return {
    ...found,
    now: now(),
    ...gitVersionOf(answer),
    ...defined({ namespace }),
    probes: probe ? await probeAdmission({ client, objects: found, now, signal }) : [],
    unseen: [...unseen].map(([what, why]) => ({ what, why })),
  };
};
