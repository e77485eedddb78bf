// Reads from a cluster what a status is judged by; what may not be read is named and left out.
import { defined } from '../../../pkg/apis/defined.ts';
import { isFields } from '../../../pkg/apis/fields.ts';
import { LEASES } from '../../../pkg/apis/resources.ts';
import { FieldError } from '../../../pkg/diagnosis/project/fields.ts';
import type { CollectionName } from '../../../pkg/diagnosis/snapshot.ts';
import { createStatusCollector } from '../../../pkg/diagnosis/status/collect.ts';
import type { StatusCollector } from '../../../pkg/diagnosis/status/collect.ts';
import type { StatusEvidence, StatusObjects, Unseen } from '../../../pkg/diagnosis/status/evidence.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { UsageError } from '../errors.ts';
import { authoritiesOf } from '../input/certificates.ts';
import { versionIn } from '../input/cluster-version.ts';
import { listObjects, readRefusalOf, serverVersion } from '../input/cluster.ts';
import { describeProblem } from '../input/problem.ts';
import type { Source } from '../input/resources.ts';
import { parseQuietly } from './parse.ts';
import { probeAdmission } from './probe.ts';
import { servingCertificates } from './serving.ts';
import { DEPLOYED, NEVER_READ, OF_CLUSTER, OF_INSTALLATIONS } from './sources.ts';
import type { StatusSource } from './sources.ts';

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
