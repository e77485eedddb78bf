// kube-proxy's choice in earlier releases.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint } from '../../../../pkg/apis/core.ts';
import { HINTS, MODE, aService, aSlice, at, minor, nodeOf } from '../support.ts';
import { HINTED, LEAVING, last, own, route } from './kube-proxy-support.ts';

describe('kubeProxyRoute: history', () => {
  const first = (annotations: Record<string, string>, version: number, gates = {}, zone = 'a') =>
    route(HINTED, { service: aService(annotations), version: minor(version), gates, node: nodeOf('node-a', zone) })
      .reason;
  const ON = { TopologyAwareHints: true };
  for (const [name, versions, reason, annotations, gates, zone] of [
    ['gate off by default', [21, 22, 23], 'HintsGateOff', { [HINTS]: 'auto' }, {}, 'a'],
    ['gate on, annotation exact', [21, 22, 23, 24, 25, 26], 'SameZoneHints', { [HINTS]: 'auto' }, ON, 'a'],
    ['by default', [24, 26, 27, 29, 30, 31, 36], 'SameZoneHints', { [HINTS]: 'Auto' }, {}, 'a'],
    ['another word', [24, 25, 26], 'ProxyNeedsAnnotation', { [HINTS]: 'example.com/mine' }, {}, 'a'],
    ['another word', [27, 28, 29, 30, 31, 32, 33, 36], 'SameZoneHints', { [HINTS]: 'example.com/mine' }, {}, 'a'],
    ['the newer key', [24, 25, 26], 'ProxyNeedsAnnotation', { [MODE]: 'Auto' }, {}, 'a'],
    ['the newer key', [27, 28, 29, 30, 31, 33, 36], 'SameZoneHints', { [MODE]: 'Auto' }, {}, 'a'],
    ['Disabled', [27, 28, 29, 30], 'ProxyNeedsAnnotation', { [MODE]: 'Disabled' }, {}, 'a'],
    ['Disabled', [31, 32, 33, 36], 'SameZoneHints', { [MODE]: 'Disabled' }, {}, 'a'],
    ['no annotation', [24, 27, 29, 30], 'ProxyNeedsAnnotation', {}, {}, 'a'],
    ['no annotation', [31, 32, 33, 34, 35, 36, 37], 'SameZoneHints', {}, {}, 'a'],
    ['no annotation, field gate on', [30], 'SameZoneHints', {}, { ServiceTrafficDistribution: true }, 'a'],
    ['no annotation, field gate off', [31, 32], 'ProxyNeedsAnnotation', {}, { ServiceTrafficDistribution: false }, 'a'],
    [
      'both gates off',
      [31, 32],
      'HintsGateOff',
      {},
      { ServiceTrafficDistribution: false, TopologyAwareHints: false },
      'a',
    ],
    ['hints gate off', [24, 29, 30], 'HintsGateOff', { [HINTS]: 'auto' }, { TopologyAwareHints: false }, 'a'],
    ['node without zone', [24, 30, 31, 32, 33, 36], 'ClientNodeWithoutZone', { [HINTS]: 'auto' }, {}, ''],
  ] as const) {
    it(`${name} ${JSON.stringify(gates)} in 1.${versions.join(', 1.')}: ${reason}`, () => {
      for (const version of versions) expect(first(annotations, version, gates, zone), `1.${version}`).to.equal(reason);
    });
  }

  it('a hint for no zone serves a node without zone since 1.33 only', () => {
    const used = (version: number) =>
      last(route([own('a', 1), at('b', 2, { hints: [''] })], { node: nodeOf('x', ''), version: minor(version) }).used);
    expect(used(32)).to.deep.equal([1, 2]);
    expect(used(33)).to.deep.equal([2]);
  });
  it('an unready endpoint without hint switches filtering off before 1.23', () => {
    const endpoints = [...HINTED, at('b', 4, { conditions: { ready: false, serving: false } })];
    const used = (version: number) =>
      last(route(endpoints, { version: minor(version), gates: ON, service: aService({ [HINTS]: 'auto' }) }).used);
    expect(used(22)).to.deep.equal([1, 2, 3]);
    expect(used(23)).to.deep.equal([1]);
  });
  it('terminating endpoints are a fallback from 1.26 on, by gate from 1.22', () => {
    const used = (version: number, gates = {}) =>
      last(route([at('a', 1, { conditions: LEAVING })], { version: minor(version), gates }).used);
    expect([21, 22, 25, 26, 28, 36].map((version) => used(version))).to.deep.equal([[], [], [], [1], [1], [1]]);
    const gate = (on: boolean) => ({ ProxyTerminatingEndpoints: on });
    expect([used(21, gate(true)), used(22, gate(true)), used(26, gate(false)), used(28, gate(false))]).to.deep.equal([
      [],
      [1],
      [],
      [1],
    ]);
  });
  it('node hints are read from 1.34 on, by gate from 1.33', () => {
    const endpoint: Endpoint = { ...at('a', 1), hints: { forNodes: [{ name: 'node-a' }] } };
    const mode = (version: number, gates = {}) => route([endpoint], { version: minor(version), gates }).mode;
    expect([32, 33, 34, 35].map((version) => mode(version))).to.deep.equal([
      '',
      '',
      'PreferSameNode',
      'PreferSameNode',
    ]);
    const gate = (on: boolean) => ({ PreferSameTrafficDistribution: on });
    expect([mode(32, gate(true)), mode(33, gate(true)), mode(34, gate(false)), mode(35, gate(false))]).to.deep.equal([
      '',
      'PreferSameNode',
      '',
      'PreferSameNode',
    ]);
  });
  it('of two endpoints with one address the local one wins before 1.36, the running one since', () => {
    const slices = [
      aSlice([at('b', 1, { nodeName: 'node-b' })], 's1'),
      aSlice([at('a', 1, { conditions: LEAVING })], 's2'),
    ];
    const reason = (version: number) => route([], { slices, version: minor(version) }).reason;
    expect(reason(35)).to.equal('TerminatingEndpoints');
    expect(reason(36)).to.equal('NoHints');
  });
});
