// SPDX-License-Identifier: Apache-2.0
// Where routing settings live on Services and Etcds, and how those places are named.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  HINTS_SLOT,
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
  it('are named by field path and reached by keys, on both kinds of object', () => {
    const named = SLOTS.map((slot) => [fieldOf('Service', slot), fieldOf('Etcd', slot)]);
    expect(named).to.deep.equal([
      [`metadata.labels[${CONSIDER}]`, `spec.etcd.clientService.labels[${CONSIDER}]`],
      [`metadata.labels[${STRATEGY}]`, `spec.etcd.clientService.labels[${STRATEGY}]`],
      [`metadata.annotations[${HINTS}]`, `spec.etcd.clientService.annotations[${HINTS}]`],
      [`metadata.annotations[${MODE}]`, `spec.etcd.clientService.annotations[${MODE}]`],
      ['spec.trafficDistribution', 'spec.etcd.clientService.trafficDistribution'],
    ]);
    expect(pathOf('Service', MODE_SLOT)).to.deep.equal(['metadata', 'annotations', MODE]);
    expect(pathOf('Etcd', HINTS_SLOT)).to.deep.equal(['spec', 'etcd', 'clientService', 'annotations', HINTS]);
    expect(pathOf('Service', { section: 'trafficDistribution' })).to.deep.equal(['spec', 'trafficDistribution']);
  });

  it('hold own properties only', () => {
    expect(valueOf({ labels: Object.create({ [STRATEGY]: 'same-zone' }) }, STRATEGY_SLOT)).to.equal(undefined);
    expect(valueOf({ labels: { [STRATEGY]: 'same-zone' } }, STRATEGY_SLOT)).to.equal('same-zone');
    expect(valueOf({}, STRATEGY_SLOT)).to.equal(undefined);
    expect(valueOf({ trafficDistribution: 'PreferClose' }, { section: 'trafficDistribution' })).to.equal('PreferClose');
  });

  it('cover exactly the settings that can be taken back', () => {
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
    expect(settingsOf('Service', object)).to.deep.equal({
      labels: { a: 'b' },
      annotations: {},
      trafficDistribution: 'PreferClose',
    });
  });

  it('reads the block of an Etcd, never its metadata', () => {
    const object = { metadata: { labels: { a: 'b' } }, spec: { etcd: { clientService: { labels: { c: 'd' } } } } };
    expect(settingsOf('Etcd', object)).to.deep.equal({ labels: { c: 'd' } });
  });

  it('reads nothing from an empty object', () => {
    expect(settingsOf('Service', {})).to.deep.equal({ labels: {}, annotations: {} });
    expect(settingsOf('Etcd', {})).to.deep.equal({});
  });
});
