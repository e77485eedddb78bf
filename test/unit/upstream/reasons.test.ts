// The table of reasons is complete, and so is its reference.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { REASONS, type Reason, explained } from '../../../pkg/upstream/reasons.ts';
import { reasonsReference } from '../../../hack/generate/reasons.ts';

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
