// What the sandbox offers to tests beyond the contract: the request log, direct access, its controllers, and its speed.
import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { ENDPOINT_SLICES, ETCDS, NAMESPACES, SERVICES } from '../../pkg/apis/resources.ts';
import { list, text, type Api, createApi } from '../contract/api.ts';
import { patching, startWebhookServer, type WebhookServer } from '../contract/webhook-server.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { NAMESPACE, SERVICES_PATH, ZONES, aPod, aService, openSeededSandbox } from './sandbox-objects.ts';
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

describe('the sandbox', () => {
  let sandbox: Sandbox;
  let api: Api;
  before(async () => {
    ({ sandbox, api } = await openSeededSandbox());
  });
  afterEach(() => sandbox.clearFaults());
  after(() => sandbox.stop());

  describe('admission and the EndpointSlice controller together', () => {
    const LABEL = 'example.com/hint';
    let webhook: WebhookServer;
    before(async () => {
      webhook = await startWebhookServer();
    });
    after(() => webhook.close());
    const slicesOf = (name: string): EndpointSlice[] =>
      sandbox
        .list<EndpointSlice>(ENDPOINT_SLICES, NAMESPACE)
        .filter(({ metadata }) => metadata?.labels?.['kubernetes.io/service-name'] === name);

    it('calls a webhook through its Service, keeps its hints and does not loop', async () => {
      webhook.on('/hints', (request) =>
        patching(
          list(request['object']!['endpoints']).map((endpoint, index) => ({
            op: 'add',
            path: `/endpoints/${index}/hints`,
            value: { forZones: [{ name: endpoint['zone'] }] },
          })),
        ),
      );
      const port = Number(new URL(webhook.url).port);
      // Behind a Service without selector: the slice is ours, as for a process outside the cluster.
      await sandbox.apply({ ...aService('hook'), spec: { ports: [{ port: 443 }] } });
      await sandbox.apply({
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: 'hook', namespace: NAMESPACE, labels: { 'kubernetes.io/service-name': 'hook' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['127.0.0.1'] }],
        ports: [{ name: '', port }],
      });
      const configuration = (failurePolicy: string) => ({
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingWebhookConfiguration',
        metadata: { name: 'hints' },
        webhooks: [
          {
            name: 'hints.example.com',
            clientConfig: {
              service: { namespace: NAMESPACE, name: 'hook', path: '/hints' },
              caBundle: webhook.caBundle,
            },
            rules: [
              {
                apiGroups: ['discovery.k8s.io'],
                apiVersions: ['v1'],
                resources: ['endpointslices'],
                operations: ['CREATE', 'UPDATE'],
              },
            ],
            objectSelector: { matchLabels: { [LABEL]: 'yes' } },
            failurePolicy,
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      });
      await sandbox.apply(configuration('Fail'));
      await sandbox.apply(aService('early', { [LABEL]: 'yes' }));
      await sandbox.settled();
      // The certificate is for 127.0.0.1, not for hook.seed.svc: the call fails, and the event says how.
      expect(slicesOf('early')).to.deep.equal([]);
      const { body } = await api.get(
        `/api/v1/namespaces/${NAMESPACE}/events?fieldSelector=${encodeURIComponent('involvedObject.name=early')}`,
      );
      expect(text(list(body['items'])[0]?.['message'])).to.include(
        'failed calling webhook "hints.example.com": failed to call webhook: Post "https://hook.seed.svc:443/hints?timeout=10s": tls: failed to verify certificate',
      );

      const direct = configuration('Fail');
      direct.webhooks[0]!.clientConfig = {
        url: `${webhook.url}/hints`,
        caBundle: webhook.caBundle,
      } as unknown as (typeof direct.webhooks)[0]['clientConfig'];
      await sandbox.apply(direct);
      await sandbox.apply(aService('hinted', { [LABEL]: 'yes' }));
      for (const [index, zone] of ZONES.entries()) await sandbox.apply(aPod('hinted', zone, index));
      await sandbox.settled();
      const [slice] = slicesOf('hinted');
      expect(slice?.endpoints?.map(({ zone, hints }) => [zone, hints])).to.deep.equal(
        ZONES.map((zone) => [zone, { forZones: [{ name: zone }] }]),
      );
      const calls = webhook.received.length;
      const version = slice?.metadata?.resourceVersion;
      await sandbox.settled();
      expect(webhook.received.length).to.equal(calls);
      // The controller strips, the webhook puts back: the stored object does not move.
      await sandbox.apply(aService('hinted', { [LABEL]: 'yes' }));
      await api.patch(`${SERVICES_PATH}/hinted`, 'merge', { metadata: { annotations: { touched: 'yes' } } });
      await sandbox.settled();
      expect(webhook.received.length).to.be.greaterThan(calls);
      expect(slicesOf('hinted')[0]?.metadata?.resourceVersion).to.equal(version);
      await sandbox.remove(
        {
          group: 'admissionregistration.k8s.io',
          version: 'v1',
          kind: 'MutatingWebhookConfiguration',
          plural: 'mutatingwebhookconfigurations',
          namespaced: false,
        },
        { name: 'hints' },
      );
    });
  });
});

describe('the sandbox with injected faults', () => {
  let sandbox: Sandbox;
  let api: Api;
  before(async () => {
    ({ sandbox, api } = await openSeededSandbox());
  });
  afterEach(() => sandbox.clearFaults());
  after(() => sandbox.stop());

  describe('faults', () => {
    it('answer a status with Retry-After as often as asked', async () => {
      sandbox.addFault({
        kind: 'status',
        code: 429,
        retryAfterSeconds: 3,
        times: 2,
        match: { verb: 'list', resource: 'services' },
      });
      const first = await api.get(SERVICES_PATH);
      expect([first.status, first.headers['retry-after'], first.body['reason'], first.body['details']]).to.deep.equal([
        429,
        '3',
        'TooManyRequests',
        { retryAfterSeconds: 3 },
      ]);
      expect((await api.get('/api/v1/nodes')).status).to.equal(200);
      expect((await api.get(SERVICES_PATH)).status).to.equal(429);
      expect((await api.get(SERVICES_PATH)).status).to.equal(200);
    });

    it('strike one user and one name only, until removed', async () => {
      const { remove } = sandbox.addFault({
        kind: 'status',
        code: 500,
        match: { user: 'bob', verb: 'get', name: 'node-a' },
      });
      const bob = await createApi(sandbox.kubeconfig('bob'));
      const asked = async (): Promise<number[]> =>
        Promise.all([
          bob.get('/api/v1/nodes/node-a'),
          bob.get('/api/v1/nodes/node-b'),
          api.get('/api/v1/nodes/node-a'),
        ]).then((answers) => answers.map(({ status }) => status));
      expect(await asked()).to.deep.equal([500, 200, 200]);
      remove();
      expect(await asked()).to.deep.equal([200, 200, 200]);
    });

    it('reset the connection before an answer', async () => {
      sandbox.addFault({ kind: 'reset', times: 1 });
      const outcome = await api.get(SERVICES_PATH).then(
        ({ status }) => `answered ${status}`,
        (error: NodeJS.ErrnoException) => error.code,
      );
      expect(outcome).to.be.oneOf(['ECONNRESET', 'EPIPE']);
      expect((await api.get(SERVICES_PATH)).status).to.equal(200);
    });

    it('answer 200 with a text of their own in place of the list', async () => {
      sandbox.addFault({ kind: 'answer', match: { verb: 'list', resource: 'services' }, text: '{}', times: 1 });
      const answers = [await api.get(SERVICES_PATH), await api.get(SERVICES_PATH)];
      expect(answers.map(({ status, body }) => [status, body['kind']])).to.deep.equal([
        [200, undefined],
        [200, 'ServiceList'],
      ]);
    });

    it('delay an answer and still meet the next fault', async () => {
      sandbox.addFault({ kind: 'latency', milliseconds: 30, times: 1 });
      sandbox.addFault({ kind: 'status', code: 503, times: 1 });
      const begin = performance.now();
      expect((await api.get(SERVICES_PATH)).status).to.equal(503);
      expect(performance.now() - begin).to.be.at.least(25);
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
