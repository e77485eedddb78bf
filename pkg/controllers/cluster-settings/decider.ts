// SPDX-License-Identifier: Apache-2.0
// Gathers the snapshot of one namespace of a cluster without Gardener from the caches.
import { LABEL_ZONE } from '../../apis/names.ts';
import type { Landscape } from '../settings/landscape.ts';
import type { Decider } from '../settings/types.ts';
import type { View } from '../settings/view.ts';
import { decideClusterSettings } from './decide.ts';

/**
 * Ready or not: a zone whose Nodes fail, or that is not heard of for a moment, is no reason to rewrite all Services twice. Proxies
 * fall back by themselves.
 */
const zonesOf = ({ nodes }: Landscape): string[] | undefined => {
  const known = nodes.list();
  // Refused, not served or an empty list: a cluster whose Services are used has Nodes.
  if (known.length === 0) return undefined;
  return known.flatMap(({ metadata }) => metadata?.labels?.[LABEL_ZONE] || []);
};

export const createClusterDecider =
  (landscape: Landscape, view: View): Decider =>
  (namespace) =>
    decideClusterSettings({
      namespace,
      zones: zonesOf(landscape),
      services: view.services(namespace),
      context: view.context(),
    });
