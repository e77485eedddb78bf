// SPDX-License-Identifier: Apache-2.0
// A client that shows the answers to its writes to the caches of the process, so that these read their own writes.
import type { KubernetesObject, ObjectRef } from '../apis/meta.ts';
import type { Resource } from '../apis/resources.ts';
import type { Cache } from './cache.ts';
import type { Client, WriteOptions } from './types.ts';

/** What the client needs of a cache, whatever its objects. */
export type WrittenCache = Pick<Cache<never>, 'resource' | 'beginWrite'>;

/**
 * Does as `client` does, and hands what the API server stored for a write to each cache of the resource; the answer of a dry run
 * goes to none.
 */
export const createWriteThroughClient = (client: Client, caches: Iterable<WrittenCache>): Client => {
  const through = async <T extends KubernetesObject>(
    { group, plural }: Resource,
    ref: ObjectRef,
    { dryRun }: WriteOptions,
    write: () => Promise<T>,
  ): Promise<T> => {
    const concerned = [...caches].filter(({ resource }) => resource.group === group && resource.plural === plural);
    const writes = dryRun === true ? [] : concerned.map((cache) => cache.beginWrite(ref));
    const answer = await write();
    for (const end of writes) end(answer);
    return answer;
  };
  return {
    ...client,
    update: (resource, object, options = {}, signal) =>
      through(resource, { name: '', ...object.metadata }, options, () =>
        client.update(resource, object, options, signal),
      ),
    patch: (resource, ref, type, patch, options = {}, signal) =>
      through(resource, ref, options, () => client.patch(resource, ref, type, patch, options, signal)),
  };
};
