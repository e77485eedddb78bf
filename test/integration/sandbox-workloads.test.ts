// The stand-in for Deployment controller, scheduler and kubelet, on a sandbox.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { EndpointSlice, Node } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ENDPOINT_SLICES, NODES, PODS } from '../../pkg/apis/resources.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { node, service } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../fixtures/temporary-folder.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { DEPLOYMENTS, startWorkloads } from '../sandbox/workloads.ts';
import type { Workloads } from '../sandbox/workloads.ts';

interface Pod extends KubernetesObject {
  spec?: { nodeName?: string };
  status?: { podIP?: string };
}

describe('the sandbox with workloads', () => {
  let folder: TemporaryFolder;
  let sandbox: Sandbox;
  let client: Client;
  let workloads: Workloads;

  const pods = (): Pod[] => sandbox.list<Pod>(PODS, 'default');
  const scale = (replicas: number): Promise<unknown> =>
    client.patch(DEPLOYMENTS, { namespace: 'default', name: 'server' }, 'merge', { spec: { replicas } });
  const placesAre = (...expected: readonly string[]): Promise<void> =>
    eventually(
      () =>
        pods()
          .map(({ metadata, spec }) => `${metadata?.name} ${spec?.nodeName}`)
          .join() === expected.join(),
      () => JSON.stringify(pods()),
    );

  before(async () => {
    folder = temporaryFolder();
    sandbox = await startSandbox({ resources: [{ ...DEPLOYMENTS, status: true }] });
    sandbox.seed(['eu-1a', 'eu-1b'].map((zone) => node({ zone })));
    client = createClient({
      config: loadKubeConfig({ kubeconfig: folder.write('kubeconfig', sandbox.kubeconfig('workloads')) }),
      userAgent: 'test',
    });
    workloads = startWorkloads({ sandbox, client, version: 'v1.33.4' });
    await sandbox.apply(service());
    await sandbox.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'server', namespace: 'default' },
      spec: { replicas: 3, template: { metadata: { labels: { app: 'server' } } } },
    } as KubernetesObject);
  });
  after(async () => {
    await workloads.stop();
    await client.close();
    await sandbox.stop();
    folder.remove();
  });

  it('runs the Pods of a Deployment, spread over the zones, and the EndpointSlice controller finds them', async () => {
    await placesAre('server-1 node-eu-1a', 'server-2 node-eu-1b', 'server-3 node-eu-1a');
    await sandbox.settled();
    const [slice] = sandbox.list<EndpointSlice>(ENDPOINT_SLICES, 'default');
    expect(slice?.endpoints?.map(({ zone, conditions }) => [zone, conditions?.ready])).to.have.deep.members([
      ['eu-1a', true],
      ['eu-1b', true],
      ['eu-1a', true],
    ]);
  });

  it('follows the number of replicas, the last Pods first', async () => {
    await scale(1);
    await placesAre('server-1 node-eu-1a');
    await scale(2);
    await placesAre('server-1 node-eu-1a', 'server-2 node-eu-1b');
    expect(new Set(pods().map(({ status }) => status?.podIP)).size).to.equal(2);
  });

  it('gives a Node without kubelet one, of the given version', async () => {
    await sandbox.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-new' } });
    const fresh = (): Node | undefined => sandbox.get<Node>(NODES, { name: 'node-new' });
    await eventually(
      () => fresh()?.status?.nodeInfo?.kubeletVersion === 'v1.33.4',
      () => JSON.stringify(fresh()),
    );
    expect(fresh()?.status).to.deep.include({ conditions: [{ type: 'Ready', status: 'True' }] });
  });
});
