// SPDX-License-Identifier: Apache-2.0
// Gathers the snapshot of a seed extension's namespace from the caches.
import type { SeedModeConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Cluster } from '../../apis/gardener.ts';
import type { Governing } from '../../gardener/extension/types.ts';
import type { Landscape } from '../settings/landscape.ts';
import { chooseSeed } from '../settings/seed-source.ts';
import type { Decider } from '../settings/types.ts';
import type { View } from '../settings/view.ts';
import { decideExtensionSettings } from './decide.ts';

/** All Clusters carry the same Seed, each as old as its last reconcile; the one written last is the freshest. */
const freshest = (clusters: readonly Cluster[]): Cluster | undefined => {
  const version = ({ metadata }: Cluster): bigint => {
    const text = metadata?.resourceVersion ?? '';
    return /^\d+$/.test(text) ? BigInt(text) : 0n;
  };
  return clusters
    .filter(({ spec }) => spec?.seed !== undefined)
    .reduce<Cluster | undefined>(
      (best, next) => (best === undefined || version(next) > version(best) ? next : best),
      undefined,
    );
};

export const createExtensionDecider =
  (
    landscape: Landscape,
    view: View,
    mode: SeedModeConfiguration,
    governing: (namespace: string) => Governing | undefined,
  ): Decider =>
  (namespace) => {
    const live = landscape.liveSeed?.list()[0];
    const needed = live === undefined && mode.seed === undefined;
    const ofCluster = needed ? freshest(landscape.clusters?.list() ?? [])?.spec?.seed : undefined;
    return decideExtensionSettings({
      namespace,
      seed: chooseSeed({ live, configured: mode.seed, ofCluster, name: mode.seedName }),
      services: view.services(namespace),
      governing: governing(namespace),
      context: view.context(),
    });
  };
