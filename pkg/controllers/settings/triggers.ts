// SPDX-License-Identifier: Apache-2.0
// Which namespaces a change concerns: one for its own objects, all of an owner for what they share.
import type { Node } from '../../apis/core.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { extensionClassOf } from '../../gardener/extension/governing.ts';
import type { ReadExtension } from '../../gardener/extension/types.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { Landscape } from './landscape.ts';
import type { Owner } from './ownership.ts';

export interface TriggerOptions {
  landscape: Landscape;
  /** Reconcile this namespace. */
  enqueue(namespace: string): void;
  /** Reconcile all namespaces of these owners; all owners if omitted. */
  enqueueAll(owners?: readonly Owner[]): void;
}

/** Whether two cached states differ in anything but their version: status updates are most of all writes. */
export const hasChanged = <T extends KubernetesObject>(object: T, previous: T | undefined): boolean => {
  if (previous === undefined) return true;
  const { resourceVersion: _one, generation: _two, ...meta } = object.metadata ?? {};
  const { resourceVersion: _three, generation: _four, ...before } = previous.metadata ?? {};
  return JSON.stringify({ ...object, metadata: meta }) !== JSON.stringify({ ...previous, metadata: before });
};

const onContent = <T extends KubernetesObject>(cache: Cache<T> | undefined, handler: (object: T) => void): void =>
  cache?.onChange((object, previous, deleted) => {
    if (deleted || hasChanged(object, previous)) handler(object);
  });

const zoneAndKubelet = ({ metadata, status }: Node): string =>
  JSON.stringify([metadata?.labels?.[LABEL_ZONE], status?.conditions, status?.nodeInfo?.kubeletVersion]);

/** What of an Extension decides about Services: not what is written on it all the time. */
const asked = (extension: ReadExtension): string => {
  const { metadata, spec, status, reading } = extension;
  const leaves = metadata?.deletionTimestamp !== undefined;
  return JSON.stringify([spec?.type, spec?.class, reading, leaves, status?.lastOperation?.type === 'Migrate']);
};

/** Class shoot is about its own namespace, the others about all of an owner. */
const connectExtensions = ({ landscape, enqueue, enqueueAll }: TriggerOptions): void =>
  landscape.extensions?.onChange((extension, previous, deleted) => {
    if (extension.reading === undefined) return;
    if (!deleted && previous !== undefined && asked(extension) === asked(previous)) return;
    const own = extensionClassOf(extension);
    if (own === 'shoot') enqueue(extension.metadata?.namespace ?? '');
    if (own === 'seed') enqueueAll(['extension-settings']);
    if (own === 'garden') enqueueAll(['garden-settings']);
  });

export const connectTriggers = (options: TriggerOptions): void => {
  const { landscape, enqueue, enqueueAll } = options;
  const ofObject = ({ metadata }: KubernetesObject): void => enqueue(metadata?.namespace ?? '');
  onContent(landscape.services, ofObject);
  onContent(landscape.etcds, ofObject);
  const named = ({ metadata }: KubernetesObject): void => enqueue(metadata?.name ?? '');
  onContent(landscape.namespaces, named);
  // A Cluster is named like its namespace; without another source its Seed counts for extensions too.
  onContent(landscape.clusters, (cluster) => {
    named(cluster);
    if (landscape.liveSeed?.list().length !== 1) enqueueAll(['extension-settings']);
  });
  onContent(landscape.liveSeed, () => enqueueAll(['shoot-settings', 'extension-settings']));
  onContent(landscape.gardens, () => enqueueAll(['garden-settings']));
  connectExtensions(options);
  landscape.nodes.onChange((node, previous, deleted) => {
    if (deleted || previous === undefined || zoneAndKubelet(node) !== zoneAndKubelet(previous)) enqueueAll();
  });
};
