// SPDX-License-Identifier: Apache-2.0
// Whether Services survive the loss of a zone: answers, figures, what hints do not move, and a comparison with the proxy models.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint, EndpointSlice, Node, Service } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { survival, unknownZone } from '../../../../pkg/diagnosis/survival/survival.ts';
import type { ServiceSurvival, SurvivalOptions, SurvivalReport } from '../../../../pkg/diagnosis/survival/types.ts';
import { baseOf } from '../../../../pkg/evacuation/base-hints.ts';
import { decideInOrder } from '../../../../pkg/evacuation/decide.ts';
import { evacuatedHints } from '../../../../pkg/evacuation/slice.ts';
import { routeFor, trafficOf } from '../../../../pkg/upstream/index.ts';
import { endpoint, kubeProxy, node, service, slice } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

const [A, B, C] = ['eu-1a', 'eu-1b', 'eu-1c'] as const;
const NODES = [A, B, C].map((zone) => node({ zone }));

const endpointsIn = (zones: readonly string[], hinted = false): Endpoint[] =>
  zones.map((zone, index) => ({
    ...endpoint({ zone, addresses: [`10.0.0.${index + 1}`] }),
    ...(hinted ? { hints: { forZones: [{ name: zone }] } } : {}),
  }));

const web = (
  zones: readonly string[],
  spec: NonNullable<Parameters<typeof service>[0]>['spec'] = {},
  hinted = false,
): KubernetesObject[] => [
  service({ metadata: { name: 'web' }, spec }),
  slice({ service: 'web', endpoints: endpointsIn(zones, hinted) }),
];

const ask = (objects: readonly KubernetesObject[], options: Partial<SurvivalOptions> = {}): SurvivalReport =>
  survival(snapshotOf(...objects), { now: 0, zones: [A], ...options });

const answered = (objects: readonly KubernetesObject[], options: Partial<SurvivalOptions> = {}): ServiceSurvival => {
  const [first] = ask([...NODES, kubeProxy(), ...objects], options).services;
  if (first === undefined) throw new Error('no Service');
  return first;
};

const SAME_ZONE = { trafficDistribution: 'PreferSameZone' };

describe('survival: the answer for one Service', () => {
  const cases: readonly (readonly [
    name: string,
    zones: readonly string[],
    options: Partial<SurvivalOptions>,
    expected: Partial<ServiceSurvival>,
  ])[] = [
    ['survives with one of three gone', [A, B, C], {}, { answer: 'Survives', endpoints: { count: 1, of: 3 } }],
    ['is overloaded where a third is left of four', [A, A, A, C], {}, { answer: 'Overloaded', replicas: { [B]: 1 } }],
    ['is down where all are there', [A, A], {}, { answer: 'NoEndpointElsewhere', replicas: { [B]: 1 } }],
    ['has nothing there', [B, C], {}, { answer: 'NoEndpointThere', endpoints: { count: 0, of: 2 }, unmoved: [] }],
    ['is down where both zones go', [A, B], { zones: [A, B] }, { answer: 'NoEndpointElsewhere', replicas: { [C]: 1 } }],
    [
      'is overloaded by a stricter limit',
      [A, B, C],
      { maxOverload: 0.2 },
      { answer: 'Overloaded', replicas: { [B]: 1 } },
    ],
    ['counts endpoints without zone as elsewhere', [A, ''], {}, { answer: 'Survives', zoneless: 1 }],
  ];
  for (const [name, zones, options, expected] of cases) {
    it(name, () => expect(answered(web(zones), options)).to.deep.include(expected));
  }

  const shares: readonly (readonly [percent: number, rounding: 'Up' | 'Down', leaving: number, answer: string])[] = [
    [100, 'Down', 3, 'Survives'],
    [50, 'Up', 2, 'Survives'],
    [50, 'Down', 1, 'Survives'],
    [67, 'Down', 2, 'Survives'],
    [1, 'Up', 1, 'Survives'],
    [33, 'Down', 0, 'LessThanOne'],
  ];
  for (const [percent, rounding, leaving, answer] of shares) {
    it(`${percent} % of three, rounded ${rounding.toLowerCase()}, are ${leaving}`, () => {
      const found = answered(web([A, A, A, B, B, C]), { leavesOf: () => [{ zone: A, percent, rounding }] });
      expect([found.endpoints, found.answer]).to.deep.equal([{ count: leaving, of: 6 }, answer]);
    });
  }

  it('two evacuations of one zone take what the larger of them takes', () => {
    const leaves = [25, 50].map((percent) => ({ zone: A, percent, rounding: 'Up' }) as const);
    expect(answered(web([A, A, A, A, B]), { leavesOf: () => leaves }).endpoints).to.deep.equal({ count: 2, of: 5 });
  });

  it('clients of the zone that keep to it go to the endpoints that stay there', () => {
    const objects = web([A, A, B, C], SAME_ZONE, true);
    const { load } = answered(objects, { leavesOf: () => [{ zone: A, percent: 50, rounding: 'Up' }] });
    expect([load?.now.toFixed(6), load?.after?.toFixed(6)]).to.deep.equal([(4 / 3).toFixed(6), (4 / 3).toFixed(6)]);
  });

  it('keeps clients at home where they are kept now, and spreads those of the lost zone', () => {
    const { load } = answered(web([A, B, C, C], SAME_ZONE, true));
    // A third of the clients in b, and a ninth of all from a, on the one endpoint there: 4/9 of 4 endpoints' fair share.
    expect(load).to.deep.include({ basis: 'fairShare', zone: B, limit: 2 });
    expect([load?.now, load?.after].map((own) => own?.toFixed(6))).to.deep.equal(['1.333333', (16 / 9).toFixed(6)]);
  });

  it('judges the port that is worst off', () => {
    const other = slice({
      service: 'web',
      metadata: { name: 'web-admin' },
      ports: [{ name: 'admin', protocol: 'TCP', port: 9000 }],
      endpoints: endpointsIn([A]),
    });
    const { answer, message } = answered([...web([A, B, C]), other]);
    expect([answer, message]).to.deep.equal([
      'NoEndpointElsewhere',
      `All of 1 ready endpoint (port admin) are in ${A}.`,
    ]);
  });

  it('judges the address family that is worst off', () => {
    const six = slice({ service: 'web', metadata: { name: 'web-6' }, addressType: 'IPv6' });
    six.endpoints = [endpoint({ zone: A, addresses: ['fd00::1'] })];
    expect(answered([...web([A, B, C], { ipFamilies: ['IPv4', 'IPv6'] }), six]).answer).to.equal('NoEndpointElsewhere');
  });

  it('ignores endpoints that are not ready', () => {
    const own = slice({ service: 'web', endpoints: endpointsIn([A, B]) });
    for (const each of own.endpoints ?? []) if (each.zone === B) each.conditions = { ready: false };
    expect(answered([service({ metadata: { name: 'web' } }), own]).answer).to.equal('NoEndpointElsewhere');
  });

  const untouched: readonly (readonly [string, readonly KubernetesObject[], string])[] = [
    [
      'the Service of the API server',
      [service({ metadata: { name: 'kubernetes' } }), slice({ service: 'kubernetes' })],
      'API server',
    ],
    ['a name in DNS', web([A], { type: 'ExternalName' }), 'DNS'],
    ['a Service without ready endpoints', web([]), 'No endpoint is ready'],
  ];
  for (const [name, objects, text] of untouched) {
    it(`touches not ${name}`, () => {
      const { answer, message, load } = answered(objects);
      expect([answer, load]).to.deep.equal(['NotTouched', null]);
      expect(message).to.contain(text);
    });
  }
});

const policy = (zones: Record<string, string>, spec: object, observed = 'True'): KubernetesObject =>
  ({
    apiVersion: 'topology.extensions.gardener.cloud/v1alpha1',
    kind: 'FlowPolicy',
    metadata: { name: 'web', namespace: 'default' },
    spec,
    status: {
      conditions: [{ type: 'Observed', status: observed, reason: 'x', message: '', lastTransitionTime: '' }],
      zones: Object.entries(zones).map(([zone, demand]) => ({ zone, demand })),
    },
  }) as KubernetesObject;

describe('survival: measured load', () => {
  const value = { capacity: { from: 'Value', value: '1' } };

  it('is a fraction of the capacity, and the limit is all of it', () => {
    const demand = { [A]: '1', [B]: '0.5', [C]: '0.7' };
    const { answer, load, replicas } = answered([...web([A, B, C]), policy(demand, value)]);
    expect(load).to.deep.include({ basis: 'measured', limit: 1, zone: B });
    expect([load?.now, load?.after].map((own) => own?.toFixed(4))).to.deep.equal(['0.7333', '1.1000']);
    expect([answer, replicas]).to.deep.equal(['Overloaded', { [B]: 1 }]);
  });

  it('has a limit of its own', () => {
    const objects = [...web([A, B, C]), policy({ [A]: '1.2' }, value)];
    expect(answered(objects).answer).to.equal('Survives');
    expect(answered(objects, { maxUtilization: 0.5 })).to.deep.include({ answer: 'Overloaded', replicas: { [B]: 1 } });
  });

  const unknown: readonly (readonly [string, KubernetesObject])[] = [
    ['nothing was observed', policy({ [A]: '1' }, value, 'False')],
    ['what a Pod requests is not known', policy({ [A]: '1' }, {})],
  ];
  for (const [name, own] of unknown) {
    it(`is not known where ${name}: fair shares stand in`, () => {
      expect(answered([...web([A, B, C]), own]).load?.basis).to.equal('fairShare');
    });
  }
});

describe('survival: measured clients', () => {
  const flow = (source: string, connections: number | null, bytes = 0) => ({
    service: 'default/web',
    source,
    destination: B,
    connections,
    requestBytes: bytes,
    responseBytes: 0,
  });
  const askWith = (...flows: ReturnType<typeof flow>[]): ServiceSurvival =>
    answered(web([A, B, C], SAME_ZONE, true), { measured: { by: 'test', seconds: 60, flows, notes: [] } });

  it('are where connections began: what the CPU of the Nodes says of them does not count', () => {
    const { load } = askWith(flow(A, 1), flow(B, 7), flow(B, 1), flow(C, 1));
    expect([load?.basis, load?.clientsMeasured, load?.zone]).to.deep.equal(['fairShare', true, B]);
    // 8 of 10 stay in b, and half of one from a: 8.5 on one of three endpoints.
    expect([load?.now.toFixed(6), load?.after?.toFixed(6)]).to.deep.equal([(2.4).toFixed(6), (2.55).toFixed(6)]);
  });

  it('are where bytes began, where one source counts no connections', () => {
    expect(askWith(flow(A, null, 1), flow(B, 5, 9)).load?.now).to.be.closeTo(2.7, 1e-9);
  });

  it('are assumed where nothing of the Service was measured', () => {
    const { load } = askWith({ ...flow(A, 5), service: 'default/other' });
    expect([load?.clientsMeasured, load?.now]).to.deep.equal([false, 1]);
  });
});

const reasonsOf = ({ unmoved }: ServiceSurvival): string[] => unmoved.map(({ reason }) => reason);

describe('survival: what hints do not move', () => {
  const cases: readonly (readonly [name: string, objects: readonly KubernetesObject[], expected: readonly string[]])[] =
    [
      ['nothing on a kube-proxy that needs no annotation', [kubeProxy(), ...web([A, B, C])], []],
      [
        'a kube-proxy up to 1.30 without annotation',
        [kubeProxy('v1.30.4'), ...web([A, B, C])],
        ['ProxyNeedsAnnotation'],
      ],
      ['a Node without zone', [kubeProxy(), node({ zone: '' }), ...web([A, B, C])], ['ClientNodeWithoutZone']],
      ['a headless Service', [kubeProxy(), ...web([A, B, C], { clusterIP: 'None' })], ['HeadlessClients']],
      [
        'internalTrafficPolicy Local',
        [kubeProxy(), ...web([A, B, C], { internalTrafficPolicy: 'Local' })],
        ['InternalTrafficPolicyLocal'],
      ],
      [
        'externalTrafficPolicy Local',
        [kubeProxy(), ...web([A, B, C], { type: 'LoadBalancer', externalTrafficPolicy: 'Local' })],
        ['ExternalTrafficPolicyLocal'],
      ],
      [
        'a load balancer with Nodes in the zone',
        [kubeProxy(), ...web([A, B, C], { type: 'LoadBalancer' })],
        ['LoadBalancerNodes'],
      ],
      [
        'UDP from one port',
        [kubeProxy(), ...web([A, B, C], { ports: [{ name: 'https', port: 53, protocol: 'UDP' }] })],
        ['FixedTupleUdp'],
      ],
      [
        'clients of etcd, which hold their connections',
        [kubeProxy(), ...web([A, B, C], { ports: [{ name: 'https', port: 2379 }] })],
        ['LongConnections'],
      ],
      ['endpoints without zone', [kubeProxy(), ...web([A, B, ''])], ['EndpointsWithoutZone']],
    ];
  for (const [name, objects, expected] of cases) {
    it(name, () => {
      const [first] = ask([...NODES, ...objects]).services;
      expect(first === undefined ? undefined : reasonsOf(first)).to.deep.equal(expected);
    });
  }

  it("Gardener's ingress gateway, and only for API servers that it exposes", () => {
    const shown = (namespace: string, name: string): string[] =>
      reasonsOf(
        answered([
          service({ metadata: { name, namespace } }),
          slice({ service: name, metadata: { namespace }, endpoints: endpointsIn([A, B, C]) }),
        ]),
      );
    expect(shown('shoot--garden--x', 'kube-apiserver')).to.deep.equal(['GardenerIngressGateway']);
    expect(shown('shoot--garden--x', 'kube-apiserver-mtls')).to.deep.equal(['GardenerIngressGateway']);
    expect(shown('garden', 'virtual-garden-kube-apiserver')).to.deep.equal(['GardenerIngressGateway']);
    expect(shown('shop', 'kube-apiserver')).to.deep.equal([]);
  });

  it('a target group of Pods, and a router that is not known', () => {
    const binding = {
      apiVersion: 'elbv2.k8s.aws/v1beta1',
      kind: 'TargetGroupBinding',
      metadata: { name: 'tgb', namespace: 'default' },
      spec: { targetType: 'ip', serviceRef: { name: 'web' } },
    };
    const found = answered([...web([A, B, C]), binding]);
    expect(reasonsOf(found)).to.deep.equal(['BypassesProxies']);
    expect(found.unmoved[0]?.evidence).to.contain('TargetGroupBinding default/tgb');
    const virtual = node({ zone: B, metadata: { name: 'virtual', labels: { type: 'virtual-kubelet' } } });
    expect(reasonsOf(answered([virtual, ...web([A, B, C])]))).to.deep.equal(['RouterUnknown']);
  });

  it('groups what concerns many Services, and counts each Service once', () => {
    const more = [
      service({ metadata: { name: 'more' }, spec: { clusterIP: 'None' } }),
      slice({ service: 'more', endpoints: endpointsIn([A, B]) }),
    ];
    const { unmoved } = ask([...NODES, kubeProxy(), ...web([A, B], { clusterIP: 'None' }), ...more]);
    expect(unmoved.map(({ reason, services }) => [reason, services])).to.deep.equal([['HeadlessClients', 2]]);
  });
});

describe('survival: the whole', () => {
  const named = (name: string, zones: readonly string[]): KubernetesObject[] => [
    service({ metadata: { name } }),
    slice({ service: name, metadata: { name: `${name}-x` }, endpoints: endpointsIn(zones) }),
  ];
  const objects = [
    ...NODES,
    kubeProxy(),
    ...named('fine', [A, B]),
    ...named('lost', [A]),
    ...named('busy', [A, A, A, B]),
  ];

  it('comes worst first, and says no where one does not survive', () => {
    const report = ask(objects);
    expect(report.services.map(({ name }) => name)).to.deep.equal(['lost', 'busy', 'fine']);
    expect(report.survives).to.equal(false);
    expect(report.sum).to.deep.include({ replicas: 2, endpoints: { count: 5, of: 7 }, nodes: { count: 1, of: 3 } });
  });

  it('takes one namespace, and the Services that are selected', () => {
    expect(ask(objects, { namespace: 'other' })).to.deep.include({ survives: true, services: [] });
    const selects = ({ metadata }: Service): boolean => metadata?.name === 'fine';
    expect(ask(objects, { selects }).services.map(({ name }) => name)).to.deep.equal(['fine']);
  });

  it('names the zone that was probably meant', () => {
    const snapshot = snapshotOf(...objects);
    expect(unknownZone(snapshot, [A])).to.equal(undefined);
    expect(unknownZone(snapshot, [A, 'eu-1aa'])).to.contain('did you mean "eu-1a"?');
    expect(unknownZone(snapshotOf(), ['eu-1a'])).to.contain('none has a zone at all');
  });
});

/** Load of the busiest endpoint, in fair shares of today, by the models of the proxies on the slice that the leader would store. */
const modelled = (nodes: readonly Node[], own: Service, stored: EndpointSlice): number => {
  const { decision } = decideInOrder({
    slices: [stored],
    clientZones: [A, B, C],
    leaves: [{ zone: A, percent: 100, rounding: 'Up' }],
  });
  if (decision.kind !== 'moved') throw new Error(decision.kind);
  const mark = { ...decision, was: { usual: 'none' as const, except: new Map<string, string>() } };
  const endpoints = (stored.endpoints ?? []).map((each) => ({
    ...each,
    hints: evacuatedHints(each, baseOf(each.hints), mark),
  }));
  const traffic = trafficOf({
    nodes,
    endpointsFor: (each) =>
      routeFor({
        node: each,
        service: own,
        slices: [{ ...stored, endpoints }],
        version: { major: 1, minor: 34 },
      }).used,
  });
  return Math.max(...traffic.endpoints.values()) * endpoints.length;
};

describe('survival: the forecast is what the models of the proxies make of what the leader writes', () => {
  for (const homes of [false, true]) {
    it(homes ? 'where clients keep to their zone' : 'where clients spread', () => {
      const counts = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.nat(4), fc.nat(4)).filter(([, b, c]) => b + c > 0);
      fc.assert(
        fc.property(counts, fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)), ([a, b, c], extra) => {
          const zones = [...Array<string>(a).fill(A), ...Array<string>(b).fill(B), ...Array<string>(c).fill(C)];
          const nodes = [A, B, C].flatMap((zone, index) =>
            Array.from({ length: 1 + (extra[index] ?? 0) }, (_, at) =>
              node({ zone, metadata: { name: `${zone}-${at}` } }),
            ),
          );
          const own = service({ metadata: { name: 'web' }, spec: homes ? SAME_ZONE : {} });
          const stored = slice({ service: 'web', endpoints: endpointsIn(zones, homes) });
          const report = ask([...nodes, kubeProxy(), own, stored]);
          expect(report.services[0]?.load?.after).to.be.closeTo(modelled(nodes, own, stored), 1e-9);
        }),
      );
    });
  }
});
