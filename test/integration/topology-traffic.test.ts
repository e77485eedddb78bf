// Measured traffic on the command line: the matrix, live and recorded, and money by measured bytes, from meters and from files.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import nock from 'nock';
import { PODS } from '../../pkg/apis/resources.ts';
import type { AuditReport, ExplainedTraffic } from '../../pkg/diagnosis/audit/audit.ts';
import { trafficDocument } from '../../pkg/diagnosis/measured.ts';
import type { Measured, MeasuredFlow } from '../../pkg/traffic/measured.ts';
import { node } from '../fixtures/core.ts';
import { flow, measured, meterPage, meterPod } from '../fixtures/measured.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { clusterFile, runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';

const FLOWS: readonly MeasuredFlow[] = [
  flow('shop/web', 'eu-1a', 'eu-1a', 300_000),
  flow('shop/web', 'eu-1a', 'eu-1b', 700_000),
  flow('', 'eu-1b', 'eu-1a', 100_000),
];

describe('kubectl topology traffic', () => {
  const folder = temporaryFolder();
  const file = folder.write('traffic.json', JSON.stringify(trafficDocument(measured(FLOWS))));
  before(() => {
    if (!nock.isActive()) nock.activate();
  });
  after(() => nock.restore());

  it('shows bytes and connections from zone to zone, then the Services that carry most', async () => {
    const { code, out, err } = await runTopology(['traffic', '-f', file]);
    expect([code, err]).to.deep.equal([0, '']);
    expect(out).to.equal(`Traffic of the cluster (traffic-meter, averages of 60 min)

BYTES  to eu-1a  to eu-1b
eu-1a  300 kB/s  700 kB/s
eu-1b  100 kB/s  -

CONNECTIONS/S  to eu-1a  to eu-1b
eu-1a          1         1
eu-1b          1         -

SERVICE          CONNECTIONS/S  BYTES     CROSSES
shop/web         2              1 MB/s    70 %
(past Services)  1              100 kB/s  100 %
`);
  });

  it('prints as JSON what it reads as a file', async () => {
    const first = await runTopology(['traffic', '-f', file, '-o', 'json']);
    const again = await runTopology(['traffic', '-f', '-', '-o', 'json'], { stdin: first.out });
    expect(again.out).to.equal(first.out);
  });

  const wrong: readonly (readonly [name: string, args: readonly string[], message: RegExp])[] = [
    ['a Service without namespace', ['web', '-f', file], /name the namespace of "web"/],
    ['--watch of a file', ['--watch', '-f', file], /leave out --filename/],
    ['--for without --watch', ['--for', '5s', '-f', file], /go with --watch/],
    ['a duration that is none', ['--watch', '--for', 'soon'], /expected a duration/],
    ['--window without Prometheus', ['--window', '5m', '-f', file], /goes with --prometheus/],
    ['a Prometheus that is neither URL nor Service', ['--prometheus', 'prometheus'], /a URL, or a Service/],
    ['files without measured traffic', ['-f', clusterFile('effective')], /no measured traffic/],
  ];
  for (const [name, args, message] of wrong) {
    it(`refuses ${name}`, async () => {
      const { code, err } = await runTopology(['traffic', ...args]);
      expect(code).to.equal(2);
      expect(err).to.match(message);
    });
  }

  it('asks a Prometheus by its address', async () => {
    const vector = (result: unknown[]): object => ({ status: 'success', data: { resultType: 'vector', result } });
    const labels = { service_namespace: 'shop', service_name: 'web', source_zone: 'a', destination_zone: 'b' };
    const bytes = (direction: string, value: string) => ({ metric: { ...labels, direction }, value: [1, value] });
    nock('http://prometheus.test:9090')
      .post('/api/v1/query', (form: { query: string }) => form.query.includes('topology_traffic_bytes_total'))
      .reply(200, vector([bytes('response', '1500'), bytes('request', '500')]))
      .post('/api/v1/query', (form: { query: string }) => form.query.includes('topology_traffic_connections_total'))
      .reply(200, vector([]))
      .post('/api/v1/query', (form: { query: string }) => /direct|counting/.test(form.query))
      .times(3)
      .reply(200, vector([]));
    const args = ['traffic', '--prometheus', 'http://prometheus.test:9090/', '--window', '30m'];
    const { by, seconds, flows } = await topologyJson<Measured>(args);
    expect([by, seconds]).to.deep.equal(['traffic-meter (topology_traffic_bytes_total in Prometheus)', 1800]);
    expect(flows).to.deep.equal([
      { service: 'shop/web', source: 'a', destination: 'b', connections: null, requestBytes: 500, responseBytes: 1500 },
    ]);
  });
});

describe('money by measured bytes', () => {
  const folder = temporaryFolder();
  const file = folder.write(
    'traffic.json',
    JSON.stringify(trafficDocument(measured(FLOWS, { notes: ['n9: not measured'] }))),
  );
  const input = ['-f', clusterFile('hints-lost'), '-f', file];

  it('audit --measured: dollars by Service, what is saved and could be, and what no Service touches', async () => {
    const report = await topologyJson<AuditReport>(['audit', '--measured', ...input]);
    const web = report.services.find(({ name }) => name === 'web');
    expect(web?.measured?.gigabytesPerDay).to.be.closeTo(86.4, 1e-9);
    expect(web?.monthlyCost?.current).to.be.greaterThan(0);
    expect(report.measured?.withoutService.gigabytesPerDay).to.be.closeTo(8.64, 1e-9);
    expect(report.measured).to.include({ by: 'traffic-meter', seconds: 3600 });
    const { out } = await runTopology(['audit', '--measured', ...input]);
    expect(out)
      .to.match(/GB\/DAY +MEASURED +COST\/MONTH/)
      .and.to.match(/^past Services +8\.64/m);
    expect(out).to.contain('no setting of Services changes it').and.to.contain('Note: n9: not measured.');
    expect(out).not.to.contain('assumed');
  });

  it('explain --measured: the matrix of one Service and what it costs', async () => {
    const { measured: own } = await topologyJson<{ measured: ExplainedTraffic }>([
      'explain',
      'shop/web',
      '--measured',
      ...input,
    ]);
    expect(own.matrix).to.deep.equal({ 'eu-1a': { 'eu-1a': 300_000, 'eu-1b': 700_000 } });
    expect(own.crossZoneShare).to.be.closeTo(0.7, 1e-9);
    const { out } = await runTopology(['explain', 'shop/web', '--measured', ...input]);
    expect(out).to.match(/MEASURED {3}2\.00 connections a second, 86\.4 GB a day; 70 % of the bytes cross zones/);
    expect(out).to.match(/FROM \\ TO +eu-1a +eu-1b/);
    const kept = await runTopology(['explain', 'shop/web', '--measured', '-f', clusterFile('effective'), '-f', file]);
    expect(kept.out.split('\n')[1]).to.contain('; measured: 70 % of its bytes cross zones (clients are not where');
  });
});

describe('what meters measured past a Service settles a suspicion', () => {
  const folder = temporaryFolder();
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { name: 'edge', namespace: 'infra' };
  const spec = { serviceAccountName: 'edge', containers: [{ name: 'edge', image: 'envoyproxy/envoy:v1.31.2' }] };
  const suspect = [
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { template: { spec } } },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'edge' },
      rules: [{ apiGroups: [''], resources: ['endpoints'], verbs: ['watch'] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'edge' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'edge' },
      subjects: [{ kind: 'ServiceAccount', ...metadata }],
    },
  ];
  const cluster = folder.write('suspect.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: suspect }));
  const web = flow('shop/web', 'eu-1a', 'eu-1a', 1, 3);
  const past = { service: 'shop/web', source: 'eu-1a', destination: 'eu-1b', connections: 1 };
  const MAY = 'edge (Deployment infra/edge) watches Endpoints and may go around it';
  const KEPT = '100 % of connections stay in their zone';

  const rows: readonly (readonly [name: string, direct: Measured['direct'], line: string, audit: RegExp])[] = [
    [
      'is measured, and crosses',
      { nodes: 3, seconds: 3600, flows: [past] },
      `! through its cluster IP ${KEPT}; measured: 25 % of its connections go around it, 100 % of these to another zone (60 min, meters on 3 of 3 Nodes); ${MAY}`,
      /measured past shop\/web \(25 % of its connections\)/,
    ],
    [
      'is measured nowhere',
      { nodes: 3, seconds: 3600, flows: [] },
      `✓ effective: ${KEPT}; nothing measured past it (60 min, meters on 3 of 3 Nodes)`,
      /No connection to their Pods was measured past/,
    ],
    [
      'is measured on two of three Nodes',
      { nodes: 2, seconds: 3600, flows: [] },
      `✓ through its cluster IP ${KEPT}; nothing measured past it (60 min, meters on 2 of 3 Nodes); ${MAY}`,
      /meters on 2 of 3 Nodes/,
    ],
    ['cannot be seen', undefined, `✓ through its cluster IP ${KEPT}; ${MAY}`, /Measured/],
  ];
  for (const [name, direct, line, ofAudit] of rows) {
    it(`that ${name}`, async () => {
      const traffic = trafficDocument(measured([web], direct === undefined ? {} : { direct }));
      const file = folder.write('traffic.json', JSON.stringify(traffic));
      const input = ['--measured', '-f', clusterFile('effective'), '-f', cluster, '-f', file];
      const { out } = await runTopology(['explain', 'shop/web', ...input]);
      expect(out.split('\n')[1]).to.equal(line);
      const audited = await runTopology(['audit', ...input]);
      expect(audited.out.replaceAll(/\s+/g, ' ')).to.match(ofAudit);
    });
  }
});

describe("measured traffic from a cluster's meters", () => {
  const folder = temporaryFolder();
  let sandbox: Sandbox;
  let access: readonly string[];
  let seconds = 10;
  let flows = FLOWS;
  const pod = meterPod('node-1');
  const name = `https:${pod.metadata?.name ?? ''}:9518`;

  /** The meter answers once more: what it has counted since it began. */
  const answer = (): unknown =>
    sandbox.addFault({ kind: 'answer', match: { resource: 'pods', name }, text: meterPage(seconds, flows), times: 1 });

  before(async () => {
    sandbox = await startSandbox({ kubernetesVersion: 'v1.34.2' });
    sandbox.seed([node({ zone: 'eu-1a' })]);
    for (const namespace of ['topology-traffic-meter', 'shop'])
      await sandbox.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    sandbox.seed([pod]);
    // The sandbox has no accounts: a token for the meters' reader is what the test says.
    const token = JSON.stringify({ kind: 'TokenRequest', status: { token: 'for-meters-alone' } });
    sandbox.addFault({ kind: 'answer', match: { resource: 'serviceaccounts' }, text: token });
    access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('reader'))];
  });
  after(() => sandbox.stop());

  it('traffic: averages since the meters began, through the API server', async () => {
    answer();
    const { by, seconds: time, flows: read } = await topologyJson<Measured>(['traffic', ...access]);
    expect([by, time]).to.deep.equal(['traffic-meter', 10]);
    expect(
      read.find(({ service, destination }) => service === 'shop/web' && destination === 'eu-1b')?.responseBytes,
    ).to.equal(700_000);
  });

  it('snapshot --measured keeps it, and audit --measured -f reads it back', async () => {
    answer();
    const { out, code } = await runTopology(['snapshot', '--measured', ...access]);
    expect(code).to.equal(0);
    const report = await topologyJson<AuditReport>(['audit', '--measured', '-f', '-'], { stdin: out });
    expect(report.measured?.others.gigabytesPerDay, 'a Service that the cluster does not have').to.be.closeTo(
      86.4,
      1e-9,
    );
  });

  it('traffic --watch shows what came since the reading before', async () => {
    const stop = new AbortController();
    let lines = 0;
    answer();
    seconds = 12;
    flows = [flow('shop/web', 'eu-1a', 'eu-1b', 1_000_000)];
    answer();
    seconds = 14;
    flows = [flow('shop/web', 'eu-1a', 'eu-1b', 2_000_000)];
    answer();
    const { out, code } = await runTopology(['traffic', '--watch', '--interval', '100ms', '-o', 'json', ...access], {
      signal: stop.signal,
      onOut: () => {
        lines += 1;
        if (lines === 2) stop.abort();
      },
    });
    expect(code).to.equal(0);
    const readings = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Measured);
    // 12 s × 1 MB − 10 s × 0.7 MB, and 14 s × 2 MB − 12 s × 1 MB, each in two seconds.
    expect(readings.map((reading) => [reading.seconds, reading.flows[0]?.responseBytes])).to.deep.equal([
      [2, 2_500_000],
      [2, 8_000_000],
    ]);
  });

  it('a cluster without meters says so, and how else', async () => {
    await sandbox.remove(PODS, { namespace: 'topology-traffic-meter', name: pod.metadata?.name ?? '' });
    const { code, err } = await runTopology(['audit', '--measured', ...access]);
    expect(code).to.equal(2);
    expect(err).to.contain('no Pod of namespace topology-traffic-meter is a traffic-meter');
  });
});
