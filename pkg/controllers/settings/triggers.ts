// SPDX-License-Identifier: Apache-2.0
// Which namespaces a change concerns: one for its own objects, all of an owner for what they share.
import type { Node } from '../../apis/core.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import type { Cache } from './cache.ts';
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

export const connectTriggers = ({ landscape, enqueue, enqueueAll }: TriggerOptions): void => {
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
  onContent(landscape.etcdDefinition, () => enqueueAll(['shoot-settings', 'garden-settings']));
  landscape.etcdDefinition?.onChange(() => landscape.etcds?.poke());
  landscape.nodes.onChange((node, previous, deleted) => {
    if (deleted || previous === undefined || zoneAndKubelet(node) !== zoneAndKubelet(previous)) enqueueAll();
  });
};
