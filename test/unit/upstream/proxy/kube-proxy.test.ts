// kube-proxy's choice: today's rules, and traffic policies.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint } from '../../../../pkg/apis/core.ts';
import { aService, at, minor, nodeOf } from '../support.ts';
import { trafficPolicyOf } from '../../../../pkg/upstream/proxy/kube-proxy.ts';
import { HINTED, LEAVING, last, own, route } from './kube-proxy-support.ts';

describe('kubeProxyRoute: rules of 1.33 and newer', () => {
  const onNode = (zone: string, index: number, nodes: readonly string[], hints?: readonly string[]): Endpoint => {
    const endpoint = at(zone, index, hints === undefined ? {} : { hints });
    return { ...endpoint, hints: { ...endpoint.hints, forNodes: nodes.map((name) => ({ name })) } };
  };
  for (const { name, endpoints, node = nodeOf('node-a', 'a'), used, mode = '', reason } of [
    { name: 'own zone', endpoints: HINTED, used: [1], mode: 'PreferSameZone', reason: 'SameZoneHints' },
    {
      name: 'several zones for one endpoint',
      endpoints: [at('b', 1, { hints: ['a', 'b'] }), own('b', 2), own('a', 3)],
      used: [1, 3],
      mode: 'PreferSameZone',
      reason: 'SameZoneHints',
    },
    {
      name: 'one endpoint without hint',
      endpoints: [...HINTED, at('a', 4)],
      used: [1, 2, 3, 4],
      reason: 'EndpointWithoutHint',
    },
    { name: 'no hints', endpoints: [at('a', 1), at('b', 2)], used: [1, 2], reason: 'NoHints' },
    {
      name: 'an unready endpoint without hint does not matter',
      endpoints: [...HINTED, at('a', 4, { conditions: { ready: false } })],
      used: [1],
      mode: 'PreferSameZone',
      reason: 'SameZoneHints',
    },
    {
      name: 'ready not said counts as ready',
      endpoints: [...HINTED, at('a', 4, { conditions: {} })],
      used: [1, 2, 3, 4],
      reason: 'EndpointWithoutHint',
    },
    {
      name: 'a zone that nobody is hinted for',
      endpoints: HINTED,
      node: nodeOf('node-d', 'd'),
      used: [1, 2, 3],
      reason: 'ZoneNotHinted',
    },
    {
      name: 'a node without zone',
      endpoints: HINTED,
      node: nodeOf('node-x', ''),
      used: [1, 2, 3],
      reason: 'ClientNodeWithoutZone',
    },
    {
      name: 'a node without zone and a hint for no zone',
      endpoints: [own('a', 1), at('b', 2, { hints: [''] })],
      node: nodeOf('node-x', ''),
      used: [2],
      mode: 'PreferSameZone',
      reason: 'SameZoneHints',
    },
    {
      name: 'own node',
      endpoints: [onNode('a', 1, ['node-a'], ['a']), onNode('a', 2, ['n2'], ['a'])],
      used: [1],
      mode: 'PreferSameNode',
      reason: 'SameNodeHints',
    },
    {
      name: 'own node without zone hints',
      endpoints: [onNode('a', 1, ['node-a']), onNode('b', 2, ['n2'])],
      used: [1],
      mode: 'PreferSameNode',
      reason: 'SameNodeHints',
    },
    {
      name: 'other nodes, own zone',
      endpoints: [onNode('a', 1, ['n1'], ['a']), onNode('b', 2, ['n2'], ['b'])],
      used: [1],
      mode: 'PreferSameZone',
      reason: 'SameZoneHints',
    },
    {
      name: 'other nodes and no zones',
      endpoints: [onNode('a', 1, ['n1']), onNode('b', 2, ['n2'])],
      used: [1, 2],
      reason: 'NodeNotHinted',
    },
    {
      name: 'one without node hint, own zone',
      endpoints: [onNode('a', 1, ['node-a'], ['a']), own('a', 2), own('b', 3)],
      used: [1, 2],
      mode: 'PreferSameZone',
      reason: 'SameZoneHints',
    },
    {
      name: 'nothing ready',
      endpoints: [at('a', 1, { conditions: { ready: false, serving: false } })],
      used: [],
      reason: 'NoReadyEndpoints',
    },
    {
      name: 'nothing ready, some terminating, in all zones',
      endpoints: [at('a', 1, { hints: ['a'], conditions: LEAVING }), at('b', 2, { hints: ['b'], conditions: LEAVING })],
      used: [1, 2],
      reason: 'TerminatingEndpoints',
    },
    {
      name: 'one ready far away beats one terminating nearby',
      endpoints: [at('a', 1, { conditions: LEAVING }), own('b', 2)],
      used: [2],
      reason: 'ZoneNotHinted',
    },
  ]) {
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
  ] as const) {
    it(`${name}: not proxied`, () => expect(route(HINTED, { service }).reason).to.equal('NotProxied'));
  }
});

describe('kubeProxyRoute: traffic policies', () => {
  const LOCAL = { internalTrafficPolicy: 'Local' };
  const nodePort = (spec: Record<string, unknown>) =>
    aService({}, undefined, { ...spec, ports: [{ name: 'https', port: 443, nodePort: 30_000 }] });
  const here = at('b', 1, { nodeName: 'node-a', hints: ['b'] });
  const hereLeaving = at('a', 2, { nodeName: 'node-a', hints: ['a'], conditions: LEAVING });
  const nearby = at('a', 3, { nodeName: 'node-a2', hints: ['a'] });
  for (const { name, service, endpoints, cluster, local, reachable, used, reason } of [
    {
      name: 'internal Local',
      service: aService({}, undefined, LOCAL),
      endpoints: [here, nearby],
      cluster: null,
      local: [1],
      reachable: [1],
      used: [1],
      reason: 'InternalTrafficPolicyLocal',
    },
    {
      name: 'internal Local, only terminating here',
      service: aService({}, undefined, LOCAL),
      endpoints: [hereLeaving, nearby],
      cluster: null,
      local: [2],
      reachable: [2],
      used: [2],
      reason: 'InternalTrafficPolicyLocal',
    },
    {
      name: 'internal Local, nothing here',
      service: aService({}, undefined, LOCAL),
      endpoints: [nearby],
      cluster: null,
      local: [],
      reachable: [],
      used: [],
      reason: 'NoLocalEndpoints',
    },
    {
      name: 'internal Local with node port',
      service: nodePort(LOCAL),
      endpoints: [here, nearby],
      cluster: [3],
      local: [1],
      reachable: [1, 3],
      used: [1],
      reason: 'InternalTrafficPolicyLocal',
    },
    {
      name: 'external Local, hints apply inside only',
      service: nodePort({ externalTrafficPolicy: 'Local' }),
      endpoints: [here, nearby],
      cluster: [3],
      local: [1],
      reachable: [1, 3],
      used: [3],
      reason: 'SameZoneHints',
    },
    {
      name: 'external Local, terminating here',
      service: nodePort({ externalTrafficPolicy: 'Local' }),
      endpoints: [hereLeaving, at('b', 4)],
      cluster: [4],
      local: [2],
      reachable: [2, 4],
      used: [4],
      reason: 'NoHints',
    },
    {
      name: 'external Local, no hints: cluster holds all',
      service: nodePort({ externalTrafficPolicy: 'Local' }),
      endpoints: [at('a', 1), at('b', 4)],
      cluster: [1, 4],
      local: [1],
      reachable: [1, 4],
      used: [1, 4],
      reason: 'NoHints',
    },
  ]) {
    it(name, () => {
      const result = route(endpoints, { service });
      expect([result.cluster, result.local, result.reachable, result.used].map((list) => last(list))).to.deep.equal([
        cluster,
        local,
        reachable,
        used,
      ]);
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
  for (const { name, spec = {}, nodePort, status, honours = true, expected } of [
    { name: 'plain', expected: [true, false, false] },
    { name: 'internal Local', spec: { internalTrafficPolicy: 'Local' }, expected: [false, true, true] },
    {
      name: 'internal Local before its gate',
      spec: { internalTrafficPolicy: 'Local' },
      honours: false,
      expected: [true, false, false],
    },
    {
      name: 'internal Local, reachable by node port',
      spec: { internalTrafficPolicy: 'Local' },
      nodePort: 30_000,
      expected: [true, true, true],
    },
    {
      name: 'external Local but not reachable',
      spec: { externalTrafficPolicy: 'Local' },
      expected: [true, false, false],
    },
    {
      name: 'external Local, node port',
      spec: { externalTrafficPolicy: 'Local' },
      nodePort: 30_000,
      expected: [true, true, false],
    },
    {
      name: 'external Local, load balancer',
      spec: { externalTrafficPolicy: 'Local' },
      status: { loadBalancer: { ingress: [{ ip: '198.18.1.1' }] } },
      expected: [true, true, false],
    },
    {
      name: 'external Local, no address yet',
      spec: { externalTrafficPolicy: 'Local' },
      status: { loadBalancer: {} },
      expected: [true, false, false],
    },
    {
      name: 'external Local, external IP',
      spec: { externalTrafficPolicy: 'Local', externalIPs: ['198.18.1.1'] },
      expected: [true, true, false],
    },
    {
      name: 'external Cluster, node port',
      spec: { externalTrafficPolicy: 'Cluster' },
      nodePort: 30_000,
      expected: [true, false, false],
    },
  ]) {
    it(name, () => {
      const port = { port: 443, ...(nodePort === undefined ? {} : { nodePort }) };
      const [usesCluster, usesLocal, internalLocal] = expected;
      const policy = trafficPolicyOf({ ...aService({}, undefined, spec), status }, port, honours);
      expect(policy).to.deep.equal({ usesCluster, usesLocal, internalLocal });
    });
  }
});
