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
  for (const { name, annotations = {}, versions, gates = {}, zone = 'a', reason } of [
    { name: 'gate off by default', annotations: { [HINTS]: 'auto' }, versions: [21, 22, 23], reason: 'HintsGateOff' },
    {
      name: 'gate on, annotation exact',
      annotations: { [HINTS]: 'auto' },
      versions: [21, 22, 23, 24, 25, 26],
      gates: ON,
      reason: 'SameZoneHints',
    },
    {
      name: 'by default',
      annotations: { [HINTS]: 'Auto' },
      versions: [24, 26, 27, 29, 30, 31, 36],
      reason: 'SameZoneHints',
    },
    {
      name: 'another word',
      annotations: { [HINTS]: 'example.com/mine' },
      versions: [24, 25, 26],
      reason: 'ProxyNeedsAnnotation',
    },
    {
      name: 'another word',
      annotations: { [HINTS]: 'example.com/mine' },
      versions: [27, 28, 29, 30, 31, 32, 33, 36],
      reason: 'SameZoneHints',
    },
    { name: 'the newer key', annotations: { [MODE]: 'Auto' }, versions: [24, 25, 26], reason: 'ProxyNeedsAnnotation' },
    {
      name: 'the newer key',
      annotations: { [MODE]: 'Auto' },
      versions: [27, 28, 29, 30, 31, 33, 36],
      reason: 'SameZoneHints',
    },
    {
      name: 'Disabled',
      annotations: { [MODE]: 'Disabled' },
      versions: [27, 28, 29, 30],
      reason: 'ProxyNeedsAnnotation',
    },
    { name: 'Disabled', annotations: { [MODE]: 'Disabled' }, versions: [31, 32, 33, 36], reason: 'SameZoneHints' },
    { name: 'no annotation', versions: [24, 27, 29, 30], reason: 'ProxyNeedsAnnotation' },
    { name: 'no annotation', versions: [31, 32, 33, 34, 35, 36, 37], reason: 'SameZoneHints' },
    {
      name: 'no annotation, field gate on',
      versions: [30],
      gates: { ServiceTrafficDistribution: true },
      reason: 'SameZoneHints',
    },
    {
      name: 'no annotation, field gate off',
      versions: [31, 32],
      gates: { ServiceTrafficDistribution: false },
      reason: 'ProxyNeedsAnnotation',
    },
    {
      name: 'both gates off',
      versions: [31, 32],
      gates: { ServiceTrafficDistribution: false, TopologyAwareHints: false },
      reason: 'HintsGateOff',
    },
    {
      name: 'hints gate off',
      annotations: { [HINTS]: 'auto' },
      versions: [24, 29, 30],
      gates: { TopologyAwareHints: false },
      reason: 'HintsGateOff',
    },
    {
      name: 'node without zone',
      annotations: { [HINTS]: 'auto' },
      versions: [24, 30, 31, 32, 33, 36],
      zone: '',
      reason: 'ClientNodeWithoutZone',
    },
  ]) {
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
