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
  const mode = (value: string): Given => ({ annotations: { [MODE]: value } });
  const beside = (value: string): Given => ({ annotations: { ...AUTO, [HINTS]: value } });
  const BY_SHARES = 'proportional by topology-mode';
  const NONE = 'none by topology-mode';
  const BY_FIELD = 'by trafficDistribution';
  const NO_FIELD = `none ${BY_FIELD}, unknown`;
  const NOT_RECOGNIZED = 'TrafficDistributionNotRecognized';
  const wishes: (readonly [name: string, given: Given, wish: string, reason: string])[] = [
    ['nothing', {}, 'none by none', 'NotRequested'],
    ['Auto', { annotations: AUTO }, BY_SHARES, 'ProportionalHints'],
    ['auto', mode('auto'), BY_SHARES, 'ProportionalHints'],
    ['the older key', { annotations: older }, BY_SHARES, 'ProportionalHints'],
    ['the older key in 1.24', { annotations: older, version: 24 }, BY_SHARES, 'ProportionalHints'],
    ['the newer key in 1.27', { annotations: AUTO, version: 27 }, BY_SHARES, 'ProportionalHints'],
    ['the newer key in 1.26', { annotations: AUTO, version: 26 }, `${NONE}, unknown`, 'AnnotationKeyNotRead'],
    ['Auto and the field', { annotations: AUTO, ...PREFER }, BY_SHARES, 'AnnotationWins'],
    ['AUTO', mode('AUTO'), `${NONE}, unknown`, 'AnnotationNotRecognized'],
    ['a space', mode('auto '), `${NONE}, unknown`, 'AnnotationNotRecognized'],
    ['Disabled', mode('Disabled'), NONE, 'AnnotationNotRecognized'],
    ['a heuristic of others', mode('a.b/c'), NONE, 'AnnotationNotRecognized'],
    ['an empty annotation', mode(''), 'none by none', 'AnnotationNotRecognized'],
    ['Disabled by the older key', beside('Disabled'), NONE, 'AnnotationNotRecognized'],
    ['an empty older key', beside(''), NONE, 'AnnotationNotRecognized'],
    ['AUTO and the field', { ...mode('AUTO'), ...PREFER }, `same-zone ${BY_FIELD}`, 'SameZoneRequested'],
    ['gate off by default in 1.23', { annotations: older, version: 23 }, NONE, 'HintsControllerGateOff'],
    ['gate off, field set', { annotations: older, ...PREFER, version: 31, ...off }, NONE, 'HintsControllerGateOff'],
    ['PreferClose', PREFER, `same-zone ${BY_FIELD}`, 'SameZoneRequested'],
    ['PreferSameNode', { value: 'PreferSameNode' }, `same-node ${BY_FIELD}`, 'SameNodeRequested'],
    ['a value that 1.33 does not know', { value: 'PreferSameZone', version: 33 }, NO_FIELD, NOT_RECOGNIZED],
    ['a value from the future', { value: 'PreferMoon' }, NO_FIELD, NOT_RECOGNIZED],
    ['a name of every object', { value: 'toString' }, NO_FIELD, NOT_RECOGNIZED],
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
