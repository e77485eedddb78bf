// SPDX-License-Identifier: Apache-2.0
// Real meters, read by the command through a real API server and a real Prometheus: bytes, dollars, the page, and its documentation.
// Needs: conntrack, prometheus, chromium
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Browser } from 'playwright-core';
import { METER_NAMESPACE } from '../../../pkg/apis/names.ts';
import type { AuditReport } from '../../../pkg/diagnosis/audit/types.ts';
import { createClient } from '../../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createMeterReader } from '../../../pkg/metrics/measured-traffic.ts';
import { bytesOf, crosses } from '../../../pkg/traffic/measured.ts';
import type { Measured } from '../../../pkg/traffic/measured.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { runTopology, topologyJson } from '../../fixtures/topology-command.ts';
import type { BedService } from '../bed/index.ts';
import { mastersGroup } from '../bed/kubeconfig.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { contrasts, openFile, overflowing, startBrowser } from '../browser.ts';
import { letRead, readerToken, SECURE_PORT, startMeasured } from '../measured-world.ts';
import type { MeasuredBed } from '../measured-world.ts';
import { startPrometheus } from '../prometheus.ts';
import type { Prometheus } from '../prometheus.ts';
import { createReader } from '../reader.ts';
import type { OperatorShell } from '../reader.ts';
import { installCounters, readCounters, sendLoad } from '../traffic-meter-world.ts';

const zones = ['a', 'b', 'c'];
const READABLE = 4.5;
const never = new AbortController().signal;

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

describe('measured traffic, read by the command', () => {
  let shell: OperatorShell;
  let browser: Browser;
  let client: Client;
  let prometheus: Prometheus;
  const folder = temporaryFolder();
  after(async () => {
    shell?.close();
    await browser?.close();
    await client?.close();
    await prometheus?.stop();
    folder.remove();
  });
  const bed = useBed();
  const reader = createReader('test/e2e/suites/audit-measured.test.ts');
  let world: MeasuredBed;
  let service: BedService;
  let access: readonly string[];

  const load = async (count: number): Promise<void> => {
    const [node] = world.nodes;
    if (node === undefined) throw new Error('no node');
    await waitFor(
      'the proxy answers',
      () => sendLoad(node, service.clusterIPs[0] ?? '', service.port, count),
      () => true,
    );
  };

  before('three zones with meters, a Service, and 200 connections from one zone', async () => {
    world = await startMeasured(bed(), zones);
    const kubeconfig = await bed().kubeconfig({ user: 'operator', groups: [mastersGroup] });
    access = ['--kubeconfig', kubeconfig];
    client = createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: 'audit-measured/1.0' });
    service = await bed().service({ name: 'web', namespace: 'shop' });
    await waitFor(
      'three endpoints',
      () => service.endpoints(),
      ({ length }) => length === 3,
    );
    await installCounters(world.nodes[0] as never, world.pods);
    const token = await readerToken(bed());
    const targets = world.nodes.map(({ addresses }) => `${addresses.ipv4}:${SECURE_PORT}`);
    prometheus = await startPrometheus(bed(), { jobs: [{ name: 'traffic-meter', targets, token }] });
    await prometheus.waitForSamples('topology_traffic_counting_seconds > 0', 3);
    shell = await reader.open(bed());
    browser = await startBrowser();
    await load(200);
  });

  it('through the API server comes to what the kernel of the client counted, to the byte', async () => {
    const meters = createMeterReader({ client, namespace: METER_NAMESPACE, now: Date.now });
    const kernel = await readCounters(world.nodes[0] as never);
    const expected = zones.map((_, index) => kernel.get(world.pods[index]?.name ?? ''));
    await waitFor(
      `bytes of zone a as the kernel counts them: ${JSON.stringify(expected)}`,
      async () => {
        const { readings, notes } = await meters.read(never);
        expect(notes).to.deep.equal([]);
        const rows = readings.flatMap((reading) => reading.rows).filter((row) => row.service === 'shop/web');
        return zones.map((zone) => {
          const own = rows.filter(({ destination }) => destination === zone);
          return {
            request: sum(own.map((row) => row.requestBytes)),
            response: sum(own.map((row) => row.responseBytes)),
          };
        });
      },
      (found) => JSON.stringify(found) === JSON.stringify(expected),
      { timeoutSeconds: 40 },
    );
  });

  it('audit --measured prices what crossed, and calls nothing of it assumed', async () => {
    const report = await topologyJson<AuditReport>(['audit', '--measured', ...access]);
    const web = report.services.find(({ name }) => name === 'web');
    expect(web?.measured?.crossZoneShare, 'two of three endpoints are elsewhere').to.be.within(0.4, 0.9);
    const perGigabyte =
      (web?.monthlyCost?.current ?? 0) / ((web?.measured?.gigabytesPerDay ?? 1) * (web?.measured?.crossZoneShare ?? 1));
    expect(perGigabyte, 'a cent out and a cent in, of 365/12 days').to.be.closeTo((0.02 * 365) / 12, 1e-9);
    expect(web?.monthlyCost?.saving.routing).to.be.closeTo(web?.monthlyCost?.current ?? -1, 1e-9);
    expect(report.prices?.basis).to.equal('Measured');
    expect(
      report.measured?.withoutService.gigabytesPerDay,
      'meters and API server talk past Services',
    ).to.be.greaterThan(0);
  });

  it('from Prometheus the same pairs of zones have traffic, in about the same shares', async () => {
    const own = ({ flows }: Measured): Record<string, number> => {
      const web = flows.filter((flow) => flow.service === 'shop/web');
      const all = sum(web.map(bytesOf));
      return Object.fromEntries(web.map((flow) => [`${flow.source} ${flow.destination}`, bytesOf(flow) / all]));
    };
    const direct = own(await topologyJson<Measured>(['traffic', ...access]));
    // Prometheus sees growth: what was counted before its first scrape of a series is not in it.
    await load(200);
    await waitFor(
      `the shares of Prometheus near those of the meters: ${JSON.stringify(direct)}`,
      async () => {
        const flags = ['--prometheus', prometheus.url, '--window', '5m'];
        const answer = await topologyJson<Measured>(['traffic', ...flags, ...access]);
        expect(answer.by).to.equal('traffic-meter (topology_traffic_bytes_total in Prometheus)');
        return own(answer);
      },
      // Of 200 connections each chooses one of three endpoints, and a fifth of them carry most bytes.
      (shares) => Object.keys(direct).every((pair) => Math.abs((shares[pair] ?? 0) - (direct[pair] ?? 0)) < 0.3),
      { timeoutSeconds: 40 },
    );
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

  it('a page of a recording: complains of nothing, loads nothing, is readable in light and dark, and fits a phone', async () => {
    const file = folder.at('traffic.html');
    const stop = new AbortController();
    const running = runTopology(['traffic', '--watch', '--interval', '1s', '--html', file, ...access], {
      signal: stop.signal,
    });
    for (let round = 0; round < 3; round += 1) await load(20);
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    stop.abort();
    expect((await running).code).to.equal(0);
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 390]) {
        const { page, complaints, requests } = await openFile(browser, file, {
          colorScheme,
          viewport: { width, height: 900 },
        });
        expect(await page.locator('svg.time').count(), 'bytes and connections over time').to.equal(2);
        expect(await page.locator('svg.time .area-crosses').first().getAttribute('points')).to.match(/\d/);
        expect(await page.locator('td.service', { hasText: 'shop/web' }).count()).to.equal(1);
        const poor = (await contrasts(page)).filter(({ ratio }) => ratio < READABLE);
        expect(poor, `${colorScheme}, ${width}`).to.deep.equal([]);
        expect(await overflowing(page), `${colorScheme}, ${width}`).to.deep.equal([]);
        expect(complaints).to.deep.equal([]);
        expect(requests.filter((url) => !url.startsWith('data:'))).to.deep.equal([page.url()]);
        await page.context().close();
      }
    }
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
