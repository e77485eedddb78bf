// SPDX-License-Identifier: Apache-2.0
// Which Nodes and Services a change concerns.
import type { Service } from '../../apis/core.ts';
import { ANNOTATION_GROUP_SERVICE, ANNOTATION_SERVICE_TOPOLOGY } from '../../apis/names.ts';
import { nameOf } from '../../kubeedge/membership.ts';
import { zoneOf } from '../../kubeedge/node.ts';
import type { GroupNode } from '../../kubeedge/node.ts';
import type { PlacedSlice } from '../../kubeedge/stale.ts';
import { changes, hasChanged, objects } from '../../kubernetes/watches.ts';
import type { Watch } from '../../kubernetes/watches.ts';
import { keyOf, servicesOn } from './caches.ts';
import type { NodeGroupCaches } from './caches.ts';

const isMarked = ({ metadata }: Service): boolean =>
  metadata?.annotations?.[ANNOTATION_SERVICE_TOPOLOGY] !== undefined ||
  metadata?.annotations?.[ANNOTATION_GROUP_SERVICE] !== undefined;

/** Nodes: each for itself, and all of them for the groups that they may be in. */
export const nodeWatches = ({ groups, nodes }: NodeGroupCaches): Watch[] => [
  ...objects(nodes, (node, previous, deleted) => (deleted || hasChanged(node, previous) ? [nameOf(node)] : [])),
  ...changes(groups, (group, previous, deleted) =>
    deleted || hasChanged(group, previous) ? nodes.list().map(nameOf) : [],
  ),
];

/** Services whose endpoints may be stored with an old zone; `concerns` says which may have something to do. */
export const touchWatches = (caches: NodeGroupCaches, concerns: (key: string) => boolean): Watch[] => {
  const onNode = (node: GroupNode, previous: GroupNode | undefined, deleted: boolean): string[] => {
    const moved = !deleted && (previous === undefined || zoneOf(previous) !== zoneOf(node));
    return moved ? [...servicesOn(caches, nameOf(node))].filter(concerns) : [];
  };
  const ofSlice = ({ metadata, service }: PlacedSlice): string[] => {
    const key = `${metadata?.namespace ?? ''}/${service}`;
    return service !== '' && concerns(key) ? [key] : [];
  };
  return [...objects(caches.slices, ofSlice), ...changes(caches.nodes, onNode)];
};

/** Services with KubeEdge's annotation, or with ours. */
export const serviceWatches = ({ groups, services, meshes }: NodeGroupCaches): Watch[] => {
  const marked = (): string[] => services.list().filter(isMarked).map(keyOf);
  return [
    ...objects(services, (service, previous, deleted) => {
      const concerned = isMarked(service) || (previous !== undefined && isMarked(previous));
      return concerned && (deleted || hasChanged(service, previous)) ? [keyOf(service)] : [];
    }),
    ...changes(groups, (group, previous, deleted) => (deleted || hasChanged(group, previous) ? marked() : [])),
    ...changes(meshes, (_mesh, previous, deleted) => (deleted || previous === undefined ? marked() : [])),
  ];
};
