// Routes worked out once for Nodes that are alike are those of every Node by itself.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint, Node } from '../../../../pkg/apis/core.ts';
import { kubeletVersion as versionOf } from '../../../../pkg/diagnosis/routers/nodes.ts';
import type { NodeRouting } from '../../../../pkg/diagnosis/routers/types.ts';
import { NEWEST_KNOWN_VERSION } from '../../../../pkg/routing/version.ts';
import { groupNodes, groupRoutesOf, routesOf } from '../../../../pkg/diagnosis/models/routes.ts';
import type { Proxy, Route } from '../../../../pkg/upstream/index.ts';
import { endpoint, node, service, slice } from '../../../fixtures/core.ts';
import { upTo } from '../../../support/depth.ts';

const ZONES = ['a', 'b', ''];
const VERSIONS = ['v1.29.1', 'v1.34.1', 'v1.36.0', 'unknown'];

const anyNodes = fc
  .array(fc.tuple(fc.constantFrom(...ZONES), fc.constantFrom(...VERSIONS)), { maxLength: 8 })
  .map((all) =>
    all.map(([zone, kubeletVersion], index) => node({ zone, kubeletVersion, metadata: { name: `n${index}` } })),
  );

const anyEndpoint: fc.Arbitrary<Endpoint> = fc
  .record({
    address: fc.integer({ min: 1, max: 5 }),
    zone: fc.constantFrom('a', 'b'),
    nodeName: fc.constantFrom('n0', 'n1', 'n7', 'elsewhere'),
    ready: fc.boolean(),
    terminating: fc.boolean(),
    forZones: fc.constantFrom([], ['a'], ['b'], ['a', 'b']),
    forNodes: fc.constantFrom([], ['n0'], ['n1']),
  })
  .map(({ address, zone, nodeName, ready, terminating, forZones, forNodes }) =>
    endpoint({
      addresses: [`10.0.0.${address}`],
      zone,
      nodeName,
      conditions: { ready: ready && !terminating, serving: true, terminating },
      hints: { forZones: forZones.map((name) => ({ name })), forNodes: forNodes.map((name) => ({ name })) },
    }),
  );

const anyService = fc
  .record({
    internalTrafficPolicy: fc.constantFrom('Cluster' as const, 'Local' as const),
    externalTrafficPolicy: fc.constantFrom('Cluster' as const, 'Local' as const),
    trafficDistribution: fc.constantFrom('PreferClose', 'PreferSameNode'),
  })
  .map((spec) =>
    service({ spec: { ...spec, type: 'NodePort', ports: [{ name: 'https', port: 443, nodePort: 30_443 }] } }),
  );

const PROXIES: readonly Proxy[] = [
  { kind: 'kube-proxy' },
  { kind: 'cilium', serviceTopology: true },
  { kind: 'linkerd' },
];

/** What matters of a route; the sentence names the Node it was worked out for. */
const facts = ({ zone, port, mode, cluster, local, reachable, used, reason }: Route, name: string): unknown => ({
  name,
  zone,
  port,
  mode,
  reason,
  lists: [cluster, local, reachable, used].map((list) => list?.map(({ key }) => key) ?? null),
});

const byKubelet = (each: Node): NodeRouting => ({
  proxy: { kind: 'kube-proxy' },
  version: versionOf(each) ?? NEWEST_KNOWN_VERSION,
});
const alike = (each: Node): string => JSON.stringify(byKubelet(each));

const nameOf = ({ metadata }: Node): string => metadata?.name ?? '';

describe('diagnosis: routes of groups', () => {
  it('are the routes of each Node, whatever the cluster', () => {
    const endpoints = fc.array(anyEndpoint, { maxLength: 6 });
    fc.assert(
      fc.property(
        anyNodes,
        anyService,
        endpoints,
        endpoints,
        fc.constantFrom(...PROXIES),
        (nodes, own, first, second, proxy) => {
          const routing = (each: Node): NodeRouting => ({ ...byKubelet(each), proxy });
          const groups = groupNodes(nodes, alike);
          const slices = [slice({ endpoints: first }), slice({ metadata: { name: 'other' }, endpoints: second })];
          const alone = routesOf({ service: own, slices, nodes, routing }).map((route) => facts(route, route.node));
          const grouped = groupRoutesOf(groups, { service: own, slices, routing }).flatMap((route) =>
            route.nodes.map((each) => facts(route, nameOf(each))),
          );
          expect(grouped).to.have.deep.members(alone);
        },
      ),
      { numRuns: upTo(400) },
    );
  });

  it('are those of each Node where Cilium prefers endpoints of the own Node', () => {
    const nodes = ['n0', 'n1'].map((name) => node({ zone: 'a', metadata: { name } }));
    const own = service({ spec: { trafficDistribution: 'PreferSameNode' } });
    const slices = [
      slice({
        endpoints: [
          { addresses: ['10.0.0.1'], conditions: { ready: true }, nodeName: 'n0', zone: 'a' },
          { addresses: ['10.0.0.2'], conditions: { ready: true }, nodeName: 'n2', zone: 'b' },
        ],
      }),
    ];
    const proxy: Proxy = { kind: 'cilium', serviceTopology: true };
    const routing = (): NodeRouting => ({ proxy, version: NEWEST_KNOWN_VERSION });
    const routes = groupRoutesOf(groupNodes(nodes, alike), { service: own, slices, routing });
    const used = routes.map((route) => [nameOf(route.nodes[0]!), route.used.length]);
    expect(used).to.have.deep.members([
      ['n0', 1],
      ['n1', 2],
    ]);
  });

  it('are worked out once for a zone and version', () => {
    const nodes = Array.from({ length: 30 }, (_, index) =>
      node({ zone: index % 2 === 0 ? 'a' : 'b', metadata: { name: `n${String(index).padStart(2, '0')}` } }),
    );
    const groups = groupNodes([...nodes].reverse(), alike);
    expect(groups.map((group) => [nameOf(group[0]!), group.length])).to.deep.equal([
      ['n00', 15],
      ['n01', 15],
    ]);
    const routes = groupRoutesOf(groups, { service: service(), slices: [slice()], routing: byKubelet });
    expect(routes.map((route) => route.nodes.length)).to.deep.equal([15, 15]);
  });
});
