// Who reads which annotation, and which values count, by version.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { annotationAdmitsHints, asksForProportionalHints, topologyAnnotation } from '../../../pkg/upstream/features.ts';
import { HINTS, MODE, aService, minor } from './support.ts';

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
