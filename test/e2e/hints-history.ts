// Records every stored version of the slices of a namespace, as kube-proxy's watch delivers them.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { LABEL_SERVICE_NAME } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { waitFor } from './bed/machine.ts';
import { bareAddresses } from './hints-support.ts';

/** One stored version. */
export interface StoredVersion {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly service: string;
  readonly name: string;
  readonly generation: number;
  readonly slice: EndpointSlice;
  /** Monotonic milliseconds at which it arrived here. */
  readonly arrivedAt: number;
}

export interface SliceHistory {
  /** Oldest first; grows while the history is recorded. */
  readonly versions: readonly StoredVersion[];
  /** Ends the watch once it has delivered what is stored now; throws what broke it before. */
  complete(): Promise<void>;
  /** Ends the watch as it is. */
  stop(): Promise<void>;
}

const versionOf = (type: StoredVersion['type'], slice: EndpointSlice): StoredVersion => ({
  type,
  service: slice.metadata?.labels?.[LABEL_SERVICE_NAME] ?? '',
  name: slice.metadata?.name ?? '',
  generation: slice.metadata?.generation ?? 0,
  slice,
  arrivedAt: performance.now(),
});

/** Begins with the versions of now; nothing that is stored after this resolves is missed. */
export const recordSlices = async (client: Client, namespace: string): Promise<SliceHistory> => {
  const { items, metadata } = await client.list<EndpointSlice>(ENDPOINT_SLICES, { namespace, limit: 0 });
  const versions = items.map((slice) => versionOf('ADDED', slice));
  const ending = new AbortController();
  const follow = async (): Promise<void> => {
    let resourceVersion = metadata.resourceVersion ?? '';
    while (!ending.signal.aborted) {
      for await (const event of client.watch<EndpointSlice>(
        ENDPOINT_SLICES,
        { namespace, resourceVersion },
        ending.signal,
      )) {
        if (event.type === 'BOOKMARK') {
          ({ resourceVersion } = event);
          continue;
        }
        versions.push(versionOf(event.type, event.object));
        resourceVersion = event.object.metadata?.resourceVersion ?? resourceVersion;
      }
    }
  };
  let failure: unknown;
  const followed = follow().catch((error: unknown) => {
    if (!ending.signal.aborted) failure = error;
  });
  const assertFollowing = (): void => {
    if (failure !== undefined) throw new Error('the watch of the slices broke', { cause: failure });
  };
  /** Slices, by name, of which the watch has not told yet what is stored. */
  const behind = async (): Promise<string[]> => {
    const stored = await client.list<EndpointSlice>(ENDPOINT_SLICES, { namespace, limit: 0 });
    const seen = new Set(versions.map(({ slice }) => slice.metadata?.resourceVersion));
    return stored.items
      .filter((slice) => !seen.has(slice.metadata?.resourceVersion))
      .map((slice) => slice.metadata?.name ?? '');
  };
  const stop = async (): Promise<void> => {
    ending.abort();
    await followed;
  };
  return {
    versions,
    stop,
    async complete() {
      await waitFor('all versions of the slices', behind, ({ length }) => length === 0, { assert: assertFollowing });
      assertFollowing();
      await stop();
    },
  };
};

const describeVersion = ({ name, generation }: StoredVersion): string => `${name}, generation ${generation}`;

/** Versions in which a ready endpoint had no hint. */
export const bareVersions = (versions: readonly StoredVersion[]): string[] =>
  versions.flatMap((version) => {
    const bare = version.type === 'DELETED' ? [] : bareAddresses(version.slice);
    return bare.length === 0 ? [] : [`${describeVersion(version)}: ${bare.join(', ')}`];
  });

const timeStamp = 'endpoints.kubernetes.io/last-change-trigger-time';

/** What a slice says, apart from its version, who wrote it, and the controller's own time stamp. */
const contentOf = ({ metadata, ...rest }: EndpointSlice): string => {
  const { resourceVersion: _version, managedFields: _managers, annotations = {}, ...kept } = metadata ?? {};
  const others = Object.entries(annotations).filter(([name]) => name !== timeStamp);
  return JSON.stringify({ ...rest, kept, others });
};

/** Versions of one generation in which more than the controller's time stamp differs. */
export const hiddenChanges = (versions: readonly StoredVersion[], from: number): string[] => {
  const last = new Map<string, StoredVersion>();
  return versions.flatMap((version, index) => {
    const before = last.get(version.name);
    last.set(version.name, version);
    if (index < from || before?.generation !== version.generation) return [];
    return contentOf(before.slice) === contentOf(version.slice) ? [] : [describeVersion(version)];
  });
};

/** Versions before which another one is missing: the API server counts every change of a slice's content. */
export const gapsIn = (versions: readonly StoredVersion[]): string[] => {
  const last = new Map<string, number>();
  return versions.flatMap((version) => {
    const { name, generation, type } = version;
    const before = last.get(name);
    if (type === 'DELETED') last.delete(name);
    else last.set(name, generation);
    const follows = before === undefined || generation === before || generation === before + 1;
    return follows || type === 'DELETED' ? [] : [`${describeVersion(version)} comes after generation ${before}`];
  });
};
