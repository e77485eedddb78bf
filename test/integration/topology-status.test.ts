// `kubectl topology status` on the sandbox: what it shows, asks for, and needs.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import { installationDefaults } from '../fixtures/installation.ts';
import { reasonsOf, useStatusWorld } from './topology-status-support.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';

const { namespace: OWN } = installationDefaults;

describe('kubectl topology status', function onSandbox() {
  this.timeout(180_000);
  const world = useStatusWorld();

  it('prints all of it as JSON', async () => {
    world.install();
    await world.openShop();
    const report = await world.status();
    expect([report.kind, report.verdict]).to.deep.equal(['TopologyStatus', 'Healthy']);
    expect(report.cluster).to.deep.equal({
      version: 'v1.33.2',
      mechanism: 'PreferClose',
      nodes: { count: 3, ready: 3, zones: { 'eu-1a': 1, 'eu-1b': 1, 'eu-1c': 1 }, versions: { '1.33': 3 } },
    });
    const [installed] = report.installations;
    expect(installed).to.include({ namespace: OWN, release: 'topology' });
    expect(installed?.components.map(({ replicas, pods }) => [replicas.ready, pods?.zones])).to.deep.equal(
      installationDefaults.components.map(() => [2, ['eu-1a', 'eu-1b']]),
    );
    expect(installed?.leases.map(({ name, state, ageSeconds }) => [name, state, ageSeconds])).to.deep.equal([
      ['flow-controller', 'Held', 2],
      ['gardener-extension-heartbeat', 'Held', 2],
      ['settings-reconciler-leader-election', 'Held', 2],
    ]);
    expect(report.admission.probes).to.have.lengthOf(1);
    expect(report.admission.probes[0]).to.include({ namespace: 'shop', outcome: 'Hinted' });
    expect(report.services).to.include({ count: 1, effective: 1, ineffective: 0 });
    expect(report.unseen).to.deep.equal([]);
  });

  it('changes nothing: reads, and one write that is a dry run', async () => {
    world.install();
    await world.openShop();
    const slices = world.sandbox.list(ENDPOINT_SLICES);
    world.sandbox.clearRequests();
    await world.run();
    const own = world.sandbox.requests.filter(({ user }) => user === 'reader');
    const writes = own.filter(({ method }) => method !== 'GET');
    expect(writes.map(({ method, resource, query }) => [method, resource, query['dryRun']])).to.deep.equal([
      ['POST', 'endpointslices', 'All'],
    ]);
    expect(world.sandbox.list(ENDPOINT_SLICES)).to.deep.equal(slices);
    world.sandbox.clearRequests();
    await world.run('--no-probe');
    const methods = world.sandbox.requests.filter(({ user }) => user === 'reader').map(({ method }) => method);
    expect(new Set(methods)).to.deep.equal(new Set(['GET']));
  });

  it('says what was looked for where nothing is installed, with exit code 3', async () => {
    const { out, code } = await world.run();
    expect(code).to.equal(3);
    expect(out).to.match(/^Not installed: no Deployment with app\.kubernetes\.io\/name=\S+ in any namespace\n/);
    world.install();
    expect((await world.run('-n', 'shop')).out).to.contain('in namespace shop');
    expect((await world.run('-n', OWN)).code).to.equal(0);
  });

  it('names what may not be read, and shows the rest', async () => {
    world.install();
    await world.openShop();
    const forbidden = ['pods', 'leases', 'nodes', 'mutatingwebhookconfigurations'];
    for (const resource of forbidden) world.sandbox.addFault({ kind: 'status', match: { resource }, code: 403 });
    const { out, code } = await world.run();
    expect(code, out).to.equal(0);
    for (const what of ['pods', 'leases', 'nodes', 'webhooks'])
      expect(out.replace(/\s+/g, ' ')).to.contain(`${what} (you may not list`);
    expect(out).to.contain('2/2');
    const report = await world.status();
    expect(report.installations[0]?.components[0]?.pods).to.equal(null);
    expect(report.cluster.nodes).to.equal(null);
  });

  it('shows the rest where an object is malformed', async () => {
    world.install();
    await world.openShop();
    world.sandbox.seed([
      {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'spoilt' },
        status: { conditions: 'ready' },
      } as KubernetesObject,
    ]);
    const report = await world.status();
    expect(report.unseen).to.deep.equal([
      { what: 'nodes (in part)', why: 'Node spoilt: status.conditions: expected a list, found a string' },
    ]);
    expect([report.verdict, report.cluster.nodes?.count]).to.deep.equal(['Healthy', 3]);
  });

  it('asks for a namespace where Deployments of all may not be listed', async () => {
    world.sandbox.addFault({ kind: 'status', match: { resource: 'deployments' }, code: 403 });
    const { err, code } = await world.run();
    expect([code, err]).to.deep.equal([
      2,
      'error: installations cannot be looked for: you may not list deployments of all namespaces; name the one of the installation with --namespace\n',
    ]);
  });

  it('needs the right to create slices for the dry run, and says so', async () => {
    world.install();
    await world.openShop();
    world.sandbox.addFault({ kind: 'status', match: { resource: 'endpointslices', verb: 'create' }, code: 403 });
    const report = await world.status();
    expect(report.verdict).to.equal('Healthy');
    expect(report.admission.probes[0]?.outcome).to.equal('Unknown');
    expect(report.admission.probes[0]?.message).to.contain('the right to create endpointslices');
  });
});

describe('kubectl topology status, where API servers cannot reach the webhook', function unreachable() {
  this.timeout(180_000);
  const world = useStatusWorld({ webhookPort: 1 });

  it('gives no hints under Ignore', async () => {
    world.install();
    expect(reasonsOf(await world.status())).to.deep.equal(['AdmissionNotActing']);
  });

  it('refuses the slice under Fail', async () => {
    world.install({ failurePolicy: 'Fail' });
    const report = await world.status();
    expect(reasonsOf(report)).to.deep.equal(['AdmissionRefuses']);
    expect(report.findings[0]?.message).to.contain('failed calling webhook').and.contain('connection refused');
  });
});
