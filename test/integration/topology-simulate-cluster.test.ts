// `kubectl topology simulate` on a cluster: what it reads, and what a flow controller has found out already.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { SimulationReport } from '../../pkg/diagnosis/simulate/types.ts';
import { node, service } from '../fixtures/core.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../fixtures/temporary-folder.ts';
import { runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { expectPoliciesOfPlannedOnly } from './topology-policies.ts';
import { DEMAND, EXAMPLE, simulated } from './topology-simulate-example.ts';

describe('kubectl topology simulate, on a cluster', function onCluster() {
  this.timeout(180_000);
  let folder: TemporaryFolder;
  let sandbox: Sandbox;
  before(async () => {
    folder = temporaryFolder();
    sandbox = await startSandbox({ kubernetesVersion: 'v1.34.2' });
    for (const name of ['shop', 'garden']) {
      await sandbox.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
    const zones = ['eu-1a', 'eu-1b', 'eu-1c'];
    sandbox.seed(zones.map((zone) => node({ zone, kubeletVersion: 'v1.34.2' })));
    sandbox.seed(
      zones.map((zone, index) => ({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: `web-${zone}`, namespace: 'shop', labels: { app: 'server' } },
        spec: {
          nodeName: `node-${zone}`,
          containers: [{ name: 'server', image: 'server', resources: { requests: { cpu: '500m' } } }],
        },
        status: {
          phase: 'Running',
          podIP: `198.18.1.${10 + index}`,
          podIPs: [{ ip: `198.18.1.${10 + index}` }],
          conditions: [{ type: 'Ready', status: 'True' }],
        },
      })),
    );
    const spec = { trafficDistribution: 'PreferSameZone' };
    await sandbox.apply(service({ metadata: { name: 'web', namespace: 'shop' }, spec }));
    await sandbox.settled();
  });
  after(async () => {
    await sandbox.stop();
    folder.remove();
  });

  const read = async (...flags: string[]): Promise<{ report: SimulationReport; resources: Set<string> }> => {
    sandbox.clearRequests();
    const access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('reader'))];
    const report = await topologyJson<SimulationReport>(['simulate', 'shop/web', ...access, ...flags]);
    const own = sandbox.requests.filter(({ user }) => user === 'reader');
    expect(new Set(own.map(({ method }) => method))).to.deep.equal(new Set(['GET']));
    return { report, resources: new Set(own.map(({ resource }) => resource ?? '')) };
  };

  /** Pods of all kinds were listed, not only those of data planes. */
  const everyPod = (): boolean =>
    sandbox.requests.some(
      ({ user, resource, query }) => user === 'reader' && resource === 'pods' && query['labelSelector'] === undefined,
    );

  it('reads what it needs and nothing else, and writes nothing', async () => {
    const { report, resources } = await read();
    expect(report.now).to.deep.include({ mode: 'PreferSameZone', hinted: 3, inZoneShare: 1 });
    expect(report.kubernetesVersion).to.equal('1.34');
    expect(report.recommendation.improves).to.equal(false);
    expect(resources.has('endpointslices')).to.equal(true);
    expect(everyPod()).to.equal(false);
  });
});

describe('kubectl topology simulate, with a flow controller', function withFlowController() {
  this.timeout(180_000);
  const policy = {
    apiVersion: 'topology.extensions.gardener.cloud/v1alpha1',
    kind: 'FlowPolicy',
    metadata: { name: 'checkout', namespace: 'shop' },
    spec: {},
    status: {
      conditions: [{ type: 'Observed', status: 'True' }],
      zones: [
        { zone: 'eu-central-1a', demand: '2' },
        { zone: 'eu-central-1b', demand: '0.5' },
        { zone: 'eu-central-1c', demand: '500m' },
      ],
    },
  };

  it('knows the demand that it observed, and capacity by requests, without a flag', async () => {
    const stdin = `${readFileSync(EXAMPLE, 'utf8')}\n---\n${JSON.stringify(policy)}\n`;
    const report = await topologyJson<SimulationReport>(['simulate', 'checkout', '-f', '-'], { stdin });
    expect(report.demand).to.deep.include({ source: 'flowPolicy', cores: 3 });
    expect(report.modes).to.deep.equal((await simulated('--demand', DEMAND)).modes);
    const { out } = await runTopology(['simulate', 'checkout', '-f', '-'], { stdin });
    expect(out).to.contain(
      'Clients as the FlowPolicy observed them, 3 cores; endpoints by requests of their Pods: 5 cores',
    );
  });

  it('asks a cluster for policies of Services with a planned strategy only, and goes on without', () =>
    expectPoliciesOfPlannedOnly('simulate', ({ code, err }, name) =>
      // Nothing is ready here, which is all there is to say.
      expect([code, err.split('\n').at(-2)]).to.deep.equal([
        2,
        `error: Service default/${name} has no ready IPv4 endpoint for port https`,
      ]),
    ));
});
