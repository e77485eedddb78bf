import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint, EndpointSlice, Node, Service } from '../../../../pkg/apis/core.ts';
import { ANNOTATION_EVACUATED, NOWHERE } from '../../../../pkg/apis/names.ts';
import { clientsOf } from '../../../../pkg/diagnosis/models/routes.ts';
import {
  type AssessInput,
  assessEffectiveness,
  followFigures,
  serviceFiguresOf,
} from '../../../../pkg/controllers/effectiveness/assess.ts';
import { endpoint, kubeProxy, node, service, slice } from '../../../fixtures/core.ts';
import { CILIUM, configMap, daemonSet, routerObjects } from '../../../fixtures/data-planes.ts';

describe('assessEffectiveness', () => {
  const NODES = ['a', 'b'].map((zone) => node({ zone }));
  const CILIUM_SET = daemonSet('cilium', 'cilium:v1.19.1', CILIUM);

  const hinted = (zone: string, overrides: Partial<Endpoint> = {}): Endpoint =>
    endpoint({ zone, hints: { forZones: [{ name: zone }] }, ...overrides });

  const of = (endpoints: Endpoint[], addressType = 'IPv4'): EndpointSlice => slice({ endpoints, addressType });
  const ALL = [hinted('a'), hinted('b')];

  /** A slice under the mark of an evacuation of a: its endpoint is hinted for no zone that has Nodes, the other serves a too. */
  const evacuated = (...more: Endpoint[]): EndpointSlice => ({
    ...of([
      hinted('a', { hints: { forZones: [{ name: NOWHERE }] } }),
      hinted('b', { hints: { forZones: [{ name: 'a' }, { name: 'b' }] } }),
      ...more,
    ]),
    metadata: {
      annotations: { [ANNOTATION_EVACUATED]: '{"evacuated":{"a":true},"alsoServe":["a"],"original":"own"}' },
    },
  });

  const notReady = { conditions: { ready: false } };

  const cases: { name: string; input: Partial<AssessInput>; state: string; says?: RegExp }[] = [
    { name: 'every ready endpoint hinted, every zone served', input: {}, state: 'Effective' },
    {
      name: 'unready endpoints do not count',
      input: { slices: [of([...ALL, endpoint({ zone: 'c', ...notReady })])] },
      state: 'Effective',
    },
    {
      name: 'an endpoint of a zone is published as ready and is not, another one serves it',
      input: { slices: [of([...ALL, hinted('b', { conditions: { ready: true, serving: false } })])] },
      state: 'Effective',
    },
    {
      name: 'all endpoints of a zone are published as ready and are not',
      input: { slices: [of([hinted('a'), hinted('b', { conditions: { ready: true, serving: false } })])] },
      state: 'PublishedNotReady',
      says: /hinted for b is published as ready .*; connections of clients there fail/,
    },
    { name: 'both families', input: { slices: [of(ALL), of(ALL, 'IPv6')] }, state: 'Effective' },
    {
      name: 'one family lacks hints',
      input: { slices: [of(ALL), of([endpoint({ zone: 'a' })], 'IPv6')] },
      state: 'HintsMissing',
      says: /IPv6/,
    },
    {
      name: 'one endpoint lacks its hint',
      input: { slices: [of([...ALL, endpoint({ zone: 'a' })])] },
      state: 'HintsMissing',
      says: /1 of 3 ready/,
    },
    {
      name: 'one endpoint lacks a zone',
      input: { slices: [of([...ALL, endpoint({ zone: '' })])] },
      state: 'EndpointWithoutZone',
      says: /label the Nodes/,
    },
    {
      name: 'a client zone is not served',
      input: { clients: clientsOf(['a', 'b', 'c', 'd'].map((zone) => node({ zone }))) },
      state: 'ZoneNotServed',
      says: /hinted for c, d/,
    },
    {
      name: 'hints of unready endpoints serve nobody',
      input: { slices: [of([hinted('a'), hinted('b', notReady)])] },
      state: 'ZoneNotServed',
    },
    { name: 'endpoints null', input: { slices: [slice({ endpoints: null })] }, state: 'NoReadyEndpoints' },
    { name: 'none ready', input: { slices: [of([hinted('a', notReady)])] }, state: 'NoReadyEndpoints' },
    {
      name: 'absent conditions mean ready',
      input: { slices: [of([{ addresses: ['x'], zone: 'a' }])] },
      state: 'HintsMissing',
    },
    { name: 'headless', input: { service: service({ spec: { clusterIP: 'None' } }) }, state: 'Headless' },
    { name: 'no Service', input: { service: undefined }, state: 'ServiceMissing' },
    {
      name: 'Cilium without service topology',
      input: { clients: clientsOf(NODES, routerObjects(CILIUM_SET, configMap('cilium-config', {}))) },
      state: 'HintsNotFollowed',
      says: /^Service n\/s: Cilium 1\.19\.1 on Node \S+ ignores hints$/,
    },
    {
      name: 'a data plane of which nothing is known',
      input: { clients: clientsOf(NODES, routerObjects(daemonSet('anetd', 'cilium:v1.15.6-gke.25', CILIUM))) },
      state: 'RouterUnknown',
    },
    {
      name: 'kube-proxy older than the kubelet, and no annotation',
      input: { clients: clientsOf(NODES, routerObjects(kubeProxy('v1.30.4'))) },
      state: 'HintsNotFollowed',
      says: /^Service n\/s: kube-proxy 1\.30\.4 on Node \S+ does not look at its hints; it needs the annotation topology-mode$/,
    },
    {
      name: 'no object that shows who routes',
      input: { clients: clientsOf(NODES) },
      state: 'RouterAssumed',
      says: /^Service n\/s: kube-proxy is assumed on Node \S+: nothing in these objects shows another one/,
    },
    {
      name: 'a zone is evacuated',
      input: { slices: [evacuated()] },
      state: 'Evacuated',
      says: /^Service n\/s: a is evacuated, its clients use other zones/,
    },
    {
      name: 'a zone is evacuated, and who routes is assumed',
      input: { slices: [evacuated()], clients: clientsOf(NODES) },
      state: 'Evacuated',
    },
    {
      name: 'a zone is evacuated, and an endpoint without a hint brings connections back',
      input: { slices: [evacuated(endpoint({ zone: 'a' }))] },
      state: 'HintsMissing',
    },
    {
      name: 'a zone is evacuated, and proxies do not look at hints',
      input: { slices: [evacuated()], clients: clientsOf(NODES, routerObjects(kubeProxy('v1.30.4'))) },
      state: 'HintsNotFollowed',
    },
    {
      name: 'an annotation that no evacuation wrote',
      input: { slices: [{ ...of(ALL), metadata: { annotations: { [ANNOTATION_EVACUATED]: 'a' } } }] },
      state: 'Effective',
    },
    { name: 'druid has not acted', input: { pending: true }, state: 'Pending' },
  ];

  for (const { name, input, state, says = /Service n\/s|^$/ } of cases) {
    it(`${name}: ${state}`, () => {
      const result = assessEffectiveness({
        name: 'n/s',
        service: service(),
        pending: false,
        slices: [of(ALL)],
        clients: clientsOf(NODES, routerObjects(kubeProxy())),
        ...input,
      });
      expect(result.kind === 'effective' ? 'Effective' : result.reason).to.equal(state);
      expect(result.kind === 'effective' ? '' : result.message).to.match(says);
    });
  }
});

const nodes = ['a', 'b', 'c'].map((zone) => node({ zone }));

const inZone = (zone: string, hints: readonly string[] = [zone], more: Partial<Endpoint> = {}): Endpoint =>
  endpoint({ zone, ...(hints.length === 0 ? {} : { hints: { forZones: hints.map((name) => ({ name })) } }), ...more });

const shareOf = (endpoints: readonly Endpoint[], clients: readonly Node[] = nodes, of: Service = service()) =>
  serviceFiguresOf(of, [slice({ endpoints: [...endpoints] })], clientsOf(clients)).inZone;

describe('figures of a Service', () => {
  const shares: { name: string; endpoints: Endpoint[]; clients?: Node[]; share: number | undefined }[] = [
    { name: 'every zone served by its own endpoint', endpoints: ['a', 'b', 'c'].map((zone) => inZone(zone)), share: 1 },
    {
      name: 'zones weighted by their Nodes',
      endpoints: [inZone('a'), inZone('b', ['b', 'c'])],
      clients: [...nodes, ...['1', '2', '3'].map((name) => node({ zone: 'a', metadata: { name } }))],
      share: 5 / 6,
    },
    {
      name: 'a kube-proxy that looks at an annotation that is not there',
      endpoints: ['a', 'b', 'c'].map((zone) => inZone(zone)),
      clients: ['a', 'b', 'c'].map((zone) => node({ zone, kubeletVersion: 'v1.29.0' })),
      share: 1 / 3,
    },
    { name: 'no endpoint', endpoints: [], share: undefined },
    { name: 'no client', endpoints: [inZone('a')], clients: [], share: undefined },
    { name: 'no endpoint with a zone', endpoints: [inZone('', []), inZone('', [])], share: undefined },
  ];
  for (const { name, endpoints, clients, share } of shares) {
    it(`predict the share in the zone: ${name}`, () => {
      const found = shareOf(endpoints, clients);
      if (share === undefined) expect(found).to.equal(undefined);
      else expect(found).to.be.closeTo(share, 1e-9);
    });
  }

  it('count ready endpoints of all families by their hints', () => {
    const endpoints = [inZone('a'), inZone('b', []), inZone('c', [], { conditions: { ready: false } })];
    const slices = [slice({ endpoints }), slice({ addressType: 'IPv6', endpoints: [inZone('a'), inZone('b')] })];
    expect(serviceFiguresOf(service(), slices, clientsOf(nodes))).to.include({ hinted: 3, unhinted: 1 });
  });

  it('are kept while caches hand out the same Service, slices and clients', () => {
    const [of, slices, clients] = [service(), [slice()], clientsOf(nodes)];
    const before = followFigures(undefined, of, slices, clients);
    expect(followFigures(before, of, [...slices], clients)).to.equal(before);
    for (const after of [
      followFigures(before, service(), slices, clients),
      followFigures(before, of, [slice()], clients),
      followFigures(before, of, [...slices, slice()], clients),
      followFigures(before, of, slices, clientsOf(nodes)),
    ])
      expect(after).not.to.equal(before);
  });
});
