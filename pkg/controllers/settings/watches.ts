// Which namespaces a change concerns: one for its own objects, all of an owner for what they share.
import { type Node, isSwitching } from '../../apis/core.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { type ReadExtension, extensionClassOf } from '../../gardener/extension/select.ts';
import { type KeysOf, type Watch, changes, contents, hasChanged, objects } from '../../kubernetes/watches.ts';
import type { SettingsCaches } from './caches.ts';
import type { Owner } from './context.ts';

/** All namespaces of these owners; of every owner if omitted. */
export type Owned = (owners?: readonly Owner[]) => string[];

export const zoneAndKubelet = ({ metadata, status }: Node): string =>
  JSON.stringify([metadata?.labels?.[LABEL_ZONE], status?.conditions, status?.nodeInfo?.kubeletVersion]);

/** What of an Extension decides about Services: not what is written on it all the time. */
const askedBy = (extension: ReadExtension): string => {
  const { metadata, spec, status, reading } = extension;
  const leaves = metadata?.deletionTimestamp !== undefined;
  return JSON.stringify([spec?.type, spec?.class, reading, leaves, status?.lastOperation?.type === 'Migrate']);
};

/** Class shoot is about its own namespace, the others about all of an owner. */
const ofExtensions =
  (owned: Owned): KeysOf<ReadExtension> =>
  (extension, previous, deleted) => {
    if (extension.reading === undefined) return [];
    if (!deleted && previous !== undefined && askedBy(extension) === askedBy(previous)) return [];
    const own = extensionClassOf(extension);
    if (own === 'shoot') return [extension.metadata?.namespace ?? ''];
    return own === undefined ? [] : owned([own === 'seed' ? 'extension-settings' : 'garden-settings']);
  };

export const settingsWatches = (caches: SettingsCaches, owned: Owned): Watch[] => {
  const namespaceOf = ({ metadata }: KubernetesObject): string[] => [metadata?.namespace ?? ''];
  const named = ({ metadata }: KubernetesObject): string[] => [metadata?.name ?? ''];
  return [
    ...objects(caches.namespaces, (one, previous, deleted) => (deleted || hasChanged(one, previous) ? named(one) : [])),
    ...changes(caches.namespaces, (namespace, previous) => (isSwitching(namespace, previous) ? owned() : [])),
    ...contents(caches.services, namespaceOf),
    ...contents(caches.etcds, namespaceOf),
    // A Cluster is named like its namespace; without another source its Seed counts for extensions too.
    ...contents(caches.clusters, (cluster) => [
      ...named(cluster),
      ...(caches.liveSeed?.list().length === 1 ? [] : owned(['extension-settings'])),
    ]),
    ...contents(caches.liveSeed, () => owned(['shoot-settings', 'extension-settings'])),
    ...contents(caches.gardens, () => owned(['garden-settings'])),
    ...changes(caches.extensions, ofExtensions(owned)),
    ...changes(caches.nodes, (node, previous, deleted) =>
      deleted || previous === undefined || zoneAndKubelet(node) !== zoneAndKubelet(previous) ? owned() : [],
    ),
  ];
};
