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

  const only = (...endpoints: Endpoint[]) => ({ slices: [of(endpoints)] });
  const among = (...endpoints: Endpoint[]) => only(...ALL, ...endpoints);
  const routedBy = (...objects: object[]) => ({ clients: clientsOf(NODES, routerObjects(...objects)) });
  const leaving = hinted('b', { conditions: { ready: true, serving: false } });
  const old = routedBy(kubeProxy('v1.30.4'));
  const annotated = { ...of(ALL), metadata: { annotations: { [ANNOTATION_EVACUATED]: 'a' } } };
  const more = { clients: clientsOf(['a', 'b', 'c', 'd'].map((zone) => node({ zone }))) };
  const OLD =
    /^Service n\/s: kube-proxy 1\.30\.4 on Node \S+ does not look at its hints; it needs the annotation topology-mode$/;
  const ASSUMED = /^Service n\/s: kube-proxy is assumed on Node \S+: nothing in these objects shows another one/;

  const cases: readonly (readonly [name: string, input: Partial<AssessInput>, state: string, says?: RegExp])[] = [
    ['every ready endpoint hinted, every zone served', {}, 'Effective'],
    ['unready endpoints do not count', among(endpoint({ zone: 'c', ...notReady })), 'Effective'],
    ['an endpoint is published as ready and is not, another one serves its zone', among(leaving), 'Effective'],
    [
      'all endpoints of a zone are published as ready and are not',
      only(hinted('a'), leaving),
      'PublishedNotReady',
      /hinted for b is published as ready .*; connections of clients there fail/,
    ],
    ['both families', { slices: [of(ALL), of(ALL, 'IPv6')] }, 'Effective'],
    ['one family lacks hints', { slices: [of(ALL), of([endpoint({ zone: 'a' })], 'IPv6')] }, 'HintsMissing', /IPv6/],
    ['one endpoint lacks its hint', among(endpoint({ zone: 'a' })), 'HintsMissing', /1 of 3 ready/],
    ['one endpoint lacks a zone', among(endpoint({ zone: '' })), 'EndpointWithoutZone', /label the Nodes/],
    ['a client zone is not served', more, 'ZoneNotServed', /hinted for c, d/],
    ['hints of unready endpoints serve no client', only(hinted('a'), hinted('b', notReady)), 'ZoneNotServed'],
    ['endpoints null', { slices: [slice({ endpoints: null })] }, 'NoReadyEndpoints'],
    ['none ready', only(hinted('a', notReady)), 'NoReadyEndpoints'],
    ['absent conditions mean ready', only({ addresses: ['x'], zone: 'a' }), 'HintsMissing'],
    ['headless', { service: service({ spec: { clusterIP: 'None' } }) }, 'Headless'],
    ['no Service', { service: undefined }, 'ServiceMissing'],
    [
      'Cilium without service topology',
      routedBy(CILIUM_SET, configMap('cilium-config', {})),
      'HintsNotFollowed',
      /^Service n\/s: Cilium 1\.19\.1 on Node \S+ ignores hints$/,
    ],
    [
      'a data plane of which nothing is known',
      routedBy(daemonSet('anetd', 'cilium:v1.15.6-gke.25', CILIUM)),
      'RouterUnknown',
    ],
    ['kube-proxy older than the kubelet, and no annotation', old, 'HintsNotFollowed', OLD],
    ['no object that shows who routes', { clients: clientsOf(NODES) }, 'RouterAssumed', ASSUMED],
    [
      'a zone is evacuated',
      { slices: [evacuated()] },
      'Evacuated',
      /^Service n\/s: a is evacuated, its clients use other zones/,
    ],
    ['and who routes is assumed', { slices: [evacuated()], clients: clientsOf(NODES) }, 'Evacuated'],
    [
      'and an endpoint without a hint brings connections back',
      { slices: [evacuated(endpoint({ zone: 'a' }))] },
      'HintsMissing',
    ],
    ['and proxies do not look at hints', { slices: [evacuated()], ...old }, 'HintsNotFollowed'],
    ['an annotation that no evacuation wrote', { slices: [annotated] }, 'Effective'],
    ['druid has not acted', { pending: true }, 'Pending'],
  ];

  for (const [name, input, state, says = /Service n\/s|^$/] of cases) {
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
