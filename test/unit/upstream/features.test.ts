// When each feature gate exists, is on and is locked.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { FEATURE_GATES, isEnabled } from '../../../pkg/upstream/features.ts';
import { REASONS, type Reason, explained } from '../../../pkg/upstream/reasons.ts';
import { reasonsReference } from '../../../hack/generate/reasons.ts';
import { minor } from './support.ts';

describe('isEnabled', () => {
  const rows = [
    { gate: 'ServiceInternalTrafficPolicy', first: 21, on: 22, locked: 26 },
    { gate: 'TopologyAwareHints', first: 21, on: 24, locked: 33 },
    { gate: 'ProxyTerminatingEndpoints', first: 22, on: 26, locked: 28 },
    { gate: 'ServiceTrafficDistribution', first: 30, on: 31, locked: 33 },
    { gate: 'PreferSameTrafficDistribution', first: 33, on: 34, locked: 35 },
  ] as const;
  for (const { gate, first, on, locked } of rows) {
    it(`${gate}: from 1.${first}, on from 1.${on}, locked from 1.${locked}`, () => {
      for (let version = 20; version <= 37; version += 1) {
        const label = `1.${version}`;
        expect(isEnabled(gate, minor(version)), label).to.equal(version >= on);
        expect(isEnabled(gate, minor(version), { [gate]: true }), `${label} on`).to.equal(version >= first);
        expect(isEnabled(gate, minor(version), { [gate]: false }), `${label} off`).to.equal(version >= locked);
      }
    });
  }
  it('has a row for each gate', () =>
    expect(
      rows.map(({ gate }) => gate),
      'rows of this table; GATES is in pkg/upstream/features.ts',
    ).to.deep.equal(FEATURE_GATES));
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
    const text = await reasonsReference.render(readFileSync(reasonsReference.path, 'utf8'));
    for (const reason of Object.keys(REASONS)) expect(text.split(`| \`${reason}\` |`), reason).to.have.length(2);
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
