// SPDX-License-Identifier: Apache-2.0
// The topology-aware routing setting of a Seed and a Garden, read as Gardener's own helpers read it.
import type { Garden, Seed, TopologyAwareRoutingSettings } from '../apis/gardener.ts';

/** True only where the setting is there and on. Zones are not looked at: see decide.ts. */
export const isTopologyAwareRoutingEnabled = (settings: TopologyAwareRoutingSettings | null | undefined): boolean =>
  settings?.topologyAwareRouting?.enabled === true;

/** `spec.settings.topologyAwareRouting.enabled` of a Seed. */
export const seedTopologyAwareRoutingEnabled = (seed: Pick<Seed, 'spec'> | null | undefined): boolean =>
  isTopologyAwareRoutingEnabled(seed?.spec?.settings);

/** `spec.runtimeCluster.settings.topologyAwareRouting.enabled` of a Garden. */
export const gardenTopologyAwareRoutingEnabled = (garden: Pick<Garden, 'spec'> | null | undefined): boolean =>
  isTopologyAwareRoutingEnabled(garden?.spec?.runtimeCluster?.settings);
