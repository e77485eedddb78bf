// kube-proxy's choice: today's rules, and traffic policies.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint, Node, Service } from '../../../../pkg/apis/core.ts';
import { aService, at, minor, nodeOf } from '../support.ts';
import { trafficPolicyOf } from '../../../../pkg/upstream/proxy/kube-proxy.ts';
import { HINTED, LEAVING, last, own, route } from './kube-proxy-support.ts';

describe('kubeProxyRoute: rules of 1.33 and newer', () => {
  const onNode = (zone: string, index: number, nodes: readonly string[], hints?: readonly string[]): Endpoint => {
    const endpoint = at(zone, index, hints === undefined ? {} : { hints });
    return { ...endpoint, hints: { ...endpoint.hints, forNodes: nodes.map((name) => ({ name })) } };
  };
  const rules: (readonly [
    name: string,
    endpoints: Endpoint[],
    at: { node?: Node },
    used: number[],
    reason: string,
    mode?: string,
  ])[] = [
    ['own zone', HINTED, {}, [1], 'SameZoneHints', 'PreferSameZone'],
    [
      'several zones for one endpoint',
      [at('b', 1, { hints: ['a', 'b'] }), own('b', 2), own('a', 3)],
      {},
      [1, 3],
      'SameZoneHints',
      'PreferSameZone',
    ],
    ['one endpoint without hint', [...HINTED, at('a', 4)], {}, [1, 2, 3, 4], 'EndpointWithoutHint'],
    ['no hints', [at('a', 1), at('b', 2)], {}, [1, 2], 'NoHints'],
    [
      'an unready endpoint without hint does not matter',
      [...HINTED, at('a', 4, { conditions: { ready: false } })],
      {},
      [1],
      'SameZoneHints',
      'PreferSameZone',
    ],
    [
      'ready not said counts as ready',
      [...HINTED, at('a', 4, { conditions: {} })],
      {},
      [1, 2, 3, 4],
      'EndpointWithoutHint',
    ],
    ['a zone that nobody is hinted for', HINTED, { node: nodeOf('node-d', 'd') }, [1, 2, 3], 'ZoneNotHinted'],
    ['a node without zone', HINTED, { node: nodeOf('node-x', '') }, [1, 2, 3], 'ClientNodeWithoutZone'],
    [
      'a node without zone and a hint for no zone',
      [own('a', 1), at('b', 2, { hints: [''] })],
      { node: nodeOf('node-x', '') },
      [2],
      'SameZoneHints',
      'PreferSameZone',
    ],
    [
      'own node',
      [onNode('a', 1, ['node-a'], ['a']), onNode('a', 2, ['n2'], ['a'])],
      {},
      [1],
      'SameNodeHints',
      'PreferSameNode',
    ],
    [
      'own node without zone hints',
      [onNode('a', 1, ['node-a']), onNode('b', 2, ['n2'])],
      {},
      [1],
      'SameNodeHints',
      'PreferSameNode',
    ],
    [
      'other nodes, own zone',
      [onNode('a', 1, ['n1'], ['a']), onNode('b', 2, ['n2'], ['b'])],
      {},
      [1],
      'SameZoneHints',
      'PreferSameZone',
    ],
    ['other nodes and no zones', [onNode('a', 1, ['n1']), onNode('b', 2, ['n2'])], {}, [1, 2], 'NodeNotHinted'],
    [
      'one without node hint, own zone',
      [onNode('a', 1, ['node-a'], ['a']), own('a', 2), own('b', 3)],
      {},
      [1, 2],
      'SameZoneHints',
      'PreferSameZone',
    ],
    ['nothing ready', [at('a', 1, { conditions: { ready: false, serving: false } })], {}, [], 'NoReadyEndpoints'],
    [
      'nothing ready, some terminating, in all zones',
      [at('a', 1, { hints: ['a'], conditions: LEAVING }), at('b', 2, { hints: ['b'], conditions: LEAVING })],
      {},
      [1, 2],
      'TerminatingEndpoints',
    ],
    [
      'one ready far away beats one terminating nearby',
      [at('a', 1, { conditions: LEAVING }), own('b', 2)],
      {},
      [2],
      'ZoneNotHinted',
    ],
  ];
  for (const [name, endpoints, { node = nodeOf('node-a', 'a') }, used, reason, mode = ''] of rules) {
    it(`${name}: ${reason}`, () => {
      const result = route(endpoints, { node });
      expect(last(result.cluster)).to.deep.equal(used);
      expect(last(result.reachable)).to.deep.equal(used);
      expect(last(result.used)).to.deep.equal(used);
      expect(result).to.include({
        mode,
        reason,
        local: null,
        zone: node.metadata?.labels?.['topology.kubernetes.io/zone'] ?? '',
      });
      expect(result.message)
        .to.include(node.metadata?.name)
        .and.to.not.match(/\{\w+\}|undefined/);
    });
  }

  for (const { name, overrides, endpoints = HINTED } of [
    { name: 'no endpoints', overrides: {}, endpoints: [] },
    { name: 'no such port', overrides: { port: 'metrics' } },
    { name: 'the other family', overrides: { family: 'IPv6' } },
  ]) {
    it(`${name}: nothing`, () =>
      expect(route(endpoints, overrides)).to.include({ reason: 'NoEndpoints', cluster: null, local: null, mode: '' }));
  }
  for (const [name, service] of [
    ['headless', aService({}, undefined, { clusterIP: 'None' })],
    ['ExternalName', aService({}, undefined, { type: 'ExternalName' })],
    [
      'another proxy',
      { ...aService(), metadata: { name: 's', labels: { 'service.kubernetes.io/service-proxy-name': 'x' } } },
    ],
  ] as const)
    it(`${name}: not proxied`, () => expect(route(HINTED, { service }).reason).to.equal('NotProxied'));
});

describe('kubeProxyRoute: traffic policies', () => {
  const LOCAL = { internalTrafficPolicy: 'Local' };
  const nodePort = (spec: Record<string, unknown>) =>
    aService({}, undefined, { ...spec, ports: [{ name: 'https', port: 443, nodePort: 30_000 }] });
  const here = at('b', 1, { nodeName: 'node-a', hints: ['b'] });
  const hereLeaving = at('a', 2, { nodeName: 'node-a', hints: ['a'], conditions: LEAVING });
  const nearby = at('a', 3, { nodeName: 'node-a2', hints: ['a'] });
  // The lists are: cluster, local, reachable, used.
  const policies: (readonly [
    name: string,
    service: Service,
    endpoints: Endpoint[],
    lists: (number[] | null)[],
    reason: string,
  ])[] = [
    [
      'internal Local',
      aService({}, undefined, LOCAL),
      [here, nearby],
      [null, [1], [1], [1]],
      'InternalTrafficPolicyLocal',
    ],
    [
      'internal Local, only terminating here',
      aService({}, undefined, LOCAL),
      [hereLeaving, nearby],
      [null, [2], [2], [2]],
      'InternalTrafficPolicyLocal',
    ],
    ['internal Local, nothing here', aService({}, undefined, LOCAL), [nearby], [null, [], [], []], 'NoLocalEndpoints'],
    [
      'internal Local with node port',
      nodePort(LOCAL),
      [here, nearby],
      [[3], [1], [1, 3], [1]],
      'InternalTrafficPolicyLocal',
    ],
    [
      'external Local, hints apply inside only',
      nodePort({ externalTrafficPolicy: 'Local' }),
      [here, nearby],
      [[3], [1], [1, 3], [3]],
      'SameZoneHints',
    ],
    [
      'external Local, terminating here',
      nodePort({ externalTrafficPolicy: 'Local' }),
      [hereLeaving, at('b', 4)],
      [[4], [2], [2, 4], [4]],
      'NoHints',
    ],
    [
      'external Local, no hints: cluster holds all',
      nodePort({ externalTrafficPolicy: 'Local' }),
      [at('a', 1), at('b', 4)],
      [[1, 4], [1], [1, 4], [1, 4]],
      'NoHints',
    ],
  ];
  for (const [name, service, endpoints, lists, reason] of policies) {
    it(name, () => {
      const result = route(endpoints, { service });
      expect([result.cluster, result.local, result.reachable, result.used].map((list) => last(list))).to.deep.equal(
        lists,
      );
      expect(result.reason).to.equal(reason);
    });
  }

  it('is one of two: all ready endpoints, or those hinted for the zone; whatever the order', () => {
    const worlds = fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.boolean(), fc.constantFrom(undefined, 'a', 'b')), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(worlds, fc.integer({ min: 31, max: 36 }), (entries, version) => {
        const endpoints = entries.map(([zone, ready, hint], index) =>
          at(zone, index, {
            conditions: { ready, serving: ready, terminating: false },
            ...(hint === undefined ? {} : { hints: [hint] }),
          }),
        );
        const result = route(endpoints, { version: minor(version) });
        const ready = entries.flatMap(([, isReady, hint], index) => (isReady ? [{ index, hint }] : []));
        const zone = ready.filter(({ hint }) => hint === 'a');
        const filters = zone.length > 0 && ready.every(({ hint }) => hint !== undefined);
        expect(last(result.used)).to.deep.equal((filters ? zone : ready).map(({ index }) => index));
        expect(result.mode).to.equal(filters ? 'PreferSameZone' : '');
        expect(route([...endpoints].reverse(), { version: minor(version) })).to.deep.equal(result);
      }),
    );
  });
});

// Which lists a Service port needs by its traffic policies.
describe('trafficPolicyOf', () => {
  // The lists of: the whole cluster, the own Node; is the latter for traffic from inside.
  const needs: (readonly [
    name: string,
    given: {
      spec?: NonNullable<Service['spec']>;
      nodePort?: number;
      status?: NonNullable<Service['status']>;
      honours?: boolean;
    },
    expected: boolean[],
  ])[] = [
    ['plain', {}, [true, false, false]],
    ['internal Local', { spec: { internalTrafficPolicy: 'Local' } }, [false, true, true]],
    [
      'internal Local before its gate',
      { spec: { internalTrafficPolicy: 'Local' }, honours: false },
      [true, false, false],
    ],
    [
      'internal Local, reachable by node port',
      { spec: { internalTrafficPolicy: 'Local' }, nodePort: 30_000 },
      [true, true, true],
    ],
    ['external Local but not reachable', { spec: { externalTrafficPolicy: 'Local' } }, [true, false, false]],
    ['external Local, node port', { spec: { externalTrafficPolicy: 'Local' }, nodePort: 30_000 }, [true, true, false]],
    [
      'external Local, load balancer',
      { spec: { externalTrafficPolicy: 'Local' }, status: { loadBalancer: { ingress: [{ ip: '198.18.1.1' }] } } },
      [true, true, false],
    ],
    [
      'external Local, no address yet',
      { spec: { externalTrafficPolicy: 'Local' }, status: { loadBalancer: {} } },
      [true, false, false],
    ],
    [
      'external Local, external IP',
      { spec: { externalTrafficPolicy: 'Local', externalIPs: ['198.18.1.1'] } },
      [true, true, false],
    ],
    [
      'external Cluster, node port',
      { spec: { externalTrafficPolicy: 'Cluster' }, nodePort: 30_000 },
      [true, false, false],
    ],
  ];
  for (const [name, { spec = {}, nodePort, status, honours = true }, expected] of needs) {
    it(name, () => {
      const port = { port: 443, ...(nodePort === undefined ? {} : { nodePort }) };
      const [usesCluster, usesLocal, internalLocal] = expected;
      const policy = trafficPolicyOf({ ...aService({}, undefined, spec), status }, port, honours);
      expect(policy).to.deep.equal({ usesCluster, usesLocal, internalLocal });
    });
  }
});
