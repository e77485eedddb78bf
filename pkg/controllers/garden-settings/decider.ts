// SPDX-License-Identifier: Apache-2.0
// Gathers the snapshot of the garden namespace, or of a runtime extension's, from the caches.
import type { GardenModeConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Governing } from '../../gardener/extension/types.ts';
import type { Landscape } from '../settings/landscape.ts';
import type { Decider } from '../settings/types.ts';
import type { View } from '../settings/view.ts';
import { decideGardenSettings } from './decide.ts';

export const createGardenDecider =
  (
    landscape: Landscape,
    view: View,
    mode: GardenModeConfiguration,
    governing: (namespace: string) => Governing | undefined,
  ): Decider =>
  (namespace) =>
    decideGardenSettings({
      namespace,
      components: namespace === mode.namespace,
      // Gardener allows exactly one Garden.
      garden: landscape.gardens?.list()[0],
      services: view.services(namespace),
      etcds: view.etcds(namespace),
      gardener: mode.gardener,
      governing: governing(namespace),
      context: view.context(),
    });
