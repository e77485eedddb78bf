// From flags to the snapshot that a command works on, and to the Service that was named, or the one that was probably meant.
// The client of a cluster is loaded only where a cluster is asked.
import { type Namespace, type Node, SWITCHED_OFF, type Service, isSwitchedOff } from '../../pkg/apis/core.ts';
import { defined, keyOf, nameOf, refOf } from '../../pkg/apis/values.ts';
import { SWITCH_NAMESPACE, isPlannedStrategy } from '../../pkg/apis/names.ts';
import { NAMESPACES } from '../../pkg/apis/resources.ts';
import { nearest, serviceKeyOfRef, slicesByService, sortedServices } from '../../pkg/diagnosis/models/lookup.ts';
import { type ClusterSnapshot, type CollectionName, itemsOf, unseenOf } from '../../pkg/diagnosis/snapshot.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { effectiveStrategy, strategyFromLabels } from '../../pkg/routing/strategy.ts';
import { type Io, UsageError } from './io.ts';
import type { InputFlags } from './flags.ts';
import type { OnProgress } from './input/cluster.ts';

export interface Loaded {
  readonly snapshot: ClusterSnapshot;
  /** Services are looked for in it; undefined: in all. */
  readonly namespace: string | undefined;
}

const PROGRESS_STEP = 100;

export const connect = async ({ kubeconfig, context, namespace }: InputFlags) => {
  const { createClient } = await import('../../pkg/kubernetes/client.ts');
  const { loadKubeConfig } = await import('../../pkg/kubernetes/kubeconfig.ts');
  const config = loadKubeConfig(defined({ kubeconfig, context }));
  const client = createClient({ config, userAgent: `kubectl-topology (${process.platform})` });
  return { client, namespace: namespace ?? config.namespace ?? 'default' };
};

export const checkInputFlags = ({ filename, kubeconfig, context, namespace, allNamespaces }: InputFlags): void => {
  if (namespace === '') throw new UsageError('--namespace must not be empty');
  if (namespace !== undefined && allNamespaces === true)
    throw new UsageError('--namespace and --all-namespaces exclude each other');
  if (filename !== undefined && (kubeconfig !== undefined || context !== undefined))
    throw new UsageError('--filename reads no cluster: leave out --kubeconfig and --context');
};

/** Says that hints are off, and nothing where that cannot be read. */
const warnOfSwitch = async (client: Client, { err, signal }: Io): Promise<void> => {
  const options = { fieldSelector: `metadata.name=${SWITCH_NAMESPACE}` };
  const found = await client.list<Namespace>(NAMESPACES, options, signal).catch(() => undefined);
  if (isSwitchedOff({ get: () => found?.items[0] })) err.write(`warning: ${SWITCHED_OFF.message}\n`);
};

/** Connects, and closes in the end. */
export const withClient = async <T>(flags: InputFlags, use: (client: Client, namespace: string) => Promise<T>) => {
  const { client, namespace } = await connect(flags);
  try {
    return await use(client, namespace);
  } finally {
    await client.close();
  }
};

/** `show` writes one line that is replaced on a terminal, and cleared in the end; elsewhere a line for each change. */
export const withProgress = async <T>({ err }: Io, use: (show: (text: string) => void) => Promise<T>): Promise<T> => {
  let shown = '';
  const show = (text: string): void => {
    if (text === shown) return;
    shown = text;
    if (err.terminal) err.control('clear line');
    err.write(err.terminal ? text : `${text}\n`);
  };
  return use(show).finally(() => {
    if (err.terminal && shown !== '') err.control('clear line');
  });
};

/** The same for what reads a lot: shows what is being read, and whether hints are switched off. */
export const withReader = <T>(
  flags: InputFlags,
  io: Io,
  use: (client: Client, onProgress: OnProgress, namespace: string) => Promise<T>,
): Promise<T> =>
  withClient(flags, async (client, namespace) => {
    const result = await withProgress(io, (show) => {
      const onProgress: OnProgress = (what, count) => {
        if (io.err.terminal && count % PROGRESS_STEP === 0) show(`reading ${what}: ${count}`);
      };
      return use(client, onProgress, namespace);
    });
    await warnOfSwitch(client, io);
    return result;
  });

/** Says what could not be read; the command goes on without. */
export const reportMissing = (snapshot: ClusterSnapshot, needs: readonly CollectionName[], io: Io): void => {
  for (const { what, why } of unseenOf(snapshot, needs)) io.err.write(`warning: continuing without ${what}: ${why}\n`);
};

/**
 * Gathers the snapshot; `needs` are the collections that the command looks at. With `service`, a cluster is asked for Services of
 * that name only; files are read as they are.
 */
export const load = async (flags: InputFlags, needs: readonly CollectionName[], io: Io, service?: string) => {
  checkInputFlags(flags);
  if (flags.filename !== undefined) {
    const { readFiles } = await import('./input/files.ts');
    return { snapshot: await readFiles(flags.filename, io), namespace: flags.namespace };
  }
  return withReader(flags, io, async (client, onProgress, own) => {
    const namespace = flags.allNamespaces === true ? undefined : own;
    const { readCluster } = await import('./input/cluster.ts');
    const snapshot = await readCluster(client, { namespace, service, needs, onProgress, signal: io.signal });
    reportMissing(snapshot, needs, io);
    return { snapshot, namespace };
  });
};

/** Adds what only some questions need of a cluster, so that the others need no right to read it; files were read as a whole. */
export const withMore = async (
  snapshot: ClusterSnapshot,
  needs: readonly CollectionName[],
  flags: InputFlags,
  io: Io,
): Promise<ClusterSnapshot> => {
  if (flags.filename !== undefined || needs.length === 0) return snapshot;
  const more = await load(flags, needs, io);
  return { ...snapshot, ...Object.fromEntries(needs.map((need) => [need, more.snapshot[need]])) };
};

/** Names of namespaces, for completion: of the cluster, or those that objects of the files are in. */
export const listNamespaceNames = async (flags: InputFlags, io: Io): Promise<string[]> => {
  if (flags.filename !== undefined) {
    const { snapshot } = await load({ filename: flags.filename }, ['services'], io);
    return [...new Set(itemsOf(snapshot.services).map(({ metadata }) => metadata?.namespace ?? ''))].sort();
  }
  const { listAll } = await import('../../pkg/kubernetes/request.ts');
  return withClient(flags, async (client) => (await listAll(client, NAMESPACES, {}, io.signal)).map(nameOf).sort());
};

type ServiceName = Readonly<{ namespace: string | undefined; name: string }>;

/** `name`, `namespace/name`, and as kubectl writes it `svc/name`. */
export const parseServiceName = (text: string, namespace: string | undefined): ServiceName => {
  const parts = text.split('/');
  const [first = '', second] = parts;
  if (parts.length > 2 || parts.includes(''))
    throw new UsageError(`expected a Service as NAME or NAMESPACE/NAME, found "${text}"`);
  if (second === undefined) return { namespace, name: first };
  return ['svc', 'service', 'services'].includes(first)
    ? { namespace, name: second }
    : { namespace: first, name: second };
};

const missing = (text: string, all: readonly Service[], { namespace, name }: ServiceName): UsageError => {
  const refs = all.map(refOf);
  const nearestOf = (some: typeof refs) => {
    const names = some.map((ref) => ref.name);
    return some[names.indexOf(nearest(name, names) ?? '')];
  };
  const there = refs.filter((ref) => namespace === undefined || ref.namespace === namespace);
  const meant = nearestOf(there) ?? refs.find((ref) => ref.name === name) ?? nearestOf(refs);
  const where = namespace === undefined ? '' : ` in namespace "${namespace}"`;
  const bare = text.split('/').at(-1) ?? text;
  const count = `there ${refs.length === 1 ? 'is 1' : `are ${refs.length}`}`;
  const hint = meant === undefined ? count : `did you mean "${serviceKeyOfRef(meant)}"?`;
  return new UsageError(`no Service "${bare}"${where}; ${hint}`);
};

export const findService = ({ snapshot, namespace }: Loaded, text: string): Service => {
  const wanted = parseServiceName(text, namespace);
  if (snapshot.services.kind === 'unknown') throw new UsageError(`Services cannot be read: ${snapshot.services.why}`);
  const found = sortedServices(snapshot, wanted.namespace).filter((service) => nameOf(service) === wanted.name);
  const [only, another] = found;
  if (only === undefined) throw missing(text, sortedServices(snapshot), wanted);
  const names = found.map(keyOf).join(', ');
  if (another !== undefined) throw new UsageError(`more than one Service "${wanted.name}": ${names}; add --namespace`);
  return only;
};

/** The Service that a person named and its slices, with all else that is needed; of Services, a cluster is asked for that one. */
export const loadService = async (flags: InputFlags, text: string, needs: readonly CollectionName[], io: Io) => {
  const { namespace, name } = parseServiceName(text, undefined);
  const within = namespace === undefined ? flags : { ...flags, namespace, allNamespaces: false };
  const loaded = await load(within, needs, io, name);
  const service = findService(loaded, text);
  const ref = refOf(service);
  return {
    ...loaded,
    service,
    slices: slicesByService(itemsOf(loaded.snapshot.slices)).get(serviceKeyOfRef(ref)) ?? [],
    /** With what only some Services need: the FlowPolicy of one that is planned, say. */
    withMore: (more: readonly CollectionName[]) =>
      withMore(loaded.snapshot, more, { ...flags, namespace: ref.namespace, allNamespaces: false }, io),
  };
};

/** Its hints are planned by the flow-controller. */
export const asksForPlan = (service: Service): boolean =>
  isPlannedStrategy(effectiveStrategy(service) ?? strategyFromLabels(service.metadata?.labels));

export const findNodes = (snapshot: ClusterSnapshot, name: string | undefined): readonly Node[] => {
  const all = itemsOf(snapshot.nodes);
  if (name === undefined) return all;
  const found = all.filter(({ metadata }) => metadata?.name === name);
  if (found.length > 0) return found;
  const near = nearest(name, all.map(nameOf));
  const hint = near === undefined ? `there are ${all.length}` : `did you mean "${near}"?`;
  throw new UsageError(`no Node "${name}"; ${hint}`);
};

export const findPort = (service: Service, port: string | undefined): string | undefined => {
  if (port === undefined) return undefined;
  const ports = service.spec?.ports ?? [];
  const found = ports.find(({ name = '' }) => name === port) ?? ports.find((own) => String(own.port) === port);
  if (found !== undefined) return found.name ?? '';
  const known = ports.map(({ name, port: number }) => (name === undefined ? String(number) : `${name} (${number})`));
  const has = known.join(', ') || 'none';
  throw new UsageError(`Service "${keyOf(service)}" has no port "${port}"; it has ${has}`);
};
