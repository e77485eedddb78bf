// Reads a snapshot from a cluster: paged lists over one connection; what may not be read is named and left out.
import { defined, sumBy } from '../../../pkg/apis/values.ts';
import { LABEL_SERVICE_NAME } from '../../../pkg/apis/names.ts';
import { ENDPOINT_SLICES } from '../../../pkg/apis/resources.ts';
import { type Collector, createCollector } from '../../../pkg/diagnosis/project/collect.ts';
import { FieldError, stringsIn } from '../../../pkg/diagnosis/project/fields.ts';
import { endpointRights } from '../../../pkg/diagnosis/bypasses/watchers.ts';
import { settledBy } from '../../../pkg/diagnosis/routers/kube-proxy.ts';
import { type ClusterSnapshot, type CollectionName, itemsOf } from '../../../pkg/diagnosis/snapshot.ts';
import { ApiError, except, isForbidden, isGone, isNotFound } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { versionIn } from '../../../pkg/routing/version.ts';
import { FIRST_SOURCES, MESH_CONFIG, NAMING_CONFIGS, SOURCES, agentPods, withCertificates } from './resources.ts';
import type { Source } from './resources.ts';

/** Called with what is being read, and how many objects came so far. */
export type OnProgress = (what: string, count: number) => void;

export interface ReadOptions {
  /** Only objects of this namespace, besides what has none; default: all. */
  readonly namespace?: string | undefined;
  /** Of Services, their slices and events only those of this name, unless there is none. */
  readonly service?: string | undefined;
  readonly needs: readonly CollectionName[];
  readonly onProgress: OnProgress;
  /** Takes an object that cannot be read, which is then left out. Default: the error ends the command. */
  readonly onMalformed?: (name: CollectionName, object: unknown, error: FieldError) => void;
  readonly signal: AbortSignal;
}

/** Characters of what a ConfigMap holds. */
const sizeOf = (object: object): number => sumBy(Object.values(stringsIn(object, 'data')), ({ length }) => length);

/** Whether all of it came. A list whose pages grew too old begins anew: items that came already are replaced by themselves. */
export const listObjects = async (
  client: Client,
  { resource, everywhere = false, optional = false, most = Infinity, ...source }: Source,
  take: (object: unknown) => void,
  { namespace, signal }: Pick<ReadOptions, 'namespace' | 'signal'>,
): Promise<boolean> => {
  const { fieldSelector, labelSelector } = source;
  const within = resource.namespaced && !everywhere ? (source.namespace ?? namespace) : undefined;
  const options = defined({ namespace: within, fieldSelector, labelSelector });
  const list = async (): Promise<boolean> => {
    let size = 0;
    for await (const page of client.pages(resource, options, signal)) {
      if (size > most) return false;
      page.items.forEach(take);
      if (most < Infinity) size += sumBy(page.items, sizeOf);
    }
    return true;
  };
  const anew = async (): Promise<boolean> => (await except(list(), isGone)) ?? list();
  return (await except(anew(), (error) => optional && isNotFound(error))) ?? true;
};

/** Why a kind may not be read; throws errors that end the command. */
export const readRefusalOf = (error: unknown, { resource }: Pick<Source, 'resource'>): string => {
  if (isForbidden(error)) return `you may not list ${resource.plural}`;
  if (isNotFound(error)) return `the cluster serves no ${resource.plural}`;
  throw error;
};

/** The API server's version; undefined where it does not answer. */
export const serverVersion = (client: Client, signal: AbortSignal): Promise<unknown> =>
  except(client.raw('/version', signal), (error) => error instanceof ApiError);

/** What may stand in a selector as it is; no Service is called otherwise. */
const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,61}[a-z0-9])?$/;

const selectorOf = (name: CollectionName, service: string): Partial<Source> => {
  if (name === 'services') return { fieldSelector: `metadata.name=${service}` };
  if (name === 'slices') return { labelSelector: `${LABEL_SERVICE_NAME}=${service}` };
  return name === 'events' ? { fieldSelector: `involvedObject.kind=Service,involvedObject.name=${service}` } : {};
};

/** Slices of the Services that webhooks are behind, as far as they were not read anyway. */
const webhookSlices = (collector: Collector, { namespace, service: only }: ReadOptions): Source[] => {
  if (namespace === undefined && only === undefined) return [];
  const behind = itemsOf(collector.snapshot(new Map()).webhooks).flatMap(({ slices, service }) =>
    slices && service !== undefined && (service.namespace !== namespace || only !== undefined) ? [service] : [],
  );
  return [...new Map(behind.map((item) => [`${item.namespace}/${item.name}`, item])).values()].map((item) => ({
    resource: ENDPOINT_SLICES,
    namespace: item.namespace,
    labelSelector: `${LABEL_SERVICE_NAME}=${item.name}`,
    optional: true,
    evidence: true,
  }));
};

/** From so many on one list of all namespaces is less than a list of each. */
const MANY_NAMESPACES = 20;

/** What runs, and what is reachable from outside, where ServiceAccounts may watch endpoints, as far as it was not read anyway. */
const watcherSources = (
  collector: Collector,
  { namespace: own, service }: Pick<ReadOptions, 'namespace' | 'service'>,
): readonly (readonly [CollectionName, readonly Source[]])[] => {
  if (own === undefined && service === undefined) return [];
  const { namespaces: watching } = endpointRights(collector.snapshot(new Map()));
  const within = (sources: readonly Source[], but?: string): Source[] => {
    const names = watching.filter((name) => name !== but);
    const few = names.length < MANY_NAMESPACES && !names.includes('*');
    const where = few ? names.map((namespace) => ({ namespace })) : [{ everywhere: true }];
    return sources.flatMap((source) => where.map((place) => ({ ...source, ...place, optional: true, evidence: true })));
  };
  const running = own === undefined ? [] : SOURCES.workloads.filter((each) => each !== NAMING_CONFIGS);
  return [
    ['workloads', within(running, own)],
    ['services', within(SOURCES.services, service ? undefined : own)],
  ];
};

/** Pods of data planes say more than their DaemonSets only while something of these is under way. */
const neededPods = (collector: Collector): readonly Source[] => {
  const { routers, nodes } = collector.snapshot(new Map());
  return agentPods(settledBy(itemsOf(routers), itemsOf(nodes)));
};

/**
 * Reads all sources at the same time, and remembers what it may not read.
 * @throws ApiError and ConnectionError where the cluster gives no answer to build on.
 */
export const readCluster = async (client: Client, options: ReadOptions): Promise<ClusterSnapshot> => {
  const { needs, signal, onProgress, onMalformed } = options;
  const service = options.service !== undefined && NAME.test(options.service) ? options.service : undefined;
  const collector = createCollector();
  const [missing, partly] = [new Map<CollectionName, string>(), new Map<CollectionName, string>()];
  const counts = new Map<CollectionName, number>();
  const read = async (name: CollectionName, source: Source): Promise<void> => {
    const take = (object: unknown): void => {
      try {
        collector.add(object);
      } catch (error) {
        if (!(error instanceof FieldError) || onMalformed === undefined) throw error;
        onMalformed(name, object, error);
      }
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      onProgress(name, count);
    };
    try {
      const isAll = await listObjects(client, source, take, options);
      if (!isAll) partly.set(name, `there are more ${source.resource.plural} than are read`);
    } catch (error) {
      const why = readRefusalOf(error, source);
      if (source.evidence !== true) missing.set(name, why);
      else if (isForbidden(error)) partly.set(name, why);
    }
  };
  const readAll = (name: CollectionName, sources: readonly Source[]) =>
    Promise.all(sources.map((source) => read(name, source)));

  // First and alone: it also brings the credentials that all others use.
  const version = versionIn(await serverVersion(client, signal));
  const selected = (name: CollectionName): readonly Source[] =>
    service === undefined
      ? FIRST_SOURCES[name]
      : FIRST_SOURCES[name].map((source) => ({ ...source, ...selectorOf(name, service) }));
  await Promise.all(needs.map((name) => readAll(name, selected(name))));
  const further: Promise<unknown>[] = [];
  if (needs.includes('webhooks')) further.push(readAll('slices', webhookSlices(collector, { ...options, service })));
  const hasAllPods = needs.includes('pods') && options.namespace === undefined && service === undefined;
  if (needs.includes('routers') && !hasAllPods) further.push(readAll('routers', neededPods(collector)));
  const rules = itemsOf(collector.snapshot(new Map()).ingresses).some(({ kind }) => kind === 'DestinationRule');
  if (needs.includes('routers') && rules) further.push(readAll('routers', [MESH_CONFIG]));
  if (needs.includes('clusterRoleBindings'))
    further.push(...watcherSources(collector, { ...options, service }).map((sources) => readAll(...sources)));
  // Others of the namespace, to say which one was meant.
  if (service !== undefined && !collector.seen.has('services')) further.push(readAll('services', SOURCES.services));
  await Promise.all(further);
  for (const name of Object.keys(SOURCES) as CollectionName[])
    if (!needs.includes(name)) missing.set(name, 'it was not read');
  return withCertificates(collector.snapshot(missing, version, partly));
};
