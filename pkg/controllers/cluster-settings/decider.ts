// SPDX-License-Identifier: Apache-2.0
// Gathers the snapshot of one namespace of a cluster without Gardener from the caches.
import { readyZones } from '../effectiveness/reconciler.ts';
import type { Landscape } from '../settings/landscape.ts';
import type { Decider } from '../settings/types.ts';
import type { View } from '../settings/view.ts';
import { decideClusterSettings } from './decide.ts';

export const createClusterDecider =
  (landscape: Landscape, view: View): Decider =>
  (namespace) =>
    decideClusterSettings({
      namespace,
      zones: readyZones(landscape.nodes.list()),
      services: view.services(namespace),
      context: view.context(),
    });
