import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint, Node, Service } from '../../../../pkg/apis/core.ts';
import { followFigures, serviceFiguresOf } from '../../../../pkg/controllers/effectiveness/assess.ts';
import { clientsOf } from '../../../../pkg/diagnosis/models/routes.ts';
import { endpoint, node, service, slice } from '../../../fixtures/core.ts';

const nodes = ['a', 'b', 'c'].map((zone) => node({ zone }));
const inZone = (zone: string, hints: readonly string[] = [zone], more: Partial<Endpoint> = {}): Endpoint =>
  endpoint({ zone, ...(hints.length === 0 ? {} : { hints: { forZones: hints.map((name) => ({ name })) } }), ...more });

const shareOf = (endpoints: readonly Endpoint[], clients: readonly Node[] = nodes, of: Service = service()) =>
  serviceFiguresOf(of, [slice({ endpoints: [...endpoints] })], clientsOf(clients)).inZone;

describe('figures of a Service', () => {
  const shares: { name: string; endpoints: Endpoint[]; clients?: Node[]; share: number | undefined }[] = [
    { name: 'every zone served by its own endpoint', endpoints: ['a', 'b', 'c'].map((zone) => inZone(zone)), share: 1 },
    {
      name: 'no hints: a third of the connections of three zones',
      endpoints: ['a', 'b', 'c'].map((zone) => inZone(zone, [])),
      share: 1 / 3,
    },
    {
      name: 'one endpoint without a hint, which makes proxies ignore the others',
      endpoints: [inZone('a'), inZone('b'), inZone('c', [])],
      share: 1 / 3,
    },
    {
      name: 'a zone without an endpoint: its clients use all',
      endpoints: [inZone('a'), inZone('b')],
      share: 2 / 3,
    },
    {
      name: 'an endpoint hinted for two zones',
      endpoints: [inZone('a'), inZone('b', ['b', 'c'])],
      share: 2 / 3,
    },
    {
      name: 'zones weighted by their Nodes',
      endpoints: [inZone('a'), inZone('b', ['b', 'c'])],
      clients: [...nodes, ...['1', '2', '3'].map((name) => node({ zone: 'a', metadata: { name } }))],
      share: 5 / 6,
    },
    {
      name: 'an endpoint that is not ready',
      endpoints: [inZone('a'), inZone('b'), inZone('c', [], { conditions: { ready: false } })],
      share: 2 / 3,
    },
    {
      name: 'a kube-proxy that looks at an annotation that is not there',
      endpoints: ['a', 'b', 'c'].map((zone) => inZone(zone)),
      clients: ['a', 'b', 'c'].map((zone) => node({ zone, kubeletVersion: 'v1.29.0' })),
      share: 1 / 3,
    },
    {
      name: 'Nodes without zone, whose clients are never inside',
      endpoints: [inZone('a')],
      clients: [node({ zone: 'a' }), node({ zone: '' })],
      share: 1 / 2,
    },
    { name: 'no endpoint', endpoints: [], share: undefined },
    { name: 'no client', endpoints: [inZone('a')], clients: [], share: undefined },
    {
      name: 'no ready Node',
      endpoints: [inZone('a')],
      clients: [node({ zone: 'a', status: { conditions: [{ type: 'Ready', status: 'False' }] } })],
      share: undefined,
    },
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

  describe('that are followed', () => {
    const of = service();
    const slices = [slice({ endpoints: ['a', 'b', 'c'].map((zone) => inZone(zone)) })];
    const before = followFigures(undefined, of, slices, clientsOf(nodes));

    it('are kept while Service, slices and clients are the same', () => {
      expect(before.figures.inZone).to.equal(1);
      expect(followFigures(before, of, [...slices], clientsOf([...nodes]))).to.equal(before);
    });

    const changed: { name: string; next: () => ReturnType<typeof followFigures> }[] = [
      { name: 'another Service', next: () => followFigures(before, service(), slices, clientsOf(nodes)) },
      { name: 'another slice', next: () => followFigures(before, of, [slice()], clientsOf(nodes)) },
      { name: 'one slice more', next: () => followFigures(before, of, [...slices, slice()], clientsOf(nodes)) },
      {
        name: 'a Node more',
        next: () => followFigures(before, of, slices, clientsOf([...nodes, node({ zone: 'a' })])),
      },
      { name: 'a Node that leaves', next: () => followFigures(before, of, slices, clientsOf(nodes.slice(1))) },
      {
        name: 'a kubelet that is upgraded',
        next: () =>
          followFigures(
            before,
            of,
            slices,
            clientsOf([...nodes.slice(1), node({ zone: 'a', kubeletVersion: 'v1.36.0' })]),
          ),
      },
    ];
    for (const { name, next } of changed) {
      it(`are found anew with ${name}`, () => expect(next()).not.to.equal(before));
    }
  });
});
