// Every version of one object that the API server stored meanwhile, as a watch of its own saw it, after the one that stood before.
import type { Bed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';

export interface Version<T> {
  /** When it arrived, in milliseconds of `performance.now()`. */
  readonly atMs: number;
  readonly object: T;
}

export interface Watched<T> {
  /** Waits for the version that stands now, ends the watch, and returns all, oldest first, those included that were replaced at once. */
  stop(): Promise<readonly Version<T>[]>;
}

interface Versioned {
  readonly metadata?: { readonly resourceVersion?: string };
}

const versionOf = ({ metadata }: Versioned): string | undefined => metadata?.resourceVersion;

/** Resolves once the watch is open; `collection` is the path of the collection, e.g. `/api/v1/namespaces/garden/services`. */
export const watchVersions = async <T extends Versioned>(
  bed: Bed,
  collection: string,
  name: string,
): Promise<Watched<T>> => {
  const path = `${collection}?fieldSelector=metadata.name%3D${name}`;
  const stopping = new AbortController();
  const versions: Version<T>[] = [];
  const add = (object: T): unknown => versions.push({ atMs: performance.now(), object });
  const { promise: open, resolve } = Promise.withResolvers<void>();
  const follow = async (): Promise<void> => {
    // Changes alone would not do: what is bare shows beside what stood before.
    const begin = (before: readonly T[]): void => {
      before.forEach(add);
      resolve();
    };
    for await (const { type, object } of bed.api.watch<T>(path, stopping.signal, begin)) {
      if (type === 'ADDED' || type === 'MODIFIED') add(object);
    }
  };
  const following = follow();
  await Promise.race([open, following]);
  return {
    async stop() {
      await waitFor(
        `the last version of ${name}`,
        () => bed.api.list<Versioned>(path),
        (now) => now.every((object) => versions.some((seen) => versionOf(seen.object) === versionOf(object))),
      );
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
