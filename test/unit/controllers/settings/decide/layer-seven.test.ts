// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { GardenerInformation } from '../../../../../pkg/apis/config/settings-reconciler.ts';
import { layerSevenOf } from '../../../../../pkg/controllers/settings/decide/layer-seven.ts';
import { service } from '../../../../fixtures/core.ts';

const mtls = service({ metadata: { name: 'kube-apiserver-mtls' } });
const off: GardenerInformation = { featureGates: { IstioTLSTermination: false } };
const cases: {
  name: string;
  services?: ReturnType<typeof service>[];
  gardener: GardenerInformation;
  optedOut?: boolean;
  active: boolean;
  source: string;
}[] = [
  {
    name: 'the Service beside decides before the gate',
    services: [mtls],
    gardener: off,
    active: true,
    source: 'mtlsService',
  },
  { name: 'the opt-out of the Shoot', gardener: {}, optedOut: true, active: false, source: 'shootAnnotation' },
  { name: 'the gate', gardener: off, active: false, source: 'featureGate' },
  {
    name: 'another gate says nothing',
    gardener: { featureGates: { Other: false } },
    active: true,
    source: 'undecidable',
  },
  { name: 'the version', gardener: { version: 'v1.143.9' }, active: false, source: 'gardenerVersion' },
  { name: 'the configuration', gardener: { layerSevenDefault: false }, active: false, source: 'configuration' },
  { name: 'nothing', gardener: {}, active: true, source: 'undecidable' },
];

describe('layerSevenOf', () => {
  for (const { name, services = [], gardener, optedOut = false, active, source } of cases) {
    it(`${name}: ${active ? 'L7' : 'not L7'}`, () => {
      const annotations = optedOut ? { 'shoot.gardener.cloud/disable-istio-tls-termination': 'true' } : undefined;
      expect(layerSevenOf(services, gardener, annotations)('kube-apiserver')).to.include({ active, source });
    });
  }
});
