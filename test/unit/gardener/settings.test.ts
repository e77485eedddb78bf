// SPDX-License-Identifier: Apache-2.0
// The setting of Seed and Garden, with the tables of Gardener's own tests.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Garden, Seed, TopologyAwareRoutingSettings } from '../../../pkg/apis/gardener.ts';
import {
  gardenTopologyAwareRoutingEnabled,
  isTopologyAwareRoutingEnabled,
  seedTopologyAwareRoutingEnabled,
} from '../../../pkg/gardener/settings.ts';
import { garden, seed } from '../../fixtures/gardener.ts';

const cases: { name: string; settings: TopologyAwareRoutingSettings | null | undefined; expected: boolean }[] = [
  { name: 'no settings', settings: undefined, expected: false },
  { name: 'null settings', settings: null, expected: false },
  { name: 'empty settings', settings: {}, expected: false },
  { name: 'null in place of the setting', settings: { topologyAwareRouting: null } as never, expected: false },
  { name: 'an empty setting', settings: { topologyAwareRouting: {} }, expected: false },
  { name: 'enabled', settings: { topologyAwareRouting: { enabled: true } }, expected: true },
  { name: 'disabled', settings: { topologyAwareRouting: { enabled: false } }, expected: false },
  { name: 'a string', settings: { topologyAwareRouting: { enabled: 'true' } } as never, expected: false },
];

describe('the topology-aware routing setting', () => {
  for (const { name, settings, expected } of cases) {
    it(`${name}: ${expected}`, () => {
      expect(isTopologyAwareRoutingEnabled(settings)).to.equal(expected);
      const inSeed = { spec: { settings } } as Seed;
      const inGarden = { spec: { runtimeCluster: { settings } } } as Garden;
      expect(seedTopologyAwareRoutingEnabled(inSeed), 'Seed').to.equal(expected);
      expect(gardenTopologyAwareRoutingEnabled(inGarden), 'Garden').to.equal(expected);
    });
  }

  it('is off where there is no object, or hardly one', () => {
    for (const nothing of [undefined, null, {}, { spec: {} }]) {
      expect(seedTopologyAwareRoutingEnabled(nothing)).to.equal(false);
      expect(gardenTopologyAwareRoutingEnabled(nothing)).to.equal(false);
    }
  });

  it('does not look at zones', () => {
    expect(seedTopologyAwareRoutingEnabled(seed({ zones: ['one'] }))).to.equal(true);
    expect(gardenTopologyAwareRoutingEnabled(garden({ zones: [] }))).to.equal(true);
  });
});
