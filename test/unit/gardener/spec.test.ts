// What specs say, with the tables of Gardener's own tests, and how many zones a list really names.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Garden, Seed, Shoot, TopologyAwareRoutingSettings } from '../../../pkg/apis/gardener.ts';
import {
  assessZones,
  controlPlaneNamespace,
  failureToleranceType,
  gardenTopologyAwareRoutingEnabled,
  isHighAvailabilityConfigured,
  isMultiZonalShootControlPlane,
  isSelfHostedShoot,
  isTopologyAwareRoutingEnabled,
  seedTopologyAwareRoutingEnabled,
} from '../../../pkg/gardener/decide.ts';
import { shoot } from '../../fixtures/gardener.ts';

const settingCases: { name: string; settings: TopologyAwareRoutingSettings | null | undefined; expected: boolean }[] = [
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
  for (const { name, settings, expected } of settingCases) {
    it(`${name}: ${expected}`, () => {
      expect(isTopologyAwareRoutingEnabled(settings)).to.equal(expected);
      const inSeed = { spec: { settings } } as Seed;
      const inGarden = { spec: { runtimeCluster: { settings } } } as Garden;
      expect(seedTopologyAwareRoutingEnabled(inSeed), 'Seed').to.equal(expected);
      expect(gardenTopologyAwareRoutingEnabled(inGarden), 'Garden').to.equal(expected);
    });
  }
});

describe('failure tolerance of a shoot', () => {
  const withControlPlane = (controlPlane: unknown): Shoot => ({ spec: { controlPlane } }) as Shoot;
  const cases: { name: string; shoot: Shoot | null | undefined; type: string | undefined; configured: boolean }[] = [
    { name: 'undefined', shoot: undefined, type: undefined, configured: false },
    { name: 'null', shoot: null, type: undefined, configured: false },
    { name: 'no spec', shoot: {}, type: undefined, configured: false },
    { name: 'no control plane', shoot: { spec: {} }, type: undefined, configured: false },
    { name: 'null control plane', shoot: withControlPlane(null), type: undefined, configured: false },
    { name: 'empty control plane', shoot: withControlPlane({}), type: undefined, configured: false },
    {
      name: 'null high availability',
      shoot: withControlPlane({ highAvailability: null }),
      type: undefined,
      configured: false,
    },
    {
      name: 'empty high availability',
      shoot: withControlPlane({ highAvailability: {} }),
      type: undefined,
      configured: true,
    },
    {
      name: 'null failure tolerance',
      shoot: withControlPlane({ highAvailability: { failureTolerance: null } }),
      type: undefined,
      configured: true,
    },
    { name: 'node', shoot: shoot({ failureTolerance: 'node' }), type: 'node', configured: true },
    { name: 'zone', shoot: shoot({ failureTolerance: 'zone' }), type: 'zone', configured: true },
  ];
  for (const { name, shoot: object, type, configured } of cases) {
    it(name, () => {
      expect(failureToleranceType(object)).to.equal(type);
      expect(isHighAvailabilityConfigured(object)).to.equal(configured);
      expect(isMultiZonalShootControlPlane(object)).to.equal(type === 'zone');
    });
  }
});

describe('self-hosted shoots', () => {
  const hosted = shoot();
  const selfHosted = shoot({ spec: { provider: { workers: [{ name: 'w' }, { name: 'cp', controlPlane: {} }] } } });

  it('have a worker with controlPlane, even an empty one', () => {
    expect(isSelfHostedShoot(selfHosted)).to.equal(true);
    expect(isSelfHostedShoot(hosted)).to.equal(false);
    expect(
      isSelfHostedShoot({ spec: { provider: { workers: [{ name: 'w', controlPlane: null }] } } } as never),
    ).to.equal(false);
    for (const nothing of [undefined, null, {}, { spec: { provider: {} } }])
      expect(isSelfHostedShoot(nothing)).to.equal(false);
  });

  it('have their control plane in kube-system, others where the technical ID says', () => {
    expect(controlPlaneNamespace(selfHosted)).to.equal('kube-system');
    expect(controlPlaneNamespace(hosted)).to.equal('shoot--foo--bar');
    expect(controlPlaneNamespace({})).to.equal(undefined);
  });
});

describe('assessZones', () => {
  const single = (reason: string, ...zones: string[]): object => ({ kind: 'single', reason, zones });
  const cases: { name: string; zones: string[] | null | undefined; expected: object }[] = [
    { name: 'undefined', zones: undefined, expected: single('SingleZone') },
    { name: 'null', zones: null, expected: single('SingleZone') },
    { name: 'none', zones: [], expected: single('SingleZone') },
    { name: 'one', zones: ['a'], expected: single('SingleZone', 'a') },
    { name: 'only empty names', zones: ['', ''], expected: single('SingleZone') },
    { name: 'one beside an empty name', zones: ['a', ''], expected: single('SingleZone', 'a') },
    { name: 'one named twice', zones: ['a', 'a'], expected: single('DuplicateZones', 'a') },
    { name: 'one named twice beside an empty name', zones: ['a', '', 'a'], expected: single('DuplicateZones', 'a') },
    { name: 'two', zones: ['a', 'b'], expected: { kind: 'multi', zones: ['a', 'b'] } },
    { name: 'two with repetition', zones: ['b', 'a', 'b'], expected: { kind: 'multi', zones: ['b', 'a'] } },
    { name: 'three', zones: ['a', 'b', 'c'], expected: { kind: 'multi', zones: ['a', 'b', 'c'] } },
    { name: 'names that differ in case', zones: ['a', 'A'], expected: { kind: 'multi', zones: ['a', 'A'] } },
    { name: 'a string in place of a list', zones: 'ab' as never, expected: single('SingleZone') },
    { name: 'members that are no strings', zones: [1, 2, null] as never, expected: single('SingleZone') },
  ];
  for (const { name, zones, expected } of cases) it(name, () => expect(assessZones(zones)).to.deep.equal(expected));
});
