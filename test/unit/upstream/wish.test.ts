// What a Service asks for by annotation and field: which version reads which key and value, and which of the two counts.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DISTRIBUTION_NAMES, type FeatureGates } from '../../../pkg/upstream/features.ts';
import { REASONS } from '../../../pkg/upstream/reasons.ts';
import { annotationAdmitsHints, distributionOf, topologyAnnotation, wishOf } from '../../../pkg/upstream/wish.ts';
import { HINTS, MODE, aService, minor } from './support.ts';

describe('wishOf', () => {
  const AUTO = { [MODE]: 'Auto' };
  const older = { [HINTS]: 'auto' };
  const PREFER = { value: 'PreferClose' };
  const off = { gates: { TopologyAwareHints: false } };
  type Given = {
    readonly annotations?: Record<string, string>;
    readonly value?: string;
    readonly version?: number;
    readonly gates?: FeatureGates;
  };
  const wishes: (readonly [name: string, given: Given, wish: string, reason: string])[] = [
    ['nothing', {}, 'none by none', 'NotRequested'],
    ['Auto', { annotations: AUTO }, 'proportional by topology-mode', 'ProportionalHints'],
    ['auto', { annotations: { [MODE]: 'auto' } }, 'proportional by topology-mode', 'ProportionalHints'],
    ['the older key', { annotations: older }, 'proportional by topology-mode', 'ProportionalHints'],
    [
      'the older key in 1.24',
      { annotations: older, version: 24 },
      'proportional by topology-mode',
      'ProportionalHints',
    ],
    ['the newer key in 1.27', { annotations: AUTO, version: 27 }, 'proportional by topology-mode', 'ProportionalHints'],
    [
      'the newer key in 1.26',
      { annotations: AUTO, version: 26 },
      'none by topology-mode, unknown',
      'AnnotationKeyNotRead',
    ],
    ['Auto and the field', { annotations: AUTO, ...PREFER }, 'proportional by topology-mode', 'AnnotationWins'],
    ['AUTO', { annotations: { [MODE]: 'AUTO' } }, 'none by topology-mode, unknown', 'AnnotationNotRecognized'],
    ['a space', { annotations: { [MODE]: 'auto ' } }, 'none by topology-mode, unknown', 'AnnotationNotRecognized'],
    ['Disabled', { annotations: { [MODE]: 'Disabled' } }, 'none by topology-mode', 'AnnotationNotRecognized'],
    ['a heuristic of others', { annotations: { [MODE]: 'a.b/c' } }, 'none by topology-mode', 'AnnotationNotRecognized'],
    ['an empty annotation', { annotations: { [MODE]: '' } }, 'none by none', 'AnnotationNotRecognized'],
    [
      'Disabled by the older key',
      { annotations: { ...AUTO, [HINTS]: 'Disabled' } },
      'none by topology-mode',
      'AnnotationNotRecognized',
    ],
    [
      'an empty older key',
      { annotations: { ...AUTO, [HINTS]: '' } },
      'none by topology-mode',
      'AnnotationNotRecognized',
    ],
    [
      'AUTO and the field',
      { annotations: { [MODE]: 'AUTO' }, ...PREFER },
      'same-zone by trafficDistribution',
      'SameZoneRequested',
    ],
    [
      'gate off by default in 1.23',
      { annotations: older, version: 23 },
      'none by topology-mode',
      'HintsControllerGateOff',
    ],
    [
      'gate off, field set',
      { annotations: older, ...PREFER, version: 31, ...off },
      'none by topology-mode',
      'HintsControllerGateOff',
    ],
    ['PreferClose', PREFER, 'same-zone by trafficDistribution', 'SameZoneRequested'],
    ['PreferSameNode', { value: 'PreferSameNode' }, 'same-node by trafficDistribution', 'SameNodeRequested'],
    [
      'PreferSameZone in 1.33',
      { value: 'PreferSameZone', version: 33 },
      'none by trafficDistribution, unknown',
      'TrafficDistributionNotRecognized',
    ],
    [
      'a value from the future',
      { value: 'PreferMoon' },
      'none by trafficDistribution, unknown',
      'TrafficDistributionNotRecognized',
    ],
    [
      'a name of every object',
      { value: 'toString' },
      'none by trafficDistribution, unknown',
      'TrafficDistributionNotRecognized',
    ],
  ];
  for (const [name, { annotations = {}, value, version = 36, gates = {} }, expected, reason] of wishes) {
    it(`${name}: ${expected}, ${reason}`, () => {
      const wish = wishOf(aService(annotations, value), minor(version), gates);
      const text = `${wish.mode} by ${wish.source}${wish.understood ? '' : ', unknown'}`;
      expect([text, wish.reason]).to.deep.equal([expected, reason]);
      expect(wish.message)
        .to.include('Service default/server')
        .and.to.not.match(/\{\w+\}/);
    });
  }
});

describe('distributionOf', () => {
  const off: FeatureGates = { ServiceTrafficDistribution: false, PreferSameTrafficDistribution: false };
  const on: FeatureGates = { ServiceTrafficDistribution: true, PreferSameTrafficDistribution: true };
  for (const { value, version, gates = {}, expected } of [
    { value: 'PreferClose', version: 29, gates: on, expected: undefined },
    { value: 'PreferClose', version: 30, expected: undefined },
    { value: 'PreferClose', version: 30, gates: on, expected: 'same-zone' },
    { value: 'PreferClose', version: 31, expected: 'same-zone' },
    { value: 'PreferClose', version: 32, gates: off, expected: undefined },
    { value: 'PreferClose', version: 33, gates: off, expected: 'same-zone' },
    { value: 'PreferClose', version: 36, expected: 'same-zone' },
    { value: 'PreferSameZone', version: 32, gates: on, expected: undefined },
    { value: 'PreferSameZone', version: 33, expected: undefined },
    { value: 'PreferSameZone', version: 33, gates: on, expected: 'same-zone' },
    { value: 'PreferSameZone', version: 34, expected: 'same-zone' },
    { value: 'PreferSameNode', version: 34, expected: 'same-node' },
    { value: 'PreferSameNode', version: 34, gates: off, expected: undefined },
    { value: 'PreferSameNode', version: 35, gates: off, expected: 'same-node' },
    { value: 'preferclose', version: 36, expected: undefined },
    { value: 'PreferOther', version: 36, expected: undefined },
    { value: undefined, version: 36, expected: undefined },
  ]) {
    it(`${value} in 1.${version} with ${JSON.stringify(gates)} is ${expected ?? 'nothing'}`, () =>
      expect(distributionOf(value, minor(version), gates)).to.equal(expected));
  }

  it('names each value with the version that brings it in the remedy', () => {
    const { remedy } = REASONS.TrafficDistributionNotRecognized;
    const named = [...remedy.matchAll(/`(\w+)` needs 1\.(\d+)/g)].map(([, value = '', since]) => ({
      value,
      since: Number(since),
    }));
    expect(named.map(({ value }) => value)).to.deep.equal(DISTRIBUTION_NAMES);
    for (const { value, since } of named) {
      const service = { spec: { trafficDistribution: value } };
      const understood = [since - 1, since].map((version) => wishOf(service, minor(version)).understood);
      expect(understood).to.deep.equal([false, true]);
    }
  });
});

describe('annotationAdmitsHints', () => {
  for (const { version, value, admits } of [
    { version: 26, value: 'Auto', admits: true },
    { version: 26, value: 'auto', admits: true },
    { version: 26, value: 'example.com/mine', admits: false },
    { version: 26, value: 'Disabled', admits: false },
    { version: 27, value: 'Auto', admits: true },
    { version: 27, value: 'example.com/mine', admits: true },
    { version: 27, value: 'DISABLED', admits: true },
    { version: 27, value: 'Disabled', admits: false },
    { version: 27, value: 'disabled', admits: false },
    { version: 27, value: '', admits: false },
  ]) {
    it(`1.${version}: ${JSON.stringify(value)} ${admits ? 'lets' : 'does not let'} the proxy look at hints`, () =>
      expect(annotationAdmitsHints(aService({ [HINTS]: value }), minor(version))).to.equal(admits));
  }
  it('does not let it without annotation', () => expect(annotationAdmitsHints(aService(), minor(30))).to.equal(false));

  it('no key is undefined, also without metadata', () => {
    expect(topologyAnnotation(aService(), minor(30))).to.equal(undefined);
    expect(topologyAnnotation({}, minor(30))).to.equal(undefined);
  });
});
