// SPDX-License-Identifier: Apache-2.0
// Gathers the snapshot of one shoot namespace from the caches.
import type { SeedModeConfiguration } from '../../apis/config/settings-reconciler.ts';
import { classifyNamespace } from '../../gardener/namespaces.ts';
import type { Governing } from '../../gardener/extension/types.ts';
import type { Landscape } from '../settings/landscape.ts';
import { chooseSeed } from '../settings/seed-source.ts';
import type { Decider } from '../settings/types.ts';
import type { View } from '../settings/view.ts';
import { decideShootSettings } from './decide.ts';

export const createShootDecider =
  (
    landscape: Landscape,
    view: View,
    mode: SeedModeConfiguration,
    governing: (namespace: string) => Governing | undefined,
  ): Decider =>
  (name) => {
    const namespace = view.namespace(name);
    if (namespace === undefined) return undefined;
    const cluster = landscape.clusters?.get({ name });
    return decideShootSettings({
      namespace: name,
      selfHosted: classifyNamespace(namespace).kind === 'selfHosted',
      cluster,
      seed: chooseSeed({
        live: landscape.liveSeed?.list()[0],
        configured: mode.seed,
        ofCluster: cluster?.spec?.seed,
        name: mode.seedName,
      }),
      services: view.services(name),
      etcds: view.etcds(name),
      gardener: mode.gardener,
      governing: governing(name),
      context: view.context(),
    });
  };
