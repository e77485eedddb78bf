import { expect } from 'chai';
import { describe, it } from 'mocha';
import { extensionClassOf, governingExtension, isResponsible } from '../../../../pkg/gardener/extension/select.ts';
import { extensionIn, lastOperation, readingOf } from './support.ts';

describe('extensionClassOf', () => {
  for (const [given, is] of [
    [undefined, 'shoot'],
    ['', 'shoot'],
    ['shoot', 'shoot'],
    ['seed', 'seed'],
    ['garden', 'garden'],
    ['planet', undefined],
  ] as const) {
    it(`${given}: ${is}`, () =>
      expect(extensionClassOf({ spec: given === undefined ? {} : { class: given } })).to.equal(is));
  }
});

describe('isResponsible', () => {
  it('is for our type and the classes of this process alone', () => {
    expect(isResponsible(extensionIn(), ['shoot', 'seed'])).to.equal(true);
    expect(isResponsible(extensionIn({ spec: { class: 'garden' } }), ['shoot', 'seed'])).to.equal(false);
    expect(isResponsible(extensionIn({ spec: { class: 'planet' } }), ['shoot', 'seed', 'garden'])).to.equal(false);
    expect(isResponsible(extensionIn({ spec: { type: 'lakom' } }), ['shoot'])).to.equal(false);
  });
});

describe('governingExtension', () => {
  const reading = readingOf({ services: [{ name: 'a' }] });
  const one = extensionIn({ metadata: { name: 'one' }, reading });
  const two = extensionIn({ metadata: { name: 'two' } });

  it('is the first by name of the class that is asked for', () => {
    expect(governingExtension([two, one], 'shoot')).to.deep.equal({
      name: 'shoot--foo--bar/one',
      class: 'shoot',
      reading,
    });
    expect(governingExtension([two, one], 'seed')).to.equal(undefined);
    expect(governingExtension([], 'shoot')).to.equal(undefined);
  });

  it('asks for nothing any more while it is deleted, so that what it asked for is reverted', () => {
    const leaving = extensionIn({ metadata: { name: 'one', deletionTimestamp: '2026-01-01T00:00:00Z' } });
    expect(governingExtension([leaving, two], 'shoot')?.name).to.equal('shoot--foo--bar/two');
    expect(governingExtension([leaving], 'shoot')).to.equal(undefined);
  });

  it('still counts while its Shoot moves to another seed: nothing is reverted here', () => {
    const metadata = { name: 'one', deletionTimestamp: '2026-01-01T00:00:00Z' };
    const migrating = extensionIn({ metadata, status: { lastOperation: lastOperation('Migrate') }, reading });
    expect(governingExtension([migrating], 'shoot')?.reading).to.equal(reading);
  });
});
