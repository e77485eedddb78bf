// SPDX-License-Identifier: Apache-2.0
// Reads a snapshot from a cluster: paged lists over one connection; what may not be read is named and left out.
import { LABEL_SERVICE_NAME } from '../../../pkg/apis/names.ts';
import { ENDPOINT_SLICES } from '../../../pkg/apis/resources.ts';
import { createCollector } from '../../../pkg/diagnosis/project/collect.ts';
import type { Collector } from '../../../pkg/diagnosis/project/collect.ts';
import { itemsOf } from '../../../pkg/diagnosis/snapshot.ts';
import type { ClusterSnapshot, CollectionName } from '../../../pkg/diagnosis/snapshot.ts';
import { ApiError, isForbidden, isGone, isNotFound } from '../../../pkg/kubernetes/errors.ts';
import type { Client, ListOptions } from '../../../pkg/kubernetes/types.ts';
import { versionIn } from './cluster-version.ts';
import { SOURCES } from './resources.ts';
import type { Source } from './resources.ts';

export interface ReadOptions {
  /** Only objects of this namespace, besides what has none; default: all. */
  readonly namespace?: string | undefined;
  readonly needs: readonly CollectionName[];
  /** Called with what is being read and how many objects came so far. */
  readonly onProgress?: (what: string, count: number) => void;
  /** Called with every object that is read, as the server sent it. */
  readonly keep?: (object: unknown) => void;
  readonly signal: AbortSignal;
}

const listOnce = async (
  client: Client,
  { resource, optional = false }: Source,
  options: ListOptions,
  take: (object: unknown) => void,
  signal: AbortSignal,
): Promise<void> => {
  try {
    for await (const page of client.pages(resource, options, signal)) page.items.forEach(take);
  } catch (error) {
    if (!(optional && isNotFound(error))) throw error;
  }
};

/** A list whose pages grew too old begins anew: items that came already are replaced by themselves. */
export const listObjects = async (
  client: Client,
  source: Source,
  take: (object: unknown) => void,
  { namespace, signal }: Pick<ReadOptions, 'namespace' | 'signal'>,
): Promise<void> => {
  const { resource, fieldSelector, labelSelector } = source;
  const within = resource.namespaced && source.everywhere !== true ? (source.namespace ?? namespace) : undefined;
  const options: ListOptions = {
    ...(within === undefined ? {} : { namespace: within }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  };
  try {
    await listOnce(client, source, options, take, signal);
  } catch (error) {
    if (!isGone(error)) throw error;
    await listOnce(client, source, options, take, signal);
  }
};

/** Why a kind may not be read; undefined for errors that end the command. */
export const readRefusalOf = (error: unknown, { resource }: Pick<Source, 'resource'>): string | undefined => {
  if (isForbidden(error)) return `you may not list ${resource.plural}`;
  return error instanceof ApiError && error.status === 404 ? `the cluster serves no ${resource.plural}` : undefined;
};

/** The API server's version; undefined where it does not answer. */
export const serverVersion = async (client: Client, signal: AbortSignal): Promise<unknown> => {
  try {
    return await client.raw('/version', signal);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
};

/** Slices of the Services that webhooks are behind, which are mostly in other namespaces. */
const readWebhookSlices = async (client: Client, collector: Collector, options: ReadOptions): Promise<void> => {
  const { namespace, signal } = options;
  if (namespace === undefined || !options.needs.includes('webhooks')) return;
  const behind = itemsOf(collector.snapshot(new Map()).webhooks).flatMap(({ slices, service }) =>
    slices && service !== undefined && service.namespace !== namespace ? [service] : [],
  );
  for (const service of new Map(behind.map((item) => [`${item.namespace}/${item.name}`, item])).values()) {
    const selection = { namespace: service.namespace, labelSelector: `${LABEL_SERVICE_NAME}=${service.name}` };
    const take = (object: unknown): void => collector.add(object);
    await listOnce(client, { resource: ENDPOINT_SLICES, optional: true }, selection, take, signal).catch(
      (error: unknown) => {
        if (!isForbidden(error)) throw error;
      },
    );
  }
};

/** @throws ApiError and ConnectionError where the cluster gives no answer to build on. */
export const readCluster = async (client: Client, options: ReadOptions): Promise<ClusterSnapshot> => {
  const { needs, onProgress, signal } = options;
  const collector = createCollector();
  const missing = new Map<CollectionName, string>();
  const version = versionIn(await serverVersion(client, signal));
  for (const name of needs) {
    let count = 0;
    const take = (object: unknown): void => {
      collector.add(object);
      options.keep?.(object);
      count += 1;
      onProgress?.(name, count);
    };
    for (const source of SOURCES[name]) {
      try {
        await listObjects(client, source, take, options);
      } catch (error) {
        const why = readRefusalOf(error, source);
        if (why === undefined) throw error;
        if (source.evidence !== true) missing.set(name, why);
      }
    }
  }
  await readWebhookSlices(client, collector, options);
  for (const name of Object.keys(SOURCES) as CollectionName[]) {
    if (!needs.includes(name)) missing.set(name, 'it was not read');
  }
  return collector.snapshot(missing, version);
};
