// Reads from a cluster what a status is judged by, and names what may not be read. Admission is tried with a slice that is created as a
// dry run: it comes back with hints if the webhook acts, and nothing is stored.
import { parse } from 'yaml';
import type { EndpointSlice, Lease, Namespace } from '../../pkg/apis/core.ts';
import { defined, keyOf, nameOf, orElse, refOf } from '../../pkg/apis/values.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { COMMANDS, LABEL_SERVICE_NAME, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { CONFIG_MAPS, DEPLOYMENTS, ENDPOINT_SLICES, LEASES, NAMESPACES, PODS } from '../../pkg/apis/resources.ts';
import { stringsIn, textIn } from '../../pkg/diagnosis/project/fields.ts';
import { type CollectionName, unseenOf } from '../../pkg/diagnosis/snapshot.ts';
import { CHART_SELECTOR, type ProbeResult, type StatusEvidence } from '../../pkg/diagnosis/status/evidence.ts';
import { leaseUsesOf } from '../../pkg/diagnosis/status/installations.ts';
import { probedNamespace } from '../../pkg/diagnosis/status/status.ts';
import { ApiError, ConnectionError } from '../../pkg/kubernetes/errors.ts';
import type { Uses } from '../../pkg/kubernetes/types.ts';
import { UsageError } from './io.ts';
import { describeProblem } from './input/documents.ts';
import { type ReadOptions, listObjects, readCluster, readRefusalOf, serverVersion } from './input/cluster.ts';
import type { Source } from './input/resources.ts';

/** Undefined where it is no YAML. */
const parseQuietly = (text: string): unknown => orElse(() => parse(text, { logLevel: 'silent' }) as unknown, undefined);

const NAME = 'topology-status-probe';
const ZONE = 'probe-zone';

/** Ready, with a zone and without hints; the address is one for documentation. */
const sliceFor = (namespace: string): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: NAME, namespace, labels: { [LABEL_SERVICE_NAME]: NAME, [LABEL_STRATEGY]: 'same-zone' } },
  addressType: 'IPv4',
  ports: [],
  endpoints: [{ addresses: ['192.0.2.1'], zone: ZONE, conditions: { ready: true } }],
});

const failureOf = (error: unknown): Pick<ProbeResult, 'outcome' | 'message'> => {
  if (error instanceof ConnectionError) return { outcome: 'Unknown', message: error.message };
  if (!(error instanceof ApiError)) throw error;
  const { message, status } = error;
  // A webhook that fails, as API servers word it, under `failurePolicy: Fail`.
  if (status === 500 && message.includes('failed calling webhook')) return { outcome: 'Refused', message };
  const needed = status === 403 ? 'it needs the right to create endpointslices there, even as a dry run: ' : '';
  return { outcome: 'Unknown', message: `${needed}${message}` };
};

/** `namespace`: in which admission is tried; empty where none is known that the webhook serves. */
const probeAdmission = async (namespace: string, { client, now, signal }: GatherOptions): Promise<ProbeResult> => {
  if (namespace === '')
    return { namespace, outcome: 'Unknown', message: 'no namespace is known that the webhook serves' };
  const before = now();
  try {
    const stored = await client.create(ENDPOINT_SLICES, sliceFor(namespace), { dryRun: true }, signal);
    const milliseconds = now() - before;
    const isHinted = stored.endpoints?.[0]?.hints?.forZones?.some(({ name }) => name === ZONE);
    return { namespace, outcome: isHinted ? 'Hinted' : 'NotHinted', milliseconds, message: '' };
  } catch (error) {
    return { namespace, ...failureOf(error) };
  }
};

/** Parts of the snapshot that the Services are judged by. */
const NEEDS: readonly CollectionName[] = ['nodes', 'services', 'slices', 'webhooks', 'routers', 'evacuations'];

interface GatherOptions extends Uses<'client'>, Pick<ReadOptions, 'onProgress' | 'signal'> {
  /** Installations are looked for in it; undefined: in all. */
  readonly namespace?: string | undefined;
  readonly probe: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const COMPONENTS: ReadonlySet<string> = new Set(Object.values(COMMANDS));

const configsOf = (objects: readonly KubernetesObject[]) =>
  objects
    .filter((object) => COMPONENTS.has(nameOf(object)))
    .map((object) => ({
      namespace: refOf(object).namespace,
      component: nameOf(object),
      config: parseQuietly(stringsIn(object, 'data')['config.yaml'] ?? ''),
    }));

/** @throws ApiError and ConnectionError where the cluster gives no answer to build on, UsageError where nothing may be looked for. */
export const gatherStatus = async (options: GatherOptions): Promise<StatusEvidence> => {
  const { client, namespace, probe, now, onProgress, signal } = options;
  const unseen: { what: string; why: string }[] = [];
  /** All of each of the namespaces; what may not be listed is added to `unseen`. */
  const list = async <T extends KubernetesObject>(
    source: Source,
    namespaces: Iterable<string | undefined> = [undefined],
  ): Promise<T[]> => {
    const found = new Map<string, T>();
    // What is listed is what the API serves under that name.
    const take = (object: unknown): unknown => found.set(keyOf(object as T), object as T);
    for (const within of namespaces) {
      try {
        await listObjects(client, source, take, { namespace: within, signal });
      } catch (error) {
        const why = readRefusalOf(error, source);
        const where = within === undefined ? '' : ` in namespace ${within}`;
        unseen.push({ what: source.resource.plural, why: `${why}${where}` });
      }
    }
    return [...found.values()];
  };
  const answer = await serverVersion(client, signal);
  const labelSelector = CHART_SELECTOR;
  const deployments = await list({ resource: DEPLOYMENTS, labelSelector }, [namespace]);
  const [refused] = unseen;
  if (refused !== undefined) {
    const hint = namespace === undefined ? ' of all namespaces; name the one of the installation with --namespace' : '';
    throw new UsageError(`installations cannot be looked for: ${refused.why}${hint}`);
  }
  const installed = new Set(deployments.map((deployment) => refOf(deployment).namespace));
  const pods = await list({ resource: PODS, labelSelector }, installed);
  const leases = await list<Lease>({ resource: LEASES }, installed);
  const configs = configsOf(await list({ resource: CONFIG_MAPS, labelSelector }, installed));
  // Leases that several installations share are in none of their namespaces.
  for (const { namespace: other, name } of [...installed].flatMap((own) => leaseUsesOf(configs, own)))
    if (!installed.has(other))
      leases.push(...(await list<Lease>({ resource: LEASES, fieldSelector: `metadata.name=${name}` }, [other])));
  const snapshot = await readCluster(client, {
    needs: NEEDS,
    onMalformed: (name, object, error) =>
      unseen.push({ what: `${name} (in part)`, why: describeProblem(object, error) }),
    onProgress,
    signal,
  });
  unseen.push(...unseenOf(snapshot, NEEDS));
  const namespaces = await list<Namespace>({ resource: NAMESPACES });
  const probed = probe ? probedNamespace({ snapshot, namespaces }) : undefined;
  return {
    snapshot,
    deployments,
    pods,
    leases,
    configs,
    namespaces,
    now: now(),
    ...defined({ namespace, serverVersion: textIn(answer, 'gitVersion') || undefined }),
    probes: probed === undefined ? [] : [await probeAdmission(probed, options)],
    unseen,
  };
};
