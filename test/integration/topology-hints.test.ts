// `kubectl topology hints`, its JSON: what the control plane, the field and the webhook would hint.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import type { HintsReport, ServiceHints } from '../../pkg/diagnosis/models/hints.ts';
import { endpoint, service, slice, kubeProxy } from '../fixtures/core.ts';
import { clusterFile, runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { ZONES, auto, endpoints, nodes, own, stdin } from './topology-objects.ts';
import type { RoutesReport } from '../../pkg/diagnosis/models/routes.ts';

const hints = async (objects: readonly KubernetesObject[], ...flags: string[]): Promise<readonly ServiceHints[]> =>
  (await topologyJson<HintsReport>(['hints', '-f', '-', ...flags], { stdin: stdin(...objects) })).services;

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
});

const routes = async (objects: readonly KubernetesObject[], ...flags: string[]): Promise<RoutesReport['routes']> =>
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

  it('has a dash for the zone of a Node without one, and for no mode, as a table', async () => {
    const file = clusterFile('client-node-without-zone');
    const { out } = await runTopology(['route', '--service', 'shop/web', '-f', file]);
    expect(out).to.match(/^node-new +- +kube-proxy +http +- .*ClientNodeWithoutZone$/m);
  });
});
