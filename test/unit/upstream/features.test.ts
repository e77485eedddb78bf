// When each feature gate exists, is on and is locked.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  FEATURE_GATES,
  annotationAdmitsHints,
  asksForProportionalHints,
  isEnabled,
  topologyAnnotation,
} from '../../../pkg/upstream/features.ts';
import { REASONS, type Reason, explained } from '../../../pkg/upstream/reasons.ts';
import { reasonsReference } from '../../../hack/generate/reasons.ts';
import { HINTS, MODE, aService, minor } from './support.ts';

describe('isEnabled', () => {
  for (const { gate, first, on, locked } of [
    { gate: 'ServiceInternalTrafficPolicy', first: 21, on: 22, locked: 26 },
    { gate: 'TopologyAwareHints', first: 21, on: 24, locked: 33 },
    { gate: 'ProxyTerminatingEndpoints', first: 22, on: 26, locked: 28 },
    { gate: 'ServiceTrafficDistribution', first: 30, on: 31, locked: 33 },
    { gate: 'PreferSameTrafficDistribution', first: 33, on: 34, locked: 35 },
  ] as const) {
    it(`${gate}: from 1.${first}, on from 1.${on}, locked from 1.${locked}`, () => {
      for (let version = 20; version <= 37; version += 1) {
        const label = `1.${version}`;
        expect(isEnabled(gate, minor(version)), label).to.equal(version >= on);
        expect(isEnabled(gate, minor(version), { [gate]: true }), `${label} on`).to.equal(version >= first);
        expect(isEnabled(gate, minor(version), { [gate]: false }), `${label} off`).to.equal(version >= locked);
      }
    });
  }
  it('names all gates that it knows', () => expect(FEATURE_GATES).to.have.length(5));
});

// Who reads which annotation, and which values count, by version.
describe('asksForProportionalHints', () => {
  for (const { name, annotations, version = 30, asks } of [
    { name: 'Auto', annotations: { [MODE]: 'Auto' }, asks: true },
    { name: 'auto', annotations: { [MODE]: 'auto' }, asks: true },
    { name: 'AUTO is another word', annotations: { [MODE]: 'AUTO' }, asks: false },
    { name: 'a space counts', annotations: { [MODE]: 'auto ' }, asks: false },
    { name: 'nothing', annotations: {}, asks: false },
    { name: 'a domain-prefixed heuristic', annotations: { [MODE]: 'example.com/mine' }, asks: false },
    { name: 'the older key', annotations: { [HINTS]: 'auto' }, asks: true },
    { name: 'the older key wins', annotations: { [HINTS]: 'Disabled', [MODE]: 'Auto' }, asks: false },
    { name: 'the older key wins even if it is empty', annotations: { [HINTS]: '', [MODE]: 'Auto' }, asks: false },
    { name: 'the newer key is not read before 1.27', annotations: { [MODE]: 'Auto' }, version: 26, asks: false },
    { name: 'the newer key is read from 1.27', annotations: { [MODE]: 'Auto' }, version: 27, asks: true },
    { name: 'the older key is read before 1.27', annotations: { [HINTS]: 'Auto' }, version: 24, asks: true },
    { name: 'both are still honoured in 1.36', annotations: { [HINTS]: 'Auto' }, version: 36, asks: true },
  ]) {
    it(name, () => expect(asksForProportionalHints(aService(annotations), minor(version))).to.equal(asks));
  }
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
});

describe('topologyAnnotation', () => {
  it('is undefined when no key is there, also without metadata', () => {
    expect(topologyAnnotation(aService(), minor(30))).to.equal(undefined);
    expect(topologyAnnotation({}, minor(30))).to.equal(undefined);
  });
});

// The table of reasons is complete, and so is its reference.
describe('the table of reasons', () => {
  for (const [reason, { sentence, remedy }] of Object.entries(REASONS)) {
    it(`${reason} is CamelCase with a sentence and a remedy`, () => {
      expect(reason).to.match(/^(?:[A-Z][a-z]+)+$/);
      expect(sentence).to.match(/^(?:[A-Z]|kube-proxy |\{unhinted\} of |\{cause\} on Node ).*\.$/s);
      expect(remedy).to.match(/^[A-Z`].*\.$/s);
      expect(sentence).to.match(/\{(?:service|node)\}/);
    });
  }
  it('is in the reference, every reason once', async () => {
    const text = await reasonsReference.render();
    for (const reason of Object.keys(REASONS)) {
      expect(text.split(`| \`${reason}\` |`), reason).to.have.length(2);
    }
    expect(text).to.not.match(/\{\w+\}/);
  });
});

describe('explained', () => {
  it('fills in facts and leaves what it was not given', () => {
    expect(explained('TooFewEndpoints', { service: 'a/b', endpoints: 2 })).to.deep.equal({
      reason: 'TooFewEndpoints' satisfies Reason,
      message: 'Service a/b has 2 ready endpoints for {zones} zones: each zone needs one.',
    });
  });
});
