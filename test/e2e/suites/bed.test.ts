// Shows what other suites rely on without asking: Pods in slices, Pods that do not answer, and that the bed keeps to itself.
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { type BedNode, type BedPod, type BedService, useBed } from '../bed/index.ts';
import { ofLength, run, waitFor } from '../bed/machine.ts';
import type { SliceEndpoint } from '../bed/pod.ts';

describe('bed', () => {
  const bed = useBed();
  const nodes: BedNode[] = [];
  const pods: BedPod[] = [];
  let service: BedService;

  before('three zones, one of them with two nodes; a, b and c run 1, 2 and 1 Pods of web', async () => {
    for (const name of ['a1', 'b1', 'b2', 'c1']) nodes.push(await bed().node({ name, zone: name.charAt(0) }));
    for (const node of nodes) pods.push(await bed().pod({ node, app: 'web' }));
    service = await bed().service({ name: 'web', ipFamilyPolicy: 'RequireDualStack' });
  });

  it('lets the real controller fill slices of both address families from Pods and Nodes', async () => {
    await waitFor('8 endpoints', () => service.endpoints(), ofLength(8));
    const slices = await service.slices();
    expect(slices.map(({ addressType }) => addressType).sort()).to.deep.equal(['IPv4', 'IPv6']);
    for (const { addressType, endpoints } of slices) {
      const family = addressType === 'IPv4' ? 'ipv4' : 'ipv6';
      const expected = pods.map(({ addresses, node }) => [addresses[family], node.zone, node.name]);
      const found = (endpoints ?? []).map((endpoint) => [endpoint.addresses[0], endpoint.zone, endpoint.nodeName]);
      expect(found).to.have.deep.members(expected);
    }
  });

  it('has Pods that are ready for Kubernetes and do not answer', async () => {
    const mute = await bed().pod({ node: nodes[1]!, app: 'mute', serve: false });
    const silent = await bed().service({ name: 'mute' });
    const ready = (all: SliceEndpoint[]): boolean => all.length === 1 && all[0]?.conditions?.ready === true;
    await waitFor('a ready endpoint', () => silent.endpoints(), ready);
    const traffic = await bed().connect({ node: nodes[0]!, service: silent, count: 5, timeoutMs: 1000 });
    expect(traffic.total).to.equal(0);
    await silent.remove();
    await mute.remove();
  });

  describe('isolation', () => {
    it('leaves no way out of a namespace', async () => {
      for (const namespace of [bed().namespace, ...nodes.map((node) => node.namespace)]) {
        for (const family of ['-4', '-6']) {
          const routes = await run('ip', ['-n', namespace, family, 'route', 'show', 'default']);
          expect(routes, `default routes of ${namespace}`).to.equal('');
        }
      }
    });

    it('gives no namespace an address outside of the ranges for tests', async () => {
      for (const namespace of [bed().namespace, ...nodes.map((node) => node.namespace)]) {
        const lines = (await run('ip', ['-n', namespace, '-o', 'address', 'show'])).trim().split('\n');
        const found = lines.map((line) => /inet6? ([^/ ]+)/.exec(line)?.[1] ?? line);
        const local = (address: string): boolean =>
          ['127.0.0.1', '::1'].includes(address) || address.startsWith('fe80:');
        const outside = found.filter((address) => !local(address) && !/^(198\.1[89]\.|2001:db8:)/.test(address));
        expect(outside, namespace).to.deep.equal([]);
        expect(
          found.some((address) => address.startsWith('198.19.')),
          namespace,
        ).to.equal(true);
      }
    });

    // The runner is our parent and stayed outside.
    it('puts no device, address or rule into the root namespace', async () => {
      const inRoot = (...command: string[]): Promise<string> =>
        run('nsenter', [`--net=/proc/${process.ppid}/ns/net`, '--', ...command]);
      expect(await inRoot('ip', '-o', 'link', 'show')).not.to.match(/bed0|node\d+[@:]/);
      expect(await inRoot('ip', '-o', 'address', 'show')).not.to.match(/198\.1[89]\.|2001:db8:/);
      expect(await inRoot('nft', 'list', 'tables')).not.to.contain('kube-proxy');
    });
  });
});
