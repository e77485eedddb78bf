// What decides whether a kube-apiserver is behind L7 load balancing, strongest evidence first.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { decideLayerSeven, isIstioTlsTerminationDisabled, layerSevenOf } from '../../../pkg/gardener/catalogue.ts';
import type { GardenerInformation, LayerSevenDecision, LayerSevenEvidence } from '../../../pkg/gardener/catalogue.ts';
import { service } from '../../fixtures/core.ts';

const OPT_OUT = { 'shoot.gardener.cloud/disable-istio-tls-termination': 'true' };

describe('decideLayerSeven', () => {
  const versions = [
    ['v1.143.9', false],
    ['v1.144.0-dev', true],
    ['1.144', true],
    ['v1.150.0-dev-b312835d17', true],
    ['v1.99.0', false],
    ['v2.0.0', true],
  ] as const;
  const all = { shootAnnotations: OPT_OUT, featureGate: false, gardenerVersion: 'v1.100.0', configured: false };
  const noOptOut = { 'shoot.gardener.cloud/disable-istio-tls-termination': 'yes' };
  /** `is`: L7 or not, and what shows it. */
  const cases: readonly (readonly [name: string, evidence: Partial<LayerSevenEvidence>, is: string, says: string])[] = [
    ['mTLS over everything', { mtlsServicePresent: true, ...all }, 'true mtlsService', 'kube-apiserver-mtls'],
    [
      'the opt-out before the gate',
      { ...all, featureGate: true },
      'false shootAnnotation',
      'disable-istio-tls-termination',
    ],
    [
      'the gate off goes before a version that has it on',
      { featureGate: false, gardenerVersion: 'v1.144.0', configured: true },
      'false featureGate',
      'IstioTLSTermination is off',
    ],
    [
      'the gate on goes before a version that has it off',
      { featureGate: true, gardenerVersion: 'v1.130.0', configured: false },
      'true featureGate',
      'IstioTLSTermination is on',
    ],
    ...versions.map(
      ([gardenerVersion, active]) =>
        [
          `Gardener ${gardenerVersion}`,
          { gardenerVersion, configured: !active },
          `${active} gardenerVersion`,
          gardenerVersion,
        ] as const,
    ),
    ['no version', { gardenerVersion: 'main', configured: false }, 'false configuration', 'sets L7 load balancing off'],
    ['the configuration says yes', { configured: true }, 'true configuration', 'load balancing on'],
    ['nothing known counts as L7', {}, 'true undecidable', 'set it in the configuration'],
    ['no opt-out', { shootAnnotations: noOptOut }, 'true undecidable', 'cannot determine whether kube-apiserver'],
  ];
  for (const [name, evidence, is, says] of cases) {
    it(name, () => {
      const decision = decideLayerSeven({ serviceName: 'kube-apiserver', mtlsServicePresent: false, ...evidence });
      expect(`${decision.active} ${decision.source}`).to.equal(is);
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

describe('layerSevenOf', () => {
  const mtls = service({ metadata: { name: 'kube-apiserver-mtls' } });
  const off: GardenerInformation = { featureGates: { IstioTLSTermination: false } };
  const rows: readonly (readonly [source: string, of: LayerSevenDecision, active: boolean])[] = [
    ['mtlsService', layerSevenOf([mtls], off, undefined)('kube-apiserver'), true],
    ['shootAnnotation', layerSevenOf([], {}, OPT_OUT)('kube-apiserver'), false],
    ['featureGate', layerSevenOf([], off, undefined)('kube-apiserver'), false],
    ['undecidable', layerSevenOf([], { featureGates: { Other: false } }, undefined)('kube-apiserver'), true],
    ['gardenerVersion', layerSevenOf([], { version: 'v1.143.9' }, undefined)('kube-apiserver'), false],
    ['configuration', layerSevenOf([], { layerSevenDefault: false }, undefined)('kube-apiserver'), false],
  ];
  for (const [source, of, active] of rows) it(`goes by ${source}`, () => expect(of).to.include({ active, source }));
});
