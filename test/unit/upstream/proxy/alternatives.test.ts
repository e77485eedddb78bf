// Cilium's and Linkerd's choice, and the call that all proxies share.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Service } from '../../../../pkg/apis/core.ts';
import { type Proxy, routeFor, routesFor } from '../../../../pkg/upstream/proxy/routes.ts';
import { HINTS, MODE, aService, aSlice, at, minor, nodeOf } from '../support.ts';

const HINTED = [at('a', 1, { hints: ['a'] }), at('b', 2, { hints: ['b'] })];
const PARTLY = [...HINTED, at('c', 3)];
const LEAVING = [at('a', 1, { conditions: { ready: false, serving: true, terminating: true } })];
const CLOSE = aService({}, 'PreferClose');
const CILIUM = { kind: 'cilium', serviceTopology: true } as const;
const LINKERD = { kind: 'linkerd' } as const;

interface Case {
  readonly name: string;
  readonly proxy: Proxy;
  readonly service?: Service;
  readonly endpoints?: typeof HINTED;
  readonly zone?: string;
  readonly used: number;
  readonly reason: string;
}

const run = ({ proxy, service = CLOSE, endpoints = HINTED, zone = 'a' }: Omit<Case, 'used' | 'reason' | 'name'>) =>
  routeFor({ node: nodeOf('node-a', zone), service, slices: [aSlice(endpoints)], version: minor(36) }, proxy);

describe('Cilium', () => {
  const cases: readonly Case[] = [
    {
      name: 'service topology off, as by default',
      proxy: { kind: 'cilium' },
      used: 2,
      reason: 'CiliumServiceTopologyOff',
    },
    { name: 'PreferClose', proxy: CILIUM, used: 1, reason: 'SameZoneHints' },
    { name: 'not opted in', proxy: CILIUM, service: aService(), used: 2, reason: 'CiliumNotOptedIn' },
    { name: 'annotation', proxy: CILIUM, service: aService({ [MODE]: 'Auto' }), used: 1, reason: 'SameZoneHints' },
    {
      name: 'older annotation disables',
      proxy: CILIUM,
      service: aService({ [HINTS]: 'Disabled', [MODE]: 'Auto' }),
      used: 2,
      reason: 'CiliumNotOptedIn',
    },
    {
      name: 'PreferSameZone in 1.18 and 1.19',
      proxy: { ...CILIUM, ciliumVersion: { major: 1, minor: 19 } },
      service: aService({}, 'PreferSameZone'),
      used: 2,
      reason: 'CiliumNotOptedIn',
    },
    {
      name: 'PreferSameZone since 1.20',
      proxy: { ...CILIUM, ciliumVersion: { major: 1, minor: 20 } },
      service: aService({}, 'PreferSameZone'),
      used: 1,
      reason: 'SameZoneHints',
    },
    { name: 'partly hinted', proxy: CILIUM, endpoints: PARTLY, used: 3, reason: 'EndpointWithoutHint' },
    {
      name: 'internal Local',
      proxy: CILIUM,
      service: aService({}, 'PreferClose', { internalTrafficPolicy: 'Local' }),
      used: 1,
      reason: 'InternalTrafficPolicyLocal',
    },
    {
      name: 'external Local up to 1.17',
      proxy: { ...CILIUM, ciliumVersion: { major: 1, minor: 17 } },
      service: aService({}, 'PreferClose', { externalTrafficPolicy: 'Local' }),
      used: 2,
      reason: 'CiliumExternalTrafficPolicyLocal',
    },
    { name: 'only terminating', proxy: CILIUM, endpoints: LEAVING, used: 1, reason: 'TerminatingEndpoints' },
    { name: 'node without zone', proxy: CILIUM, zone: '', used: 2, reason: 'ClientNodeWithoutZone' },
  ];
  for (const { name, used, reason, ...input } of cases) {
    it(`${name}: ${reason}`, () => {
      const result = run(input);
      expect(result.reason).to.equal(reason);
      expect(result.used).to.have.length(used);
      expect(result.message).to.not.match(/\{\w+\}|undefined/);
    });
  }
});

describe('Linkerd', () => {
  const cases: readonly Case[] = [
    {
      name: 'own zone, whatever the Service says',
      proxy: LINKERD,
      service: aService(),
      used: 1,
      reason: 'SameZoneHints',
    },
    { name: 'slices off', proxy: { kind: 'linkerd', endpointSlices: false }, used: 2, reason: 'LinkerdSlicesOff' },
    { name: 'partly hinted', proxy: LINKERD, endpoints: PARTLY, used: 3, reason: 'EndpointWithoutHint' },
    { name: 'zone not hinted', proxy: LINKERD, zone: 'z', used: 2, reason: 'ZoneNotHinted' },
    { name: 'only terminating', proxy: LINKERD, endpoints: LEAVING, used: 0, reason: 'NoReadyEndpoints' },
    {
      name: 'node hints only',
      proxy: LINKERD,
      endpoints: [{ ...at('a', 1), hints: { forNodes: [{ name: 'node-a' }] } }, at('b', 2)],
      used: 2,
      reason: 'NoHints',
    },
    { name: 'no endpoints', proxy: LINKERD, endpoints: [], used: 0, reason: 'NoEndpoints' },
    {
      name: 'internal Local, nothing here',
      proxy: LINKERD,
      endpoints: [at('b', 2)],
      service: aService({}, undefined, { internalTrafficPolicy: 'Local' }),
      used: 0,
      reason: 'NoLocalEndpoints',
    },
    {
      name: 'headless',
      proxy: LINKERD,
      service: aService({}, undefined, { clusterIP: 'None' }),
      used: 0,
      reason: 'NotProxied',
    },
  ];
  for (const { name, used, reason, ...input } of cases) {
    it(`${name}: ${reason}`, () => {
      const result = run(input);
      expect(result.reason).to.equal(reason);
      expect(result.used).to.have.length(used);
    });
  }
});

describe('routesFor', () => {
  const service = aService({}, undefined, {
    ports: [
      { name: 'https', port: 443 },
      { name: 'metrics', port: 80 },
    ],
  });
  const input = { node: nodeOf('node-a', 'a'), service, slices: [aSlice(HINTED)], version: minor(36) };
  it('answers for every port in order', () =>
    expect(routesFor(input).map(({ port, reason }) => [port, reason])).to.deep.equal([
      ['https', 'SameZoneHints'],
      ['metrics', 'NoEndpoints'],
    ]));
  it('answers for the port named', () =>
    expect(routesFor({ ...input, port: 'metrics' }).map(({ port }) => port)).to.deep.equal(['metrics']));
  it('answers once for a Service without ports', () =>
    expect(routesFor({ ...input, service: aService({}, undefined, { ports: [] }) })).to.have.length(1));
});
