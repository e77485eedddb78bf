// `kubectl topology audit` on files and on a cluster: orders, formats, exit codes, the page, and what it reads.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { AuditReport } from '../../pkg/diagnosis/audit/audit.ts';
import { auditCluster } from '../fixtures/audit-cluster.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { type Reported, daemonSet, reportedCluster } from '../fixtures/reported-cluster.ts';
import { clusterFile, CLUSTERS, runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { endpoint, node, service, slice } from '../fixtures/core.ts';

const listOf = (items: readonly unknown[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });

/** Cells of the first table of the text, by the words of its header. */
const rowsOf = (text: string): string[][] =>
  (text.split('\n\n')[0] ?? '').split('\n').map((line) => line.trim().split(/ {2,}/));

describe('kubectl topology audit, on files', () => {
  const folder = temporaryFolder();
  const { nodes, services, slices } = auditCluster({ nodes: 9, services: 26, endpoints: 150 });
  const file = folder.write('cluster.json', listOf([...nodes, ...services, ...slices]));

  it('prints a row a Service, worst first, then the sum, causes and what concerns the whole cluster', async () => {
    const { out, code } = await runTopology(['audit', '-f', file]);
    expect(code).to.equal(0);
    const [header, first, ...others] = rowsOf(out);
    expect(header?.slice(0, 6)).to.deep.equal(['NAMESPACE', 'SERVICE', 'WANTED', 'GIVEN', 'USED', 'EFFECTIVE']);
    expect(others).to.have.lengthOf(25);
    expect(first?.at(-1)).to.match(/^[A-Z]\w+$/);
    for (const text of [
      '26 Services, 9 ready Nodes:',
      '% stay in their zone',
      'FIRST CAUSE',
      'Cannot be saved by zone routing',
      'ProxyMissedItsZone (not visible in objects)',
      'Not seen: workloads',
    ])
      expect(out).to.contain(text);
    expect(out).not.to.contain('\u001B').and.not.to.contain('USD').and.not.to.contain('NaN');
    expect((await runTopology(['audit', '-f', file], { terminal: true })).out).to.contain('\u001B[1m');
  });

  it('adds evidence and remedy with -o wide, and money where bytes are given', async () => {
    const wide = await runTopology(['audit', '-f', file, '-o', 'wide']);
    expect(rowsOf(wide.out)[0]?.slice(-2)).to.deep.equal(['EVIDENCE', 'REMEDY']);
    const money = await runTopology(['audit', '-f', file, '--gb-per-day', '2500', '--prices', 'gcp']);
    expect(rowsOf(money.out)[0]?.slice(-3)).to.deep.equal(['EST. COST/MONTH', 'EST. SAVED/MONTH', 'CAUSE']);
    expect(money.out).to.contain('At an assumed 2,500 GB a day').and.to.contain('Google Cloud');
  });

  it('writes a page beside what it prints', async () => {
    const page = folder.at('audit.html');
    const { code, err, out } = await runTopology(['audit', '-f', file, '--html', page, '-o', 'json']);
    expect([code, err]).to.deep.equal([0, `wrote ${page}\n`]);
    expect((JSON.parse(out) as AuditReport).services).to.have.lengthOf(26);
    const text = readFileSync(page, 'utf8');
    expect(text).to.contain('<!doctype html>').and.to.contain('2026-11-21 00:00 UTC');
  });

  it('agrees with explain on every cause there is', async () => {
    const report = await topologyJson<AuditReport>(['audit', '-f', clusterFile('pods-not-spread')]);
    expect(report.services[0]?.cause?.reason).to.equal('PodsNotSpread');
    const all = await runTopology(['audit', '-f', CLUSTERS, '-o', 'json']);
    // All files together are one cluster of contradictions: it must say something, not fall over.
    expect([all.code, all.err]).to.deep.equal([0, '']);
  });

  const codes: readonly (readonly [name: string, file: string, flags: readonly string[], code: number])[] = [
    ['fine without --fail-on, whatever is found', 'not-requested', [], 0],
    ['--fail-on any where something is found', 'not-requested', ['--fail-on', 'any'], 1],
    ['--fail-on any where nothing is', 'effective', ['--fail-on', 'any'], 0],
    ['--fail-on ineffective where nobody asks', 'not-requested', ['--fail-on', 'ineffective'], 0],
    ['--fail-on ineffective where one asks in vain', 'hints-lost', ['--fail-on', 'ineffective'], 1],
    ['--fail-on a first cause', 'hints-lost', ['--fail-on', 'HintsLost'], 1],
    ['--fail-on a cause behind the first', 'too-few-endpoints', ['--fail-on', 'PodsNotSpread'], 1],
    ['--fail-on a cause that is not there', 'hints-lost', ['--fail-on', 'NoGrowth'], 0],
    ['--fail-on something of the whole cluster', 'client-node-without-zone', ['--fail-on', 'ClientNodeWithoutZone'], 1],
    ['--fail-on what objects cannot show', 'effective', ['--fail-on', 'ProxyMissedItsZone'], 0],
    ['--fail-on something unknown', 'effective', ['--fail-on', 'EndpointZoneDifers'], 2],
    ['--sort-by something unknown', 'effective', ['--sort-by', 'size'], 2],
    ['bytes that are none', 'effective', ['--gb-per-day', 'much'], 2],
    ['a table of prices that is not there', 'effective', ['--gb-per-day', '1', '--prices', '/nonexistent'], 2],
    ['a page that cannot be written', 'effective', ['--html', '/nonexistent/audit.html'], 2],
  ];
  for (const [name, own, flags, code] of codes) {
    it(`exit code ${code}: ${name}`, async () => {
      const ran = await runTopology(['audit', '-f', clusterFile(own), ...flags]);
      expect(ran.code, ran.err).to.equal(code);
      if (code === 2) expect(ran.err).to.match(/^error: /);
    });
  }
});

const BALANCED = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' };
/** What explain has nothing to set for, or more Pods serve nothing of. */
const FUTILE: readonly (readonly [thread: string, cluster: Reported, reason: string, group: string])[] = [
  [
    'https://github.com/MicrosoftDocs/azure-docs/issues/116644',
    {
      spec: { trafficDistribution: 'PreferClose' },
      plane: [daemonSet('cilium', 'mcr.microsoft.com/containernetworking/cilium/cilium:v1.17.4', 'cilium-agent')],
    },
    'CiliumServiceTopologyOff',
    'Fails',
  ],
  ['https://github.com/nginx/kubernetes-ingress/issues/9902', { spec: BALANCED }, 'LoadBalancerTraffic', 'NotSavable'],
  [
    'https://github.com/longhorn/longhorn/issues/7872',
    { endpoints: ['a'], spec: { selector: { app: 'web', 'longhorn.io/share-manager': 'pvc-1' } } },
    'SingleEndpoint',
    'NotSavable',
  ],
];

describe('kubectl topology audit, on Services as they were reported', () => {
  for (const [thread, cluster, reason, group] of FUTILE) {
    it(`promises nothing where nothing helps: ${thread.replace('https://github.com/', '')}`, async () => {
      const world = { stdin: reportedCluster(cluster) };
      const { services, sum } = await topologyJson<AuditReport>(['audit', '-f', '-'], world);
      const [{ cause, saving, ...own } = expect.fail('no Service')] = services;
      expect([cause?.reason, own.group, saving, sum.saving]).to.deep.equal([reason, group, null, null]);
    });
  }

  it('marks what keeps to zones where all that is seen enters from outside: metallb/metallb#359', async () => {
    const spec = { ...BALANCED, externalTrafficPolicy: 'Cluster', trafficDistribution: 'PreferClose' };
    const { out } = await runTopology(['audit', '-f', '-'], { stdin: reportedCluster({ spec }) });
    expect(rowsOf(out)[1]).to.include('3/3*');
    expect(out).to.match(/\* Through the cluster IP: clients seen or measured go around it or come from outside\./);
  });
});

describe('kubectl topology audit, on a cluster', function onCluster() {
  this.timeout(180_000);
  const folder = temporaryFolder();
  let sandbox: Sandbox;
  let access: readonly string[];
  beforeEach(async () => {
    sandbox = await startSandbox({ kubernetesVersion: 'v1.34.2', endpointSliceController: false });
    const { nodes, services, slices } = auditCluster({ nodes: 6, services: 26, endpoints: 120 });
    sandbox.seed([...nodes, ...services, ...slices]);
    access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('reader'))];
    sandbox.clearRequests();
  });
  afterEach(() => sandbox.stop());

  const own = () => sandbox.requests.filter(({ user }) => user === 'reader');

  it('reads all namespaces, lists only, over one connection', async () => {
    let connections = 0;
    const count = (): void => void (connections += 1);
    subscribe('undici:client:connected', count);
    try {
      const report = await topologyJson<AuditReport>(['audit', ...access]);
      expect(report.services).to.have.lengthOf(26);
      expect([report.namespace, report.kubernetesVersion]).to.deep.equal([null, '1.34']);
    } finally {
      unsubscribe('undici:client:connected', count);
    }
    expect(connections).to.equal(1);
    expect(new Set(own().map(({ verb }) => verb))).to.deep.equal(new Set(['list', 'raw']));
    expect(own().filter(({ namespace }) => namespace !== undefined && namespace !== 'kube-system')).to.deep.equal([]);
  });

  it('answers as it does on a snapshot of the same cluster', async () => {
    const file = folder.write('snapshot.json', (await runTopology(['snapshot', ...access])).out);
    const live = await topologyJson<AuditReport>(['audit', ...access]);
    expect(await topologyJson<AuditReport>(['audit', '-f', file])).to.deep.equal(live);
    expect(live.unseen).to.deep.equal([]);
  });

  it('says what it may not read and goes on without, in the page too', async () => {
    for (const resource of ['mutatingwebhookconfigurations', 'deployments'])
      sandbox.addFault({ kind: 'status', match: { resource }, code: 403 });
    const page = folder.at('audit.html');
    const { err, code, out } = await runTopology(['audit', '-o', 'json', '--html', page, ...access]);
    expect(code).to.equal(0);
    expect(err).to.match(/^warning: continuing without webhooks: you may not list mutatingwebhookconfigurations$/m);
    expect((JSON.parse(out) as AuditReport).unseen.map(({ what }) => what)).to.deep.equal(['workloads', 'webhooks']);
    expect(readFileSync(page, 'utf8')).to.contain(
      'Not seen: workloads (you may not list deployments); mutating webhooks',
    );
  });

  it('exit code 2 where Services may not be read; without Nodes or slices it says what that leaves open', async () => {
    sandbox.addFault({ kind: 'status', match: { resource: 'nodes' }, code: 403 });
    const { code, out, err } = await runTopology(['audit', ...access]);
    expect([code, err]).to.deep.equal([0, 'warning: continuing without nodes: you may not list nodes\n']);
    expect(out).to.contain('No prediction is possible').and.to.contain('NoNodes');
    expect(out).to.contain('Not seen: nodes (you may not list nodes)');
    sandbox.addFault({ kind: 'status', match: { resource: 'services' }, code: 403 });
    const refused = await runTopology(['audit', ...access]);
    expect(refused.code).to.equal(2);
    expect(refused.err).to.contain('error: Services cannot be read: you may not list services');
  });
});

const EXAMPLE = 'example/audit/cluster.yaml';

describe('kubectl topology audit --without, on files', () => {
  const folder = temporaryFolder();

  const lost = (): string =>
    folder.write(
      'lost.json',
      listOf([
        ...['eu-1a', 'eu-1b'].map((zone) => node({ zone })),
        service({ metadata: { name: 'web' } }),
        slice({ service: 'web', endpoints: [endpoint()] }),
      ]),
    );

  it('says yes by the first sentence and by exit code 0', async () => {
    const { out, code, err } = await runTopology(['audit', '-f', EXAMPLE, '--without', 'eu-1a']);
    expect([code, err]).to.deep.equal([0, '']);
    expect(out).to.contain('Yes: every Service survives without eu-1a.');
    expect(out).to.match(/^NAMESPACE +SERVICE +ANSWER +THERE +BUSIEST +THEN +LIMIT +ADD\n/);
    expect(out).not.to.match(/NaN|Infinity|undefined/);
    expect(Math.max(...out.split('\n').map((line) => line.length))).to.be.at.most(120);
  });

  it('says no by exit code 1, with the replicas to add', async () => {
    const { out, code } = await runTopology(['audit', '-f', lost(), '--without', 'eu-1a']);
    expect(code).to.equal(1);
    expect(out).to.match(/web +NoEndpointElsewhere +1\/1 +1× +- +2× +eu-1b \+1/);
    expect(out)
      .to.contain('No: without eu-1a 1 Service would be down.')
      .and.to.contain('1 more replica would be enough.');
    expect((await runTopology(['audit', '-f', lost(), '--without', 'eu-1b'])).code).to.equal(0);
  });

  it('leaves the terminal alone, whatever objects are called', async () => {
    const name = '\u001B[2Jweb<script>alert(1)</script>';
    const objects = [
      node({ zone: 'eu-1b' }),
      service({ metadata: { name } }),
      slice({ service: name, endpoints: [endpoint({ zone: 'eu-1a' })] }),
    ];
    const file = folder.write('hostile.json', listOf(objects));
    const { out } = await runTopology(['audit', '-f', file, '--without', 'eu-1a']);
    expect(out).not.to.contain('\u001B');
  });

  const refused: readonly (readonly [name: string, flags: readonly string[], message: string])[] = [
    ['a zone that nothing is in', ['--without', 'eu-1d'], 'did you mean "eu-1a"?'],
    ['no zone', ['--without', ''], 'expected zones such as eu-1a'],
    ['a limit that is none', ['--without', 'eu-1a', '--max-overload', 'twice'], 'expected a percentage'],
    ['--fail-on, which asks another question', ['--without', 'eu-1a', '--fail-on', 'any'], '--fail-on'],
    ['--html, which shows another answer', ['--without', 'eu-1a', '--html', 'x.html'], '--without and --html exclude'],
    ['--gb-per-day, which asks another question', ['--without', 'eu-1a', '--gb-per-day', '1'], '--gb-per-day'],
  ];
  for (const [name, flags, message] of refused) {
    it(`exit code 2: ${name}`, async () => {
      const { code, err } = await runTopology(['audit', '-f', clusterFile('effective'), ...flags]);
      expect(code, err).to.equal(2);
      expect(err).to.contain(message);
    });
  }
});
