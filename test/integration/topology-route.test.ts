// `kubectl topology route`, its JSON: which endpoints the clients of each Node get.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import type { RouteReport, RoutesReport } from '../../pkg/diagnosis/models/routes.ts';
import { endpoint, node, service, slice, kubeProxy } from '../fixtures/core.ts';
import { runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { ZONES, auto, nodes, own, stdin } from './topology-objects.ts';

const routes = async (objects: readonly KubernetesObject[], ...flags: string[]): Promise<readonly RouteReport[]> =>
  (
    await topologyJson<RoutesReport>(['route', '-f', '-', '--service', 'default/server', ...flags], {
      stdin: stdin(...objects),
    })
  ).routes;

describe('kubectl topology route, its JSON', () => {
  const hinted = slice({ endpoints: own(...ZONES) });

  it('has the fields of the contract, no more', async () => {
    const [first, ...others] = await routes([...nodes(), kubeProxy(), service(), hinted]);
    expect(others.map((each) => each.node)).to.deep.equal(['node-eu-1b', 'node-eu-1c']);
    expect(first).to.deep.equal({
      node: 'node-eu-1a',
      zone: 'eu-1a',
      router: 'kube-proxy',
      certainty: 'seen',
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
      { router: 'unknown', certainty: 'unknown', evidence: [], routers: [], routes: [] },
      'warning: there are no Nodes, so there are no routes\n',
      0,
    ]);
  });
});
