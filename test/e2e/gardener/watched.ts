// SPDX-License-Identifier: Apache-2.0
// Every version of one object that the API server stored meanwhile, as a watch of its own saw it, after the one that stood before.
import type { Bed } from '../bed/index.ts';

export interface Version<T> {
  /** When it arrived, in milliseconds of `performance.now()`. */
  readonly atMs: number;
  readonly object: T;
}

export interface Watched<T> {
  /** Ends the watch and returns all versions, oldest first, those included that were replaced at once. */
  stop(): Promise<readonly Version<T>[]>;
}

/** Begins to watch; `collection` is the path of the collection, e.g. `/api/v1/namespaces/garden/services`. */
export const watchVersions = <T>(bed: Bed, collection: string, name: string): Watched<T> => {
  const stopping = new AbortController();
  const versions: Version<T>[] = [];
  const follow = async (): Promise<void> => {
    const path = `${collection}?fieldSelector=metadata.name%3D${name}`;
    // The watch brings changes alone, and what is bare is told by what stood before.
    for (const object of await bed.api.list(path)) versions.push({ atMs: performance.now(), object: object as T });
    for await (const { type, object } of bed.api.watch<T>(path, stopping.signal)) {
      if (type === 'ADDED' || type === 'MODIFIED') versions.push({ atMs: performance.now(), object });
    }
  };
  const following = follow();
  following.catch(() => undefined);
  return {
    async stop() {
      stopping.abort();
      await following;
      return versions;
    },
  };
};

/** How long, in milliseconds, versions without a value stood where there had been one before; one that stands last counts until `untilMs`. */
export const bareMs = <T>(versions: readonly Version<T>[], isBare: (object: T) => boolean, untilMs: number): number => {
  const first = versions.findIndex(({ object }) => !isBare(object));
  if (first === -1) return 0;
  return versions
    .slice(first)
    .map(({ atMs, object }, index, all) => (isBare(object) ? (all[index + 1]?.atMs ?? untilMs) - atMs : 0))
    .reduce((sum, ms) => sum + ms, 0);
};
