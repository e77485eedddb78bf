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

interface Input {
  readonly proxy: Proxy;
  readonly service?: Service;
  readonly endpoints?: typeof HINTED;
  readonly zone?: string;
}

type Case = readonly [name: string, input: Input, used: number, reason: string];

const run = ({ proxy, service = CLOSE, endpoints = HINTED, zone = 'a' }: Input) =>
  routeFor({ node: nodeOf('node-a', zone), service, slices: [aSlice(endpoints)], version: minor(36) }, proxy);

const asks = (cases: readonly Case[]): void => {
  for (const [name, input, used, reason] of cases)
    it(`${name}: ${reason}`, () => {
      const result = run(input);
      expect(result.reason).to.equal(reason);
      expect(result.used).to.have.length(used);
      expect(result.message).to.not.match(/\{\w+\}|undefined/);
    });
};

describe('Cilium', () =>
  asks([
    ['service topology off, as by default', { proxy: { kind: 'cilium' } }, 2, 'CiliumServiceTopologyOff'],
    ['PreferClose', { proxy: CILIUM }, 1, 'SameZoneHints'],
    ['not opted in', { proxy: CILIUM, service: aService() }, 2, 'CiliumNotOptedIn'],
    ['annotation', { proxy: CILIUM, service: aService({ [MODE]: 'Auto' }) }, 1, 'SameZoneHints'],
    [
      'older annotation disables',
      { proxy: CILIUM, service: aService({ [HINTS]: 'Disabled', [MODE]: 'Auto' }) },
      2,
      'CiliumNotOptedIn',
    ],
    [
      'PreferSameZone in 1.18 and 1.19',
      { proxy: { ...CILIUM, ciliumVersion: { major: 1, minor: 19 } }, service: aService({}, 'PreferSameZone') },
      2,
      'CiliumNotOptedIn',
    ],
    [
      'PreferSameZone since 1.20',
      { proxy: { ...CILIUM, ciliumVersion: { major: 1, minor: 20 } }, service: aService({}, 'PreferSameZone') },
      1,
      'SameZoneHints',
    ],
    ['partly hinted', { proxy: CILIUM, endpoints: PARTLY }, 3, 'EndpointWithoutHint'],
    [
      'internal Local',
      { proxy: CILIUM, service: aService({}, 'PreferClose', { internalTrafficPolicy: 'Local' }) },
      1,
      'InternalTrafficPolicyLocal',
    ],
    [
      'external Local up to 1.17',
      {
        proxy: { ...CILIUM, ciliumVersion: { major: 1, minor: 17 } },
        service: aService({}, 'PreferClose', { externalTrafficPolicy: 'Local' }),
      },
      2,
      'CiliumExternalTrafficPolicyLocal',
    ],
    ['only terminating', { proxy: CILIUM, endpoints: LEAVING }, 1, 'TerminatingEndpoints'],
    ['node without zone', { proxy: CILIUM, zone: '' }, 2, 'ClientNodeWithoutZone'],
  ]));

describe('an EndpointSlice with a weight', () => {
  const cilium = (minorVersion: number): Proxy => ({ ...CILIUM, ciliumVersion: { major: 1, minor: minorVersion } });
  const cases: readonly (readonly [name: string, proxy: Proxy, weight: string, used: string, reason: string])[] = [
    ['1.20 drains it', cilium(20), '0', '2', 'ZoneNotHinted'],
    [
      'without service topology too',
      { ...cilium(20), serviceTopology: false } as Proxy,
      '0',
      '2',
      'CiliumServiceTopologyOff',
    ],
    ['1.19 does not know it', cilium(19), '0', '1', 'SameZoneHints'],
    ['of more than 0', cilium(20), '10', '1', 'SameZoneHints'],
    ['that is no number', cilium(20), '-0', '1', 'SameZoneHints'],
    ['kube-proxy', { kind: 'kube-proxy' }, '0', '1', 'SameZoneHints'],
  ];
  const [own, other] = HINTED.map((endpoint) => aSlice([endpoint]));
  const routeWith = (proxy: Proxy, weight: string, all = false) => {
    const [a, b] = [own, other].map((slice, index) => ({
      ...slice,
      metadata: {
        name: `web-${index}`,
        ...((all || index === 0) && { annotations: { 'service.cilium.io/weight': weight } }),
      },
    }));
    const slices = [a, b].filter((slice) => slice !== undefined);
    return routeFor({ node: nodeOf('node-a', 'a'), service: CLOSE, slices, version: minor(36) }, proxy);
  };
  for (const [name, proxy, weight, used, reason] of cases) {
    it(`${name}: ${reason}`, () => {
      const route = routeWith(proxy, weight);
      expect([route.used.map(({ address }) => address.at(-1)).join(), route.reason]).to.deep.equal([used, reason]);
    });
  }
  it('all of them: connections fail', () => {
    expect(routeWith(cilium(20), '0', true)).to.deep.include({ used: [], reason: 'NoReadyEndpoints' });
  });
});

describe('Linkerd', () =>
  asks([
    ['own zone, whatever the Service says', { proxy: LINKERD, service: aService() }, 1, 'SameZoneHints'],
    ['slices off', { proxy: { kind: 'linkerd', endpointSlices: false } }, 2, 'LinkerdSlicesOff'],
    ['partly hinted', { proxy: LINKERD, endpoints: PARTLY }, 3, 'EndpointWithoutHint'],
    ['zone not hinted', { proxy: LINKERD, zone: 'z' }, 2, 'ZoneNotHinted'],
    ['only terminating', { proxy: LINKERD, endpoints: LEAVING }, 0, 'NoReadyEndpoints'],
    [
      'node hints only',
      { proxy: LINKERD, endpoints: [{ ...at('a', 1), hints: { forNodes: [{ name: 'node-a' }] } }, at('b', 2)] },
      2,
      'NoHints',
    ],
    ['no endpoints', { proxy: LINKERD, endpoints: [] }, 0, 'NoEndpoints'],
    [
      'internal Local, nothing here',
      { proxy: LINKERD, service: aService({}, undefined, { internalTrafficPolicy: 'Local' }), endpoints: [at('b', 2)] },
      0,
      'NoLocalEndpoints',
    ],
    ['headless', { proxy: LINKERD, service: aService({}, undefined, { clusterIP: 'None' }) }, 0, 'NotProxied'],
  ]));

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
