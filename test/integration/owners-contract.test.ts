// Holds the stand-ins of the owners to what the real ones were seen to do; the suites `gardener-*` run the same against those.
import { after, before, describe } from 'mocha';
import { CUSTOM_RESOURCE_DEFINITIONS, ETCDS, NAMESPACES, SERVICES } from '../../pkg/apis/resources.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { describeDruid } from '../contract/etcd-druid.ts';
import { describeResourceManager, MODE_IGNORE } from '../contract/resource-manager.ts';
import { druidReconciles, ensure } from '../demo/actors.ts';
import { resourceManagerReplaces } from '../e2e/settings-landscape.ts';
import { service } from '../fixtures/core.ts';
import { etcdCrd } from '../fixtures/crds.ts';
import { etcd } from '../fixtures/gardener.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';

const namespace = 'shoot--foo--bar';

describe('the stand-ins of the owners keep the contracts of the real ones', () => {
  let sandbox: Sandbox;
  let client: Client;
  const folder = temporaryFolder();
  const turn = (): Promise<void> => druidReconciles(client, namespace);

  before(async () => {
    sandbox = await startSandbox();
    const kubeconfig = folder.write('config', sandbox.kubeconfig('owners', ['system:masters']));
    client = createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: 'owners' });
    await ensure(client, CUSTOM_RESOURCE_DEFINITIONS, etcdCrd());
    await ensure(client, NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await ensure(client, ETCDS, etcd());
    await ensure(client, SERVICES, service({ metadata: { name: 'webhook', namespace } }));
    await ensure(client, SERVICES, service({ metadata: { name: 'held', namespace, annotations: MODE_IGNORE } }));
    await turn();
  });
  after(async () => {
    await client?.close();
    await sandbox.stop();
    folder.remove();
  });

  describeDruid(() => ({ client, exempt: client, namespace, turn }));
  describeResourceManager(() => ({
    client,
    namespace,
    async turn() {
      for (const name of ['webhook', 'held']) await resourceManagerReplaces(client, namespace, name);
    },
  }));
});
