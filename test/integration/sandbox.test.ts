// What the sandbox offers to tests beyond the contract: faults, and watches that are cut.
import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import { ETCDS, NAMESPACES, SERVICES } from '../../pkg/apis/resources.ts';
import { type Api, createApi } from '../contract/api.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { describeContract } from '../contract/suite.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { describeDruid } from '../contract/etcd-druid.ts';
import { MODE_IGNORE, describeResourceManager } from '../contract/resource-manager.ts';
import { druidReconciles, ensure } from '../demo/actors.ts';
import { resourceManagerReplaces } from '../e2e/settings-landscape.ts';
import { service } from '../fixtures/core.ts';
import { etcdCrd, CUSTOM_RESOURCE_DEFINITIONS } from '../fixtures/crds.ts';
import { etcd } from '../fixtures/gardener.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const SERVICES_PATH = '/api/v1/namespaces/seed/services';

/** With a namespace, two Nodes and a user; the caller stops it. */
const openSeededSandbox = async (): Promise<{ sandbox: Sandbox; api: Api }> => {
  const sandbox = await startSandbox({ bookmarkSeconds: 1 });
  const api = await createApi(sandbox.kubeconfig('alice', ['team']));
  await sandbox.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'seed' } });
  for (const name of ['node-a', 'node-b']) await sandbox.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
  return { sandbox, api };
};

describe('the sandbox with injected faults', () => {
  let sandbox: Sandbox;
  let api: Api;
  before(async () => {
    ({ sandbox, api } = await openSeededSandbox());
  });
  afterEach(() => sandbox.clearFaults());
  after(() => sandbox.stop());

  describe('faults', () => {
    it('reset the connection before an answer', async () => {
      sandbox.addFault({ kind: 'reset', times: 1 });
      const outcome = await api.get(SERVICES_PATH).then(
        ({ status }) => `answered ${status}`,
        (error: NodeJS.ErrnoException) => error.code,
      );
      expect(outcome).to.be.oneOf(['ECONNRESET', 'EPIPE']);
      expect((await api.get(SERVICES_PATH)).status).to.equal(200);
    });
  });

  describe('cutting watches', () => {
    for (const { how, check } of [
      { how: '410' as const, check: 'an ERROR event' },
      { how: 'close' as const, check: 'a clean end' },
      { how: 'reset' as const, check: 'a broken stream' },
    ]) {
      it(`by ${how} gives ${check} to the matching ones`, async () => {
        const [cut, kept] = await Promise.all([
          api.watch(`${SERVICES_PATH}?watch=true`),
          api.watch('/api/v1/nodes?watch=true'),
        ]);
        await kept.until(({ type }) => type === 'ADDED');
        sandbox.cutWatches(how, { resource: 'services' });
        await cut.end();
        const errors = cut.events.filter(({ type }) => type === 'ERROR');
        expect(errors.map(({ type, object }) => [type, object['code']])).to.deep.equal(
          how === '410' ? [['ERROR', 410]] : [],
        );
        expect(kept.ended).to.equal(false);
        kept.stop();
      });
    }
  });
});

describe('the sandbox keeps the contract of an API server', () => {
  let sandbox: Sandbox;
  before(async () => {
    sandbox = await startSandbox();
  });
  after(() => sandbox.stop());
  describeContract(
    () => ({ kubeconfig: sandbox.kubeconfig('contract', ['system:masters']), user: 'contract', minor: 36 }),
    () => Promise.resolve(sandbox.compact()),
  );
});

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
