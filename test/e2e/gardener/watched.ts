// SPDX-License-Identifier: Apache-2.0
// Every version of one object that the API server stored meanwhile, as a watch of its own saw it.
import type { Bed } from '../bed/index.ts';

export interface Watched<T> {
  /** Oldest first; a version that an update replaced at once is in here too. */
  readonly versions: readonly T[];
  /** Ends the watch and returns all. */
  stop(): Promise<readonly T[]>;
}

/** Begins to watch; `collection` is the path of the collection, e.g. `/api/v1/namespaces/garden/services`. */
export const watchVersions = <T>(bed: Bed, collection: string, name: string): Watched<T> => {
  const stopping = new AbortController();
  const versions: T[] = [];
  const follow = async (): Promise<void> => {
    const path = `${collection}?fieldSelector=metadata.name%3D${name}`;
    for await (const { type, object } of bed.api.watch<T>(path, stopping.signal)) {
      if (type === 'ADDED' || type === 'MODIFIED') versions.push(object);
    }
  };
  const following = follow();
  following.catch(() => undefined);
  return {
    versions,
    async stop() {
      stopping.abort();
      await following;
      return versions;
    },
  };
};
