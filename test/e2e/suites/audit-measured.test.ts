// Real meters, read by the command through a real API server: with which rights, its documentation, and what crosses before and after routing by zone.
// Needs: conntrack, prometheus
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { type Measured, crosses } from '../../../pkg/traffic/measured.ts';
import { runTopology } from '../../fixtures/topology-command.ts';
import { mastersGroup } from '../bed/access.ts';
import { type BedService, useBed } from '../bed/index.ts';
import { ofLength, waitFor } from '../bed/machine.ts';
import { type Prometheus, startPrometheus } from '../prometheus.ts';
import { createReader } from '../reader.ts';
import { letRead, readerToken, SECURE_PORT, sendLoad, startMeasured } from '../traffic-meter-world.ts';
import type { MeasuredBed } from '../traffic-meter-world.ts';

const zones = ['a', 'b', 'c'];

describe('measured traffic, read by the command', () => {
  let prometheus: Prometheus;
  const bed = useBed();
  const reader = createReader('test/e2e/suites/audit-measured.test.ts');
  let world: MeasuredBed;
  let service: BedService;
  let access: readonly string[];

  const load = async (count: number): Promise<void> => {
    const [node] = world.nodes;
    if (node === undefined) throw new Error('no node');
    await waitFor('the proxy answers', () => sendLoad(node, service.clusterIPs[0] ?? '', service.port, count));
  };

  before('three zones with meters, a Service, and 200 connections from one zone', async () => {
    world = await startMeasured(bed(), zones);
    const kubeconfig = await bed().kubeconfig({ user: 'operator', groups: [mastersGroup] });
    access = ['--kubeconfig', kubeconfig];
    service = await bed().service({ name: 'web', namespace: 'shop' });
    await waitFor('three endpoints', () => service.endpoints(), ofLength(3));
    const token = await readerToken(bed());
    const targets = world.nodes.map(({ addresses }) => `${addresses.ipv4}:${SECURE_PORT}`);
    prometheus = await startPrometheus(bed(), { jobs: [{ name: 'traffic-meter', targets, token }] });
    await prometheus.waitForSamples('topology_traffic_counting_seconds > 0', 3);
    await reader.open(bed());
    await load(200);
  });

  it('who may only do what the role of the reader lets do can read meters, and others get a message that names the missing right', async () => {
    const user = 'traffic-only';
    const own = ['--kubeconfig', await bed().kubeconfig({ user })];
    const refused = await runTopology(['traffic', ...own]);
    expect([refused.code, refused.out]).to.deep.equal([2, '']);
    expect(refused.err).to.match(/cannot list resource "pods"/);
    await letRead(bed(), user);
    const { code, err } = await runTopology(['traffic', ...own]);
    expect([code, err]).to.deep.equal([0, '']);
  });

  describe('docs/usage/crossing-cost.md', () => {
    reader.read('docs/usage/crossing-cost.md');

    it('is read to its end', () => {
      expect(reader.unread()).to.deep.equal([]);
    });
  });

  it('what crosses ends with routing by zone, as the matrix of the live command shows', async () => {
    await service.patch({ spec: { trafficDistribution: 'PreferClose' } });
    await waitFor(
      'hints on every endpoint',
      () => service.endpoints(),
      (endpoints) => endpoints.every(({ hints }) => hints?.forZones !== undefined),
    );
    const live = async (): Promise<Measured> => {
      const stop = new AbortController();
      let last = '';
      const running = runTopology(['traffic', 'shop/web', '--watch', '--interval', '6s', '-o', 'json', ...access], {
        signal: stop.signal,
        onOut(text) {
          last = text;
          stop.abort();
        },
      });
      await load(50);
      await running;
      return JSON.parse(last) as Measured;
    };
    await waitFor(
      'connections of a window that all stay in their zone',
      live,
      ({ flows }) =>
        flows.some(({ connections }) => (connections ?? 0) > 0) &&
        flows.every((flow) => !crosses(flow) || flow.connections === 0),
      { timeoutSeconds: 60 },
    );
  });
});
