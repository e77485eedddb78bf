// `kubectl topology audit --without ZONE` on files and on a cluster: text, JSON, page, exit codes, what it reads, hostile names.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { parse } from 'yaml';
import { flowPolicyDefinition } from '../../pkg/apis/crd.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import type { SurvivalReport } from '../../pkg/diagnosis/survival/survival.ts';
import { auditCluster } from '../fixtures/audit-cluster.ts';
import { endpoint, node, service, slice } from '../fixtures/core.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../fixtures/temporary-folder.ts';
import { clusterFile, runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';

const listOf = (items: readonly unknown[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });

const EXAMPLE = 'example/audit/cluster.yaml';

describe('kubectl topology audit --without, on files', () => {
  let folder: TemporaryFolder;
  before(() => {
    folder = temporaryFolder();
  });
  after(() => folder.remove());

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
    expect(out).to.contain('Yes: every Service survives without eu-1a.').and.to.contain('What hints do not move');
    expect(out.split('\n')[0]?.split(/ {2,}/)).to.deep.equal([
      'NAMESPACE',
      'SERVICE',
      'ANSWER',
      'THERE',
      'BUSIEST',
      'THEN',
      'LIMIT',
      'ADD',
    ]);
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

  it('has a sentence for every Service with -o wide, and colours on a terminal', async () => {
    const wide = await runTopology(['audit', '-f', EXAMPLE, '--without', 'eu-1a', '-o', 'wide']);
    expect(wide.out)
      .to.contain('NOT MOVED')
      .and.to.contain('3 of 8 ready endpoints are in eu-1a; the busiest that stays');
    const terminal = await runTopology(['audit', '-f', lost(), '--without', 'eu-1a'], { terminal: true });
    expect(terminal.out).to.contain('\u001B[31mNo: without eu-1a');
  });

  it('answers for several zones at once, stricter by a flag, the same in YAML as in JSON', async () => {
    const ask = ['audit', '-f', EXAMPLE, '--without', 'eu-1a,eu-1b'];
    const report = await topologyJson<SurvivalReport>([...ask]);
    expect([report.zones, report.survives]).to.deep.equal([['eu-1a', 'eu-1b'], false]);
    expect(parse((await runTopology([...ask, '-o', 'yaml'])).out)).to.deep.equal(report);
    expect(await topologyJson(['audit', '-f', EXAMPLE, '--without', 'eu-1a', '--without', 'eu-1b'])).to.deep.equal(
      report,
    );
    const strict = await topologyJson<SurvivalReport>([
      'audit',
      '-f',
      EXAMPLE,
      '--without',
      'eu-1a',
      '--max-overload',
      '40',
    ]);
    expect(strict.sum.answers.Overloaded).to.equal(9);
  });

  it('takes one namespace with -n', async () => {
    const report = await topologyJson<SurvivalReport>(['audit', '-f', EXAMPLE, '--without', 'eu-1a', '-n', 'media']);
    expect([report.namespace, report.services.map(({ name }) => name)]).to.deep.equal([
      'media',
      ['images', 'thumbnails'],
    ]);
  });

  it('has a row for Services of every kind, and figures in all of them', async () => {
    const { nodes, services, slices } = auditCluster({ nodes: 9, services: 26, endpoints: 150 });
    const file = folder.write('cluster.json', listOf([...nodes, ...services, ...slices]));
    const [zone = ''] = nodes.map(({ metadata }) => metadata?.labels?.['topology.kubernetes.io/zone'] ?? '');
    const report = await topologyJson<SurvivalReport>(['audit', '-f', file, '--without', zone]);
    expect(report.services).to.have.lengthOf(26);
    expect(Object.values(report.sum.answers).reduce((sum, count) => sum + count, 0)).to.equal(26);
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

describe('kubectl topology audit --without, on a cluster', () => {
  let folder: TemporaryFolder;
  let sandbox: Sandbox;
  let access: readonly string[];
  before(async () => {
    folder = temporaryFolder();
    sandbox = await startSandbox({ kubernetesVersion: 'v1.34.2', endpointSliceController: false });
    sandbox.seed([
      ...['eu-1a', 'eu-1b', 'eu-1c'].map((zone) => node({ zone })),
      service({ metadata: { name: 'server' } }),
      slice({ service: 'server' }),
    ]);
    await sandbox.apply(flowPolicyDefinition());
    access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('reader'))];
  });
  after(async () => {
    await sandbox.stop();
    folder.remove();
  });

  const resources = (): Set<string> =>
    new Set(sandbox.requests.filter(({ user }) => user === 'reader').map(({ resource }) => resource ?? ''));

  it('lists and changes nothing, and reads Pods of all kinds only where a FlowPolicy speaks of their requests', async () => {
    sandbox.clearRequests();
    const report = await topologyJson<SurvivalReport>(['audit', '--without', 'eu-1a', ...access]);
    expect([report.survives, report.services.length]).to.deep.equal([true, 1]);
    const verbs = sandbox.requests.filter(({ user }) => user === 'reader').map(({ verb }) => verb);
    expect(new Set(verbs)).to.deep.equal(new Set(['list', 'raw']));
    expect(resources()).to.include.members(['nodes', 'services', 'endpointslices', 'flowpolicies']);
    const everyPod = (): number =>
      sandbox.requests.filter(({ resource, query }) => resource === 'pods' && query['labelSelector'] === undefined)
        .length;
    expect(everyPod()).to.equal(0);
    sandbox.seed([
      {
        apiVersion: 'topology.extensions.gardener.cloud/v1alpha1',
        kind: 'FlowPolicy',
        metadata: { name: 'server', namespace: 'default' },
        status: { conditions: [{ type: 'Observed', status: 'True' }], zones: [{ zone: 'eu-1a', demand: '1' }] },
      } as KubernetesObject,
    ]);
    await topologyJson<SurvivalReport>(['audit', '--without', 'eu-1a', ...access]);
    expect(everyPod()).to.equal(1);
  });

  it('exit code 2 where slices may not be read: nothing can be said', async () => {
    const fault = { kind: 'status', match: { resource: 'endpointslices' }, code: 403 } as const;
    sandbox.addFault(fault);
    const { code, err } = await runTopology(['audit', '--without', 'eu-1a', ...access]);
    expect(code).to.equal(2);
    expect(err).to.contain('slices cannot be read: you may not list endpointslices');
    sandbox.clearFaults();
  });
});
