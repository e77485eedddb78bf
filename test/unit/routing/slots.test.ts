// Where routing settings live on Services, and how those places are named.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  MODE_SLOT,
  SLOTS,
  STRATEGY_SLOT,
  fieldOf,
  isAuto,
  isCovered,
  isRoutingKey,
  pathOf,
  settingsOf,
  valueOf,
} from '../../../pkg/routing/slots.ts';
import { CONSIDER, HINTS, MODE, STRATEGY } from './support.ts';

describe('slots', () => {
  it('are named by field path and reached by keys', () => {
    expect(SLOTS.map(fieldOf)).to.deep.equal([
      `metadata.labels[${CONSIDER}]`,
      `metadata.labels[${STRATEGY}]`,
      `metadata.annotations[${HINTS}]`,
      `metadata.annotations[${MODE}]`,
      'spec.trafficDistribution',
    ]);
    expect(pathOf(MODE_SLOT)).to.deep.equal(['metadata', 'annotations', MODE]);
    expect(pathOf({ section: 'trafficDistribution' })).to.deep.equal(['spec', 'trafficDistribution']);
  });

  it('hold own properties only', () => {
    expect(valueOf({ labels: Object.create({ [STRATEGY]: 'same-zone' }) }, STRATEGY_SLOT)).to.equal(undefined);
    expect(valueOf({ labels: { [STRATEGY]: 'same-zone' } }, STRATEGY_SLOT)).to.equal('same-zone');
    expect(valueOf({}, STRATEGY_SLOT)).to.equal(undefined);
    expect(valueOf({ trafficDistribution: 'PreferClose' }, { section: 'trafficDistribution' })).to.equal('PreferClose');
  });

  it('cover exactly the settings that can be reverted', () => {
    expect(isRoutingKey('labels', CONSIDER)).to.equal(true);
    expect(isRoutingKey('annotations', CONSIDER)).to.equal(false);
    expect(isRoutingKey('labels', 'app')).to.equal(false);
    expect(isCovered({ labels: { [STRATEGY]: 'x' }, annotations: { [MODE]: 'y' } })).to.equal(true);
    expect(isCovered({ labels: { app: 'x' }, annotations: {} })).to.equal(false);
    expect(isCovered({ labels: {}, annotations: { app: 'x' } })).to.equal(false);
  });

  it('know both spellings of auto and no other', () => {
    expect(['auto', 'Auto', 'AUTO', 'Disabled', ''].map(isAuto)).to.deep.equal([true, true, false, false, false]);
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
