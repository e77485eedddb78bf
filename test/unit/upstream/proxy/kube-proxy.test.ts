// kube-proxy's choice: today's rules, and traffic policies.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint, Node, Service } from '../../../../pkg/apis/core.ts';
import { aService, at, minor, nodeOf } from '../support.ts';
import { trafficPolicyOf } from '../../../../pkg/upstream/proxy/kube-proxy.ts';
import { HINTED, LEAVING, last, own, route } from './kube-proxy-support.ts';

describe('kubeProxyRoute: rules of 1.33 and newer', () => {
  const onNode = (zone: string, index: number, node: string, hints?: readonly string[]): Endpoint => {
    const endpoint = at(zone, index, hints === undefined ? {} : { hints });
    return { ...endpoint, hints: { ...endpoint.hints, forNodes: [{ name: node }] } };
  };
  const leaving = (zone: string, index: number) => at(zone, index, { hints: [zone], conditions: LEAVING });
  const NO_ZONE = nodeOf('node-x', '');
  const gone = { conditions: { ready: false, serving: false } };
  const rules: (readonly [name: string, endpoints: Endpoint[], used: number[], reason: string, node?: Node])[] = [
    ['own zone', HINTED, [1], 'SameZoneHints'],
    ['several zones for one', [at('b', 1, { hints: ['a', 'b'] }), own('b', 2), own('a', 3)], [1, 3], 'SameZoneHints'],
    ['one endpoint without hint', [...HINTED, at('a', 4)], [1, 2, 3, 4], 'EndpointWithoutHint'],
    ['no hints', [at('a', 1), at('b', 2)], [1, 2], 'NoHints'],
    ['an unready endpoint without hint does not matter', [...HINTED, at('a', 4, gone)], [1], 'SameZoneHints'],
    ['ready not said is ready', [...HINTED, at('a', 4, { conditions: {} })], [1, 2, 3, 4], 'EndpointWithoutHint'],
    ['a zone that no endpoint is hinted for', HINTED, [1, 2, 3], 'ZoneNotHinted', nodeOf('node-d', 'd')],
    ['a node without zone', HINTED, [1, 2, 3], 'ClientNodeWithoutZone', NO_ZONE],
    ['a node and a hint for no zone', [own('a', 1), at('b', 2, { hints: [''] })], [2], 'SameZoneHints', NO_ZONE],
    ['own node', [onNode('a', 1, 'node-a', ['a']), onNode('a', 2, 'n2', ['a'])], [1], 'SameNodeHints'],
    ['own node without zone hints', [onNode('a', 1, 'node-a'), onNode('b', 2, 'n2')], [1], 'SameNodeHints'],
    ['other nodes, own zone', [onNode('a', 1, 'n1', ['a']), onNode('b', 2, 'n2', ['b'])], [1], 'SameZoneHints'],
    ['other nodes and no zones', [onNode('a', 1, 'n1'), onNode('b', 2, 'n2')], [1, 2], 'NodeNotHinted'],
    ['one without node', [onNode('a', 1, 'node-a', ['a']), own('a', 2), own('b', 3)], [1, 2], 'SameZoneHints'],
    ['nothing ready', [at('a', 1, gone)], [], 'NoReadyEndpoints'],
    [
      'nothing ready, some terminating, in all zones',
      [leaving('a', 1), leaving('b', 2)],
      [1, 2],
      'TerminatingEndpoints',
    ],
    ['one ready far away beats one terminating nearby', [leaving('a', 1), own('b', 2)], [2], 'ZoneNotHinted'],
  ];
  const MODES: Readonly<Record<string, string>> = { SameZoneHints: 'PreferSameZone', SameNodeHints: 'PreferSameNode' };
  for (const [name, endpoints, used, reason, node = nodeOf('node-a', 'a')] of rules) {
    it(`${name}: ${reason}`, () => {
      const result = route(endpoints, { node });
      expect(last(result.cluster)).to.deep.equal(used);
      expect(last(result.reachable)).to.deep.equal(used);
      expect(last(result.used)).to.deep.equal(used);
      const zone = node.metadata?.labels?.['topology.kubernetes.io/zone'] ?? '';
      expect(result).to.include({ mode: MODES[reason] ?? '', reason, local: null, zone });
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
  const inside = { internalTrafficPolicy: 'Local' };
  const nodePort = (spec: Record<string, unknown>) =>
    aService({}, undefined, { ...spec, ports: [{ name: 'https', port: 443, nodePort: 30_000 }] });
  const internal = aService({}, undefined, inside);
  const external = nodePort({ externalTrafficPolicy: 'Local' });
  const here = at('b', 1, { nodeName: 'node-a', hints: ['b'] });
  const hereLeaving = at('a', 2, { nodeName: 'node-a', hints: ['a'], conditions: LEAVING });
  const nearby = at('a', 3, { nodeName: 'node-a2', hints: ['a'] });
  const ONLY_HERE = 'InternalTrafficPolicyLocal';
  type Lists = readonly (number[] | null)[];
  /** The lists are: cluster, local, reachable, used. */
  const policies: (readonly [name: string, of: Service, endpoints: Endpoint[], lists: Lists, reason: string])[] = [
    ['internal Local', internal, [here, nearby], [null, [1], [1], [1]], ONLY_HERE],
    ['internal Local, only terminating here', internal, [hereLeaving, nearby], [null, [2], [2], [2]], ONLY_HERE],
    ['internal Local, nothing here', internal, [nearby], [null, [], [], []], 'NoLocalEndpoints'],
    ['internal Local with node port', nodePort(inside), [here, nearby], [[3], [1], [1, 3], [1]], ONLY_HERE],
    ['external Local: hints inside only', external, [here, nearby], [[3], [1], [1, 3], [3]], 'SameZoneHints'],
    ['external Local, leaving here', external, [hereLeaving, at('b', 4)], [[4], [2], [2, 4], [4]], 'NoHints'],
    ['external Local, no hints', external, [at('a', 1), at('b', 4)], [[1, 4], [1], [1, 4], [1, 4]], 'NoHints'],
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
  const internal = { spec: { internalTrafficPolicy: 'Local' } };
  const external = { spec: { externalTrafficPolicy: 'Local' } };
  const nodePort = 30_000;
  interface Given {
    readonly spec?: NonNullable<Service['spec']>;
    readonly nodePort?: number;
    readonly status?: NonNullable<Service['status']>;
    readonly honours?: boolean;
  }
  const address = { loadBalancer: { ingress: [{ ip: '198.18.1.1' }] } };
  // The lists of: the whole cluster, the own Node; is the latter for traffic from inside.
  const needs: (readonly [name: string, given: Given, expected: boolean[]])[] = [
    ['plain', {}, [true, false, false]],
    ['internal Local', internal, [false, true, true]],
    ['internal Local before its gate', { ...internal, honours: false }, [true, false, false]],
    ['internal Local, reachable by node port', { ...internal, nodePort }, [true, true, true]],
    ['external Local but not reachable', external, [true, false, false]],
    ['external Local, node port', { ...external, nodePort }, [true, true, false]],
    ['external Local, load balancer', { ...external, status: address }, [true, true, false]],
    ['external Local, no address yet', { ...external, status: { loadBalancer: {} } }, [true, false, false]],
    ['external Local, IP', { spec: { ...external.spec, externalIPs: ['198.18.1.1'] } }, [true, true, false]],
    ['external Cluster, node port', { spec: { externalTrafficPolicy: 'Cluster' }, nodePort }, [true, false, false]],
  ];
  for (const [name, { spec = {}, status, honours = true, ...given }, expected] of needs) {
    it(name, () => {
      const port = { port: 443, ...given };
      const [usesCluster, usesLocal, internalLocal] = expected;
      const policy = trafficPolicyOf({ ...aService({}, undefined, spec), status }, port, honours);
      expect(policy).to.deep.equal({ usesCluster, usesLocal, internalLocal });
    });
  }
});
