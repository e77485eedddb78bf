// What decides whether a kube-apiserver is behind L7 load balancing, strongest evidence first.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { decideLayerSeven, isIstioTlsTerminationDisabled, layerSevenOf } from '../../../pkg/gardener/catalogue.ts';
import type { GardenerInformation, LayerSevenDecision, LayerSevenEvidence } from '../../../pkg/gardener/catalogue.ts';
import { service } from '../../fixtures/core.ts';

const OPT_OUT = { 'shoot.gardener.cloud/disable-istio-tls-termination': 'true' };

describe('decideLayerSeven', () => {
  type Evidence = Partial<LayerSevenEvidence>;
  const cases: {
    name: string;
    evidence: Evidence;
    active: boolean;
    source: LayerSevenDecision['source'];
    says: string;
  }[] = [
    {
      name: 'the mTLS Service decides over everything',
      evidence: {
        mtlsServicePresent: true,
        shootAnnotations: OPT_OUT,
        featureGate: false,
        gardenerVersion: 'v1.100.0',
        configured: false,
      },
      active: true,
      source: 'mtlsService',
      says: 'kube-apiserver-mtls',
    },
    {
      name: 'the opt-out of the Shoot goes before the gate',
      evidence: { shootAnnotations: OPT_OUT, featureGate: true },
      active: false,
      source: 'shootAnnotation',
      says: 'shoot.gardener.cloud/disable-istio-tls-termination',
    },
    {
      name: 'the gate off goes before a version that has it on',
      evidence: { featureGate: false, gardenerVersion: 'v1.144.0', configured: true },
      active: false,
      source: 'featureGate',
      says: 'IstioTLSTermination is off',
    },
    {
      name: 'the gate on goes before a version that has it off',
      evidence: { featureGate: true, gardenerVersion: 'v1.130.0', configured: false },
      active: true,
      source: 'featureGate',
      says: 'IstioTLSTermination is on',
    },
    ...(
      [
        ['v1.143.9', false],
        ['v1.144.0-dev', true],
        ['1.144', true],
        ['v1.150.0-dev-b312835d17', true],
        ['v1.99.0', false],
        ['v2.0.0', true],
      ] as const
    ).map(([gardenerVersion, active]) => ({
      name: `Gardener ${gardenerVersion}`,
      evidence: { gardenerVersion, configured: !active },
      active,
      source: 'gardenerVersion' as const,
      says: gardenerVersion,
    })),
    {
      name: 'a version that cannot be read is passed over',
      evidence: { gardenerVersion: 'main', configured: false },
      active: false,
      source: 'configuration',
      says: 'the configuration sets L7 load balancing off',
    },
    {
      name: 'the configuration says yes',
      evidence: { configured: true },
      active: true,
      source: 'configuration',
      says: 'load balancing on',
    },
    {
      name: 'nothing known counts as L7',
      evidence: {},
      active: true,
      source: 'undecidable',
      says: 'set it in the configuration',
    },
    {
      name: 'an annotation that is not true is no opt-out',
      evidence: { shootAnnotations: { 'shoot.gardener.cloud/disable-istio-tls-termination': 'yes' } },
      active: true,
      source: 'undecidable',
      says: 'cannot determine whether kube-apiserver',
    },
  ];
  for (const { name, evidence, active, source, says } of cases) {
    it(name, () => {
      const decision = decideLayerSeven({ serviceName: 'kube-apiserver', mtlsServicePresent: false, ...evidence });
      expect(decision).to.include({ active, source });
      expect(decision.message).to.include(says);
    });
  }
});

describe('isIstioTlsTerminationDisabled', () => {
  it("takes what Go's ParseBool takes for true", () => {
    const disabled = (value: string): boolean =>
      isIstioTlsTerminationDisabled({ 'shoot.gardener.cloud/disable-istio-tls-termination': value });
    expect(['1', 't', 'T', 'true', 'TRUE', 'True'].map(disabled)).to.deep.equal([true, true, true, true, true, true]);
    expect(['0', 'f', 'false', 'tRUE', 'yes', '', ' true'].some(disabled)).to.equal(false);
    expect(isIstioTlsTerminationDisabled({})).to.equal(false);
    expect(isIstioTlsTerminationDisabled(undefined)).to.equal(false);
  });
});

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
