// SPDX-License-Identifier: Apache-2.0
// Which Nodes and Services a change concerns.
import { ANNOTATION_GROUP_SERVICE, ANNOTATION_SERVICE_TOPOLOGY } from '../../apis/names.ts';
import type { Service } from '../../apis/core.ts';
import { nameOf } from '../../kubeedge/membership.ts';
import { zoneOf } from '../../kubeedge/node.ts';
import { hasChanged } from '../settings/triggers.ts';
import { keyOf, servicesOn } from './landscape.ts';
import type { NodeGroupLandscape } from './landscape.ts';

export interface TriggerOptions {
  landscape: NodeGroupLandscape;
  node(name: string): void;
  /** A Service whose endpoints may be stored with an old zone. */
  touch(key: string): void;
  /** A Service with KubeEdge's annotation, or with ours. */
  service(key: string): void;
}

const isMarked = ({ metadata }: Service): boolean =>
  metadata?.annotations?.[ANNOTATION_SERVICE_TOPOLOGY] !== undefined ||
  metadata?.annotations?.[ANNOTATION_GROUP_SERVICE] !== undefined;

/** Everything there is, as after a change of the groups themselves. */
export const enqueueAll = ({ landscape, node, touch, service }: TriggerOptions): void => {
  const { nodes, services } = landscape;
  for (const one of nodes.list()) node(nameOf(one));
  for (const one of services.list()) {
    touch(keyOf(one));
    if (isMarked(one)) service(keyOf(one));
  }
};

export const connectTriggers = (options: TriggerOptions): void => {
  const { landscape, node, touch, service } = options;
  const { groups, nodes, services, slices, meshes } = landscape;
  const enqueueMarked = (): void =>
    services
      .list()
      .filter(isMarked)
      .forEach((one) => service(keyOf(one)));
  groups.onChange((group, previous, deleted) => {
    if (!deleted && !hasChanged(group, previous)) return;
    for (const one of nodes.list()) node(nameOf(one));
    enqueueMarked();
  });
  nodes.onChange((one, previous, deleted) => {
    if (deleted || hasChanged(one, previous)) node(nameOf(one));
    const moved = !deleted && (previous === undefined || zoneOf(previous) !== zoneOf(one));
    if (moved) servicesOn(landscape, nameOf(one)).forEach(touch);
  });
  slices.onChange(({ metadata, service: name }) => {
    if (name !== '') touch(`${metadata?.namespace ?? ''}/${name}`);
  });
  services.onChange((one, previous, deleted) => {
    const marked = isMarked(one) || (previous !== undefined && isMarked(previous));
    if (marked && (deleted || hasChanged(one, previous))) service(keyOf(one));
  });
  meshes.onChange((_mesh, previous, deleted) => {
    if (deleted || previous === undefined) enqueueMarked();
  });
};
