// From flags to the snapshot that a command works on. The cluster's client is loaded only where a cluster is asked.
import { defined } from '../../pkg/apis/defined.ts';
import type { Namespace } from '../../pkg/apis/core.ts';
import { SWITCH_NAMESPACE } from '../../pkg/apis/names.ts';
import { nameOf } from '../../pkg/apis/object.ts';
import { SWITCHED_OFF, isSwitchedOff } from '../../pkg/apis/readings.ts';
import { NAMESPACES } from '../../pkg/apis/resources.ts';
import { itemsOf } from '../../pkg/diagnosis/snapshot.ts';
import type { ClusterSnapshot, CollectionName } from '../../pkg/diagnosis/snapshot.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { UsageError } from './errors.ts';
import type { InputFlags } from './flags.ts';
import type { Io } from './io.ts';

export interface Loaded {
  readonly snapshot: ClusterSnapshot;
  /** Services are looked for in it; undefined: in all. */
  readonly namespace: string | undefined;
}

/** A connection, and the namespace that the flags and the context choose. */
export interface Connection {
  readonly client: Client;
  readonly namespace: string;
}

const PROGRESS_STEP = 100;

export const connect = async ({ kubeconfig, context, namespace }: InputFlags): Promise<Connection> => {
  const [{ createClient }, { loadKubeConfig }] = await Promise.all([
    import('../../pkg/kubernetes/client.ts'),
    import('../../pkg/kubernetes/kubeconfig.ts'),
  ]);
  const config = loadKubeConfig(defined({ kubeconfig, context }));
  const client = createClient({ config, userAgent: `kubectl-topology (${process.platform})` });
  return { client, namespace: namespace ?? config.namespace ?? 'default' };
};

/** @throws UsageError for flags that exclude each other. */
export const checkInputFlags = ({ filename, kubeconfig, context, namespace, allNamespaces }: InputFlags): void => {
  if (namespace === '') throw new UsageError('--namespace must not be empty');
  if (namespace !== undefined && allNamespaces === true) {
    throw new UsageError('--namespace and --all-namespaces exclude each other');
  }
  if (filename !== undefined && (kubeconfig !== undefined || context !== undefined)) {
    throw new UsageError('--filename reads no cluster: leave out --kubeconfig and --context');
  }
};

/** Called with what is being read, and how many objects came so far. */
type OnProgress = (what: string, count: number) => void;

const progressOn = ({ err }: Io): OnProgress | undefined =>
  err.terminal
    ? (what, count) => {
        if (count % PROGRESS_STEP !== 0) return;
        err.control('clear line');
        err.write(`reading ${what}: ${count}`);
      }
    : undefined;

/** Says that hints are off, and nothing where that cannot be read. */
const warnOfSwitch = async (client: Client, { err, signal }: Io): Promise<void> => {
  const options = { fieldSelector: `metadata.name=${SWITCH_NAMESPACE}` };
  const found = await client.list<Namespace>(NAMESPACES, options, signal).catch(() => undefined);
  if (isSwitchedOff({ get: () => found?.items[0] })) err.write(`warning: ${SWITCHED_OFF.message}\n`);
};

/** Connects, shows what is being read, and takes both away in the end. */
export const withConnection = async <T>(
  flags: InputFlags,
  io: Io,
  use: (connection: Connection, onProgress: OnProgress | undefined) => Promise<T>,
): Promise<T> => {
  const connection = await connect(flags);
  const onProgress = progressOn(io);
  try {
    const result = await use(connection, onProgress).finally(() => {
      if (onProgress !== undefined) io.err.control('clear line');
    });
    await warnOfSwitch(connection.client, io);
    return result;
  } finally {
    await connection.client.close();
  }
};

const fromCluster = (
  flags: InputFlags,
  needs: readonly CollectionName[],
  io: Io,
  service: string | undefined,
): Promise<Loaded> =>
  withConnection(flags, io, async ({ client, namespace }, onProgress) => {
    const within = flags.allNamespaces === true ? undefined : namespace;
    const { readCluster } = await import('./input/cluster.ts');
    const options = {
      namespace: within,
      service,
      needs,
      signal: io.signal,
      ...defined({ onProgress }),
    };
    return { snapshot: await readCluster(client, options), namespace: within };
  });

/** Says what could not be read; the command goes on without. */
const reportMissing = ({ snapshot }: Loaded, needs: readonly CollectionName[], io: Io): void => {
  for (const name of needs) {
    const collection = snapshot[name];
    if (collection.kind === 'unknown') io.err.write(`warning: continuing without ${name}: ${collection.why}\n`);
  }
};

const withValidity = async (snapshot: ClusterSnapshot, needs: readonly CollectionName[]): Promise<ClusterSnapshot> => {
  if (!needs.includes('webhooks') || snapshot.webhooks.kind === 'unknown') return snapshot;
  const { withCertificates } = await import('./input/certificates.ts');
  return withCertificates(snapshot);
};

/**
 * Gathers the snapshot; `needs` are the collections that the command looks at. With `service`, a cluster is asked for Services of
 * that name only; files are read as they are.
 */
export const load = async (
  flags: InputFlags,
  needs: readonly CollectionName[],
  io: Io,
  service?: string,
): Promise<Loaded> => {
  checkInputFlags(flags);
  if (flags.filename === undefined) {
    const loaded = await fromCluster(flags, needs, io, service);
    reportMissing(loaded, needs, io);
    return { ...loaded, snapshot: await withValidity(loaded.snapshot, needs) };
  }
  const { readFiles } = await import('./input/files.ts');
  const snapshot = await readFiles(flags.filename, { readStdin: () => io.readStdin() });
  return { snapshot: await withValidity(snapshot, needs), namespace: flags.namespace };
};

/** Names of namespaces, for completion: of the cluster, or those that objects of the files are in. */
export const listNamespaceNames = async (flags: InputFlags, io: Io): Promise<string[]> => {
  if (flags.filename !== undefined) {
    const { snapshot } = await load({ filename: flags.filename }, ['services'], io);
    return [...new Set(itemsOf(snapshot.services).map(({ metadata }) => metadata?.namespace ?? ''))].sort();
  }
  const { client } = await connect(flags);
  try {
    const names: string[] = [];
    for await (const { items } of client.pages(NAMESPACES, {}, io.signal)) {
      names.push(...items.map(nameOf));
    }
    return names.sort();
  } finally {
    await client.close();
  }
};
