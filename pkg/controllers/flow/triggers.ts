// SPDX-License-Identifier: Apache-2.0
// Which Services a change concerns: those that an object belongs to, and all of them when the zones change.
import type { Node } from '../../apis/core.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import type { FlowSlice } from '../../flow/assemble/slice.ts';
import type { RecentWrites } from '../../kubernetes/recent-writes.ts';
import { keyOf, servicesOfPod } from './landscape.ts';
import type { Landscape } from './landscape.ts';
import type { View } from './view.ts';

export interface TriggerOptions {
  landscape: Landscape;
  view: View;
  recent: Pick<RecentWrites<FlowSlice>, 'forget'>;
  enqueue(key: string): void;
}

/** What of a Node can change a plan. */
const relevant = ({ metadata, status }: Node): string =>
  JSON.stringify([metadata?.labels, status?.conditions, status?.allocatable]);

const sameContent = (left: FlowSlice, right: FlowSlice): boolean =>
  left.service === right.service &&
  left.strategy === right.strategy &&
  left.mark === right.mark &&
  JSON.stringify(left.endpoints) === JSON.stringify(right.endpoints);

export const connectTriggers = ({ landscape, view, recent, enqueue }: TriggerOptions): void => {
  const { services, slices, pods, nodes, policies, namespaces } = landscape;
  const enqueueAll = (): void => view.services().forEach(enqueue);
  services.onChange((service) => enqueue(keyOf(service)));
  policies.onChange((policy, previous, deleted) => {
    // A status that was written changes nothing for the loop.
    const edited = JSON.stringify(policy.spec ?? {}) !== JSON.stringify(previous?.spec ?? {});
    if (deleted || previous === undefined || edited) enqueue(keyOf(policy));
  });
  slices.onChange((slice, previous, deleted) => {
    if (deleted) recent.forget(keyOf(slice));
    if (slice.service === '' || (previous !== undefined && !deleted && sameContent(slice, previous))) return;
    enqueue(`${slice.metadata?.namespace ?? ''}/${slice.service}`);
  });
  pods.onChange((pod, previous, deleted) => {
    const resized = JSON.stringify(pod.cpu) !== JSON.stringify(previous?.cpu);
    if (!deleted && (previous === undefined || resized)) servicesOfPod(slices, pod).forEach(enqueue);
  });
  nodes.onChange((node, previous, deleted) => {
    if (!deleted && previous !== undefined && relevant(node) === relevant(previous)) return;
    view.nodesChanged();
    const zone = previous?.metadata?.labels?.[LABEL_ZONE] ?? node.metadata?.labels?.[LABEL_ZONE];
    if (zone !== undefined) enqueueAll();
  });
  namespaces.onChange((namespace, previous, deleted) => {
    const relabelled = JSON.stringify(namespace.metadata?.labels) !== JSON.stringify(previous?.metadata?.labels);
    if (deleted || !relabelled) return;
    for (const key of services.list().map(keyOf))
      if (key.startsWith(`${namespace.metadata?.name ?? ''}/`)) enqueue(key);
  });
};
