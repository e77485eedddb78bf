// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Node, Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import type { HintsReport, ServiceHints } from '../../pkg/diagnosis/models/hints.ts';
import type { PlanReport } from '../../pkg/diagnosis/models/plan.ts';
import type { RouteReport, RoutesReport } from '../../pkg/diagnosis/models/routes.ts';
import { endpoint, node, service, slice } from '../fixtures/core.ts';
import { runTopology, topologyJson } from '../fixtures/topology-command.ts';

const ZONES = ['eu-1a', 'eu-1b', 'eu-1c'];
const nodes = (overrides: Parameters<typeof node>[0] = {}): Node[] => ZONES.map((zone) => node({ ...overrides, zone }));
const auto: Service = service({ metadata: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' } } });
const endpoints = (...zones: string[]) =>
  zones.map((zone, index) => endpoint({ zone, addresses: [`198.18.0.${10 + index}`] }));
const own = (...zones: string[]) =>
  endpoints(...zones).map((item) => ({ ...item, hints: { forZones: [{ name: item.zone! }] } }));

const stdin = (...objects: readonly KubernetesObject[]): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });

const hints = async (objects: readonly KubernetesObject[], ...flags: string[]): Promise<readonly ServiceHints[]> =>
  (await topologyJson<HintsReport>(['hints', '-f', '-', ...flags], { stdin: stdin(...objects) })).services;

const routes = async (objects: readonly KubernetesObject[], ...flags: string[]): Promise<readonly RouteReport[]> =>
  (
    await topologyJson<RoutesReport>(['route', '-f', '-', '--service', 'default/server', ...flags], {
      stdin: stdin(...objects),
    })
  ).routes;

describe('kubectl topology hints, its JSON', () => {
  it('has the fields of the contract, no more', async () => {
    const [only, ...others] = await hints([...nodes(), auto, slice({ endpoints: endpoints(...ZONES) })]);
    expect(others).to.deep.equal([]);
    const zone = { cpuShare: 1 / 3, minimum: 1, desired: 1, maximum: 1, hinted: 1 };
    expect(only).to.deep.equal({
      namespace: 'default',
      name: 'server',
      addressType: 'IPv4',
      source: 'topology-mode',
      zones: { 'eu-1a': zone, 'eu-1b': zone, 'eu-1c': zone },
      endpoints: ZONES.map((name, index) => ({
        address: `198.18.0.${10 + index}`,
        zone: name,
        ready: true,
        hints: { forZones: [name], forNodes: [] },
      })),
      events: [
        {
          type: 'Normal',
          reason: 'TopologyAwareHintsEnabled',
          message: 'Topology Aware Hints has been enabled, addressType: IPv4',
        },
      ],
    });
  });

  it('refuses with the event of the control plane, and null where nothing is allocated', async () => {
    const [only] = await hints([...nodes(), auto, slice({ endpoints: own(...ZONES, 'eu-1a') })]);
    expect(only?.source).to.equal('topology-mode');
    expect(only?.endpoints.map((item) => item.hints)).to.deep.equal([null, null, null, null]);
    expect(only?.zones['eu-1a']).to.deep.equal({
      cpuShare: 1 / 3,
      minimum: null,
      desired: null,
      maximum: null,
      hinted: 0,
    });
    expect(only?.events.map(({ type, message }) => `${type}: ${message}`)).to.deep.equal([
      'Warning: Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (4 endpoints, 3 zones), addressType: IPv4',
    ]);
  });

  const label = { metadata: { labels: { [LABEL_STRATEGY]: 'same-zone' } } };
  const sources: readonly {
    name: string;
    objects: readonly KubernetesObject[];
    flags?: readonly string[];
    source: string;
    forZones: readonly (readonly string[] | null)[];
    forNodes?: readonly string[];
  }[] = [
    {
      name: 'nothing asked: hints are taken away',
      objects: [...nodes(), service(), slice({ endpoints: own(...ZONES) })],
      source: 'none',
      forZones: [null, null, null],
    },
    {
      name: 'the field',
      objects: [...nodes(), service({ spec: { trafficDistribution: 'PreferClose' } }), slice()],
      source: 'trafficDistribution',
      forZones: [['eu-1a'], ['eu-1b'], ['eu-1c']],
    },
    {
      name: 'the field on 1.30, whose gate is off',
      flags: ['--kubernetes-version', 'v1.30.4-gke.100'],
      objects: [...nodes(), service({ spec: { trafficDistribution: 'PreferClose' } }), slice()],
      source: 'none',
      forZones: [null, null, null],
    },
    {
      name: 'the field on 1.30 with its gate',
      flags: ['--kubernetes-version', '1.30', '--feature-gates', 'ServiceTrafficDistribution=true'],
      objects: [...nodes(), service({ spec: { trafficDistribution: 'PreferClose' } }), slice()],
      source: 'trafficDistribution',
      forZones: [['eu-1a'], ['eu-1b'], ['eu-1c']],
    },
    {
      name: 'the newest kubelet tells the version where nobody says',
      objects: [
        ...nodes({ kubeletVersion: 'v1.30.4+k3s1' }),
        service({ spec: { trafficDistribution: 'PreferClose' } }),
        slice(),
      ],
      source: 'none',
      forZones: [null, null, null],
    },
    {
      name: 'same node',
      flags: ['--kubernetes-version', '1.36'],
      objects: [
        ...nodes(),
        service({ spec: { trafficDistribution: 'PreferSameNode' } }),
        slice({ endpoints: endpoints('eu-1a') }),
      ],
      source: 'trafficDistribution',
      forZones: [['eu-1a']],
      forNodes: ['node-eu-1a'],
    },
    {
      name: 'the deprecated annotation',
      flags: ['--kubernetes-version', '1.24'],
      objects: [
        ...nodes(),
        service({ metadata: { annotations: { [ANNOTATION_TOPOLOGY_AWARE_HINTS]: 'auto' } } }),
        slice(),
      ],
      source: 'topology-mode',
      forZones: [['eu-1a'], ['eu-1b'], ['eu-1c']],
    },
    {
      name: 'annotation and field: the annotation',
      objects: [
        ...nodes(),
        service({ metadata: auto.metadata!, spec: { trafficDistribution: 'PreferClose' } }),
        slice({ endpoints: endpoints('eu-1a', 'eu-1b') }),
      ],
      source: 'topology-mode',
      forZones: [null, null],
    },
    {
      name: 'a strategy label',
      objects: [...nodes(), service(label), slice({ endpoints: endpoints('eu-1a', 'eu-1a', 'eu-1b', 'eu-1c') })],
      source: 'webhook',
      forZones: [['eu-1a'], ['eu-1a'], ['eu-1b'], ['eu-1c']],
    },
    {
      name: 'a strategy label without the webhook',
      flags: ['--no-webhook'],
      objects: [...nodes(), service(label), slice()],
      source: 'none',
      forZones: [null, null, null],
    },
    {
      name: 'a planned strategy keeps what is stored',
      objects: [
        ...nodes(),
        service({ metadata: { labels: { [LABEL_STRATEGY]: 'load-aware' } } }),
        slice({
          metadata: { labels: { [LABEL_STRATEGY]: 'load-aware' } },
          endpoints: [{ ...endpoint(), hints: { forZones: [{ name: 'eu-1a' }, { name: 'eu-1b' }] } }],
        }),
      ],
      source: 'webhook',
      forZones: [['eu-1a', 'eu-1b']],
    },
    {
      name: 'no selector: stays as its author wrote it',
      objects: [
        ...nodes(),
        service({ spec: { selector: {}, trafficDistribution: 'PreferClose' } }),
        slice({ endpoints: own('eu-1a', 'eu-1b') }),
      ],
      source: 'none',
      forZones: [['eu-1a'], ['eu-1b']],
    },
    {
      name: 'an endpoint without zone',
      objects: [
        ...nodes(),
        service({ spec: { trafficDistribution: 'PreferClose' } }),
        slice({ endpoints: [{ addresses: ['198.18.0.10'], conditions: { ready: true } }] }),
      ],
      source: 'trafficDistribution',
      forZones: [null],
    },
    {
      name: 'headless Services get hints all the same',
      objects: [
        ...nodes(),
        service({ spec: { clusterIP: 'None', trafficDistribution: 'PreferClose' } }),
        slice({ endpoints: endpoints('eu-1a') }),
      ],
      source: 'trafficDistribution',
      forZones: [['eu-1a']],
    },
    {
      name: 'ExternalName',
      objects: [...nodes(), service({ spec: { type: 'ExternalName', selector: {} } })],
      source: 'none',
      forZones: [],
    },
  ];
  for (const { name, objects, flags = [], source, forZones, forNodes } of sources) {
    it(`source and hints: ${name}`, async () => {
      const [only] = await hints(objects, ...flags);
      expect(only?.source).to.equal(source);
      expect(only?.endpoints.map((item) => item.hints?.forZones ?? null)).to.deep.equal(forZones);
      if (forNodes !== undefined) expect(only?.endpoints[0]?.hints?.forNodes).to.deep.equal(forNodes);
    });
  }

  it('keeps endpoints that are not ready as they are stored, and counts only ready ones', async () => {
    const stale = {
      ...endpoint({ zone: 'eu-1b', addresses: ['198.18.0.99'] }),
      conditions: { ready: false, serving: true, terminating: true },
      hints: { forZones: [{ name: 'eu-1c' }] },
    };
    const objects = [
      ...nodes(),
      service({ spec: { trafficDistribution: 'PreferClose' } }),
      slice({ endpoints: [...endpoints('eu-1a'), stale] }),
    ];
    const [only] = await hints(objects);
    expect(only?.endpoints[1]).to.deep.equal({
      address: '198.18.0.99',
      zone: 'eu-1b',
      ready: false,
      hints: { forZones: ['eu-1c'], forNodes: [] },
    });
    expect(only?.zones['eu-1c']?.hinted).to.equal(0);
  });

  it('adds up quantities as the control plane does', async () => {
    const cpus = ['3920m', '4', '1e1'];
    const uneven = ZONES.map((zone, index) =>
      node({ zone, status: { ...node().status, allocatable: { cpu: cpus[index]! } } }),
    );
    const [only] = await hints([...uneven, auto, slice({ endpoints: endpoints(...ZONES, ...ZONES) })]);
    expect(Object.values(only!.zones).map(({ cpuShare }) => cpuShare)).to.deep.equal([
      3920 / 17920,
      4000 / 17920,
      10000 / 17920,
    ]);
  });

  it('judges several slices together, families apart, Services in the order of their names', async () => {
    const other = service({ metadata: { name: 'another' } });
    const first = slice({ metadata: { name: 'server-a' }, endpoints: endpoints('eu-1a', 'eu-1b') });
    const second = slice({
      metadata: { name: 'server-b' },
      endpoints: [endpoint({ zone: 'eu-1c', addresses: ['198.18.0.30'] })],
    });
    const six = slice({
      metadata: { name: 'server-6' },
      addressType: 'IPv6',
      endpoints: [endpoint({ addresses: ['fd00::1'] })],
    });
    const result = await hints([second, six, auto, first, other, ...nodes()]);
    expect(result.map(({ name, addressType, endpoints: list }) => [name, addressType, list.length])).to.deep.equal([
      ['another', 'IPv4', 0],
      ['server', 'IPv4', 3],
      ['server', 'IPv6', 1],
    ]);
    expect(result[1]?.endpoints.every((item) => item.hints !== null)).to.equal(true);
    expect(result[2]?.events[0]?.message).to.equal(
      'Insufficient number of endpoints (1 endpoints, 3 zones), addressType: IPv6',
    );
    expect(await hints([...nodes(), auto, first, second, six, other])).to.deep.equal(result);
  });

  it('reads slices of v1beta1', async () => {
    const old = {
      ...slice(),
      apiVersion: 'discovery.k8s.io/v1beta1',
      endpoints: [
        {
          addresses: ['198.18.0.10'],
          conditions: { ready: true },
          topology: { 'topology.kubernetes.io/zone': 'eu-1b', 'kubernetes.io/hostname': 'node-eu-1b' },
        },
      ],
    };
    const [only] = await hints([...nodes(), service({ spec: { trafficDistribution: 'PreferSameNode' } }), old]);
    expect(only?.endpoints[0]).to.deep.equal({
      address: '198.18.0.10',
      zone: 'eu-1b',
      ready: true,
      hints: { forZones: ['eu-1b'], forNodes: ['node-eu-1b'] },
    });
  });

  it('a Service that asks and has no slice counts as having no endpoints', async () => {
    const [only] = await hints([...nodes(), auto]);
    expect(only?.endpoints).to.deep.equal([]);
    expect(only?.events[0]?.message).to.equal(
      'Insufficient number of endpoints (0 endpoints, 3 zones), addressType: IPv4',
    );
  });
});

describe('kubectl topology route, its JSON', () => {
  const hinted = slice({ endpoints: own(...ZONES) });

  it('has the fields of the contract, no more', async () => {
    const [first, ...others] = await routes([...nodes(), service(), hinted]);
    expect(others.map((each) => each.node)).to.deep.equal(['node-eu-1b', 'node-eu-1c']);
    expect(first).to.deep.equal({
      node: 'node-eu-1a',
      zone: 'eu-1a',
      port: 'https',
      mode: 'PreferSameZone',
      cluster: ['198.18.0.10:8443'],
      local: null,
      reachable: ['198.18.0.10:8443'],
      reason: 'SameZoneHints',
      message: 'Node node-eu-1a uses 1 of 3 ready endpoints: those hinted for its zone eu-1a.',
    });
  });

  const all = ['198.18.0.10:8443', '198.18.0.11:8443', '198.18.0.12:8443'];
  const cases: readonly {
    name: string;
    objects: readonly KubernetesObject[];
    flags?: readonly string[];
    mode: string;
    cluster: readonly string[] | null;
    reason: string;
  }[] = [
    {
      name: 'kube-proxy 1.30 wants the annotation',
      flags: ['--kubernetes-version', 'v1.30.0'],
      objects: [service(), hinted],
      mode: '',
      cluster: all,
      reason: 'ProxyNeedsAnnotation',
    },
    {
      name: 'and uses hints with it',
      flags: ['--kubernetes-version', '1.30'],
      objects: [auto, hinted],
      mode: 'PreferSameZone',
      cluster: ['198.18.0.10:8443'],
      reason: 'SameZoneHints',
    },
    {
      name: 'gates off',
      flags: ['--kubernetes-version', '1.29', '--feature-gates', 'TopologyAwareHints=false'],
      objects: [auto, hinted],
      mode: '',
      cluster: all,
      reason: 'HintsGateOff',
    },
    {
      name: 'one without hint',
      objects: [
        service(),
        slice({ endpoints: [...own('eu-1a', 'eu-1b'), endpoint({ zone: 'eu-1c', addresses: ['198.18.0.12'] })] }),
      ],
      mode: '',
      cluster: all,
      reason: 'EndpointWithoutHint',
    },
    {
      name: 'headless',
      objects: [service({ spec: { clusterIP: 'None' } }), hinted],
      mode: '',
      cluster: null,
      reason: 'NotProxied',
    },
    { name: 'no slice', objects: [service()], mode: '', cluster: null, reason: 'NoEndpoints' },
    {
      name: 'slice whose port has another name',
      objects: [service(), slice({ ports: [{ name: 'metrics', port: 9090 }] })],
      mode: '',
      cluster: null,
      reason: 'NoEndpoints',
    },
    {
      name: 'internal traffic policy Local',
      objects: [service({ spec: { internalTrafficPolicy: 'Local' } }), hinted],
      mode: '',
      cluster: null,
      reason: 'InternalTrafficPolicyLocal',
    },
    {
      name: 'absent conditions count as ready',
      objects: [service(), slice({ endpoints: [{ addresses: ['198.18.0.10'] }] })],
      mode: '',
      cluster: ['198.18.0.10:8443'],
      reason: 'NoHints',
    },
    {
      name: 'terminating endpoints where nothing is ready',
      objects: [
        service(),
        slice({ endpoints: [endpoint({ conditions: { ready: false, serving: true, terminating: true } })] }),
      ],
      mode: '',
      cluster: ['198.18.0.10:8443'],
      reason: 'TerminatingEndpoints',
    },
    {
      name: 'nothing ready',
      objects: [service(), slice({ endpoints: [endpoint({ conditions: { ready: false, serving: false } })] })],
      mode: '',
      cluster: [],
      reason: 'NoReadyEndpoints',
    },
    {
      name: 'IPv6 in brackets, by the only family there is',
      objects: [service(), slice({ addressType: 'IPv6', endpoints: [endpoint({ addresses: ['fd00::1'] })] })],
      mode: '',
      cluster: ['[fd00::1]:8443'],
      reason: 'NoHints',
    },
    {
      name: 'Cilium as it is by default',
      flags: ['--proxy', 'cilium'],
      objects: [auto, hinted],
      mode: '',
      cluster: all,
      reason: 'CiliumServiceTopologyOff',
    },
    {
      name: 'Cilium with service topology',
      flags: ['--proxy', 'cilium', '--cilium-service-topology'],
      objects: [auto, hinted],
      mode: 'PreferSameZone',
      cluster: ['198.18.0.10:8443'],
      reason: 'SameZoneHints',
    },
    {
      name: 'Linkerd needs no consent',
      flags: ['--proxy', 'linkerd'],
      objects: [service(), hinted],
      mode: 'PreferSameZone',
      cluster: ['198.18.0.10:8443'],
      reason: 'SameZoneHints',
    },
  ];
  for (const { name, objects, flags = [], mode, cluster, reason } of cases) {
    it(name, async () => {
      const [first] = await routes([...nodes(), ...objects], ...flags);
      expect([first?.mode, first?.cluster, first?.reason]).to.deep.equal([mode, cluster, reason]);
    });
  }

  it('takes each kube-proxy for as old as its kubelet', async () => {
    const mixed = [
      node({ zone: 'eu-1a', kubeletVersion: 'v1.30.1' }),
      node({ zone: 'eu-1b', kubeletVersion: 'v1.36.0' }),
    ];
    expect((await routes([...mixed, service(), hinted])).map(({ reason }) => reason)).to.deep.equal([
      'ProxyNeedsAnnotation',
      'SameZoneHints',
    ]);
  });

  it('shows every port, one by name or by number, one node', async () => {
    const two = service({
      spec: {
        ports: [
          { name: 'https', port: 443 },
          { name: 'metrics', port: 9090 },
        ],
      },
    });
    const objects = [...nodes(), two, hinted];
    expect((await routes(objects)).map(({ node: name, port }) => `${name} ${port}`).slice(0, 2)).to.deep.equal([
      'node-eu-1a https',
      'node-eu-1a metrics',
    ]);
    for (const port of ['metrics', '9090']) {
      expect(
        (await routes(objects, '--port', port, '--node', 'node-eu-1c')).map((each) => [each.node, each.port]),
      ).to.deep.equal([['node-eu-1c', 'metrics']]);
    }
  });

  it('lists no route without Nodes, and says so', async () => {
    const { out, err, code } = await runTopology(['route', '-f', '-', '--service', 'server', '-o', 'json'], {
      stdin: stdin(service(), hinted),
    });
    expect([JSON.parse(out), err, code]).to.deep.equal([
      { routes: [] },
      'warning: there are no Nodes, so there are no routes\n',
      0,
    ]);
  });
});

describe('kubectl topology plan, its JSON', () => {
  const plan = (objects: readonly KubernetesObject[], demand: string, ...flags: string[]): Promise<PlanReport> =>
    topologyJson<PlanReport>(
      ['plan', '-f', '-', '--service', 'default/server', '--demand', demand, '--capacity', '1', ...flags],
      { stdin: stdin(...objects) },
    );

  it('has the fields of the contract, no more', async () => {
    const report = await plan(
      [...nodes(), service(), slice()],
      'eu-1a=0.5,eu-1b=0.5,eu-1c=0.5',
      '--target-utilization',
      '70',
    );
    expect(report).to.deep.equal({
      plan: {
        spread: false,
        endpoints: ZONES.map((zone, index) => ({ address: `198.18.0.${10 + index}`, zone, forZones: [zone] })),
      },
      zones: Object.fromEntries(ZONES.map((zone) => [zone, { demand: 0.5, endpoints: 1, utilization: 0.5 }])),
      inZoneShare: 1,
      maxUtilization: 0.5,
      bounds: { lp: 1, integrality: 1 },
    });
  });

  it('keeps to the target by endpoints of other zones', async () => {
    const report = await plan(
      [...nodes(), service(), slice()],
      'eu-1a=1.2,eu-1b=0.3,eu-1c=0.3',
      '--target-utilization',
      '70%',
    );
    expect(report.maxUtilization).to.be.at.most(0.7 + 1e-9);
    expect(report.inZoneShare).to.be.within(0, report.bounds.integrality + 1e-9);
    expect(report.bounds.integrality).to.be.at.most(report.bounds.lp + 1e-9);
  });

  it('counts ready endpoints only, each address once', async () => {
    const gone = endpoint({ zone: 'eu-1b', addresses: ['198.18.0.77'], conditions: { ready: false } });
    const again = slice({ metadata: { name: 'server-again' }, ports: [{ name: 'metrics', port: 9090 }] });
    const report = await plan(
      [...nodes(), service(), slice({ endpoints: [...endpoints(...ZONES), gone] }), again],
      'eu-1a=0.1',
    );
    expect(report.plan.endpoints.map(({ address }) => address)).to.deep.equal([
      '198.18.0.10',
      '198.18.0.11',
      '198.18.0.12',
    ]);
  });

  it('plans for nobody and with nothing', async () => {
    const report = await plan([...nodes(), service()], 'eu-1a=1');
    expect(report.plan.endpoints).to.deep.equal([]);
    expect(report.inZoneShare).to.equal(0);
  });
});
