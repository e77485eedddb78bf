// SPDX-License-Identifier: Apache-2.0
// High availability of shoots and gardens, with the tables of Gardener's own tests.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Garden, Shoot } from '../../../pkg/apis/gardener.ts';
import {
  controlPlaneNamespace,
  failureToleranceType,
  isGardenHighAvailabilityEnabled,
  isHighAvailabilityConfigured,
  isMultiZonalShootControlPlane,
  isSelfHostedShoot,
  isTopologyAwareRoutingForShootControlPlaneEnabled,
} from '../../../pkg/gardener/high-availability.ts';
import { seed, shoot } from '../../fixtures/gardener.ts';

describe('isTopologyAwareRoutingForShootControlPlaneEnabled', () => {
  for (const enabled of [null, false, true]) {
    for (const failureTolerance of [null, 'node', 'zone'] as const) {
      const expected = enabled === true && failureTolerance === 'zone';
      it(`setting ${enabled}, failure tolerance ${failureTolerance}: ${expected}`, () => {
        expect(
          isTopologyAwareRoutingForShootControlPlaneEnabled(seed({ enabled }), shoot({ failureTolerance })),
        ).to.equal(expected);
      });
    }
  }

  it('is off without a seed or a shoot, where Gardener would panic', () => {
    for (const nothing of [undefined, null]) {
      expect(isTopologyAwareRoutingForShootControlPlaneEnabled(nothing, shoot())).to.equal(false);
      expect(isTopologyAwareRoutingForShootControlPlaneEnabled(seed(), nothing)).to.equal(false);
    }
  });
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

describe('isGardenHighAvailabilityEnabled', () => {
  const withVirtual = (virtualCluster: unknown): Garden => ({ spec: { virtualCluster } }) as Garden;
  const cases: { name: string; garden: Garden | null | undefined; expected: boolean }[] = [
    { name: 'undefined', garden: undefined, expected: false },
    { name: 'null', garden: null, expected: false },
    { name: 'no spec', garden: {}, expected: false },
    { name: 'no virtual cluster', garden: { spec: {} }, expected: false },
    { name: 'no control plane', garden: withVirtual({}), expected: false },
    { name: 'null control plane', garden: withVirtual({ controlPlane: null }), expected: false },
    { name: 'no high availability', garden: withVirtual({ controlPlane: {} }), expected: false },
    {
      name: 'null high availability',
      garden: withVirtual({ controlPlane: { highAvailability: null } }),
      expected: false,
    },
    {
      name: 'empty high availability counts',
      garden: withVirtual({ controlPlane: { highAvailability: {} } }),
      expected: true,
    },
  ];
  for (const { name, garden, expected } of cases) {
    it(`${name}: ${expected}`, () => expect(isGardenHighAvailabilityEnabled(garden)).to.equal(expected));
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
