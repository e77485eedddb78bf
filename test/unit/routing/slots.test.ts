// Where routing settings live on Services, and how those places are named.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { STRATEGY_SLOT, settingsOf, valueOf } from '../../../pkg/routing/slots.ts';
import { STRATEGY } from './support.ts';

describe('slots', () => {
  it('hold own properties only', () => {
    expect(valueOf({ labels: Object.create({ [STRATEGY]: 'same-zone' }) }, STRATEGY_SLOT)).to.equal(undefined);
    expect(valueOf({ labels: { [STRATEGY]: 'same-zone' } }, STRATEGY_SLOT)).to.equal('same-zone');
    expect(valueOf({}, STRATEGY_SLOT)).to.equal(undefined);
    expect(valueOf({ trafficDistribution: 'PreferClose' }, { section: 'trafficDistribution' })).to.equal('PreferClose');
  });
});

describe('settingsOf', () => {
  it('reads a Service', () => {
    const object = { metadata: { labels: { a: 'b' } }, spec: { trafficDistribution: 'PreferClose' } };
    expect(settingsOf(object)).to.deep.equal({
      labels: { a: 'b' },
      annotations: {},
      trafficDistribution: 'PreferClose',
    });
  });

  it('reads nothing from an empty object', () => {
    expect(settingsOf({})).to.deep.equal({ labels: {}, annotations: {} });
  });
});
