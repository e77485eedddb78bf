// `kubectl topology route`, its JSON: which endpoints the clients of each Node get.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import type { RouteReport, RoutesReport } from '../../pkg/diagnosis/models/routes.ts';
import { service, slice, kubeProxy } from '../fixtures/core.ts';
import { topologyJson } from '../fixtures/topology-command.ts';
import { ZONES, nodes, own, stdin } from './topology-objects.ts';

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
});
