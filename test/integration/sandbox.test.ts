// What the sandbox offers to tests beyond the contract: the request log, direct access, its controllers, and its speed.
import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import { list, text, type Api } from '../contract/api.ts';
import { patching, startWebhookServer, type WebhookServer } from '../contract/webhook-server.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { NAMESPACE, SERVICES_PATH, ZONES, aPod, aService, openSeededSandbox } from './sandbox-objects.ts';

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
    const slicesOf = (service: string): EndpointSlice[] =>
      sandbox
        .list<EndpointSlice>(ENDPOINT_SLICES, NAMESPACE)
        .filter(({ metadata }) => metadata?.labels?.['kubernetes.io/service-name'] === service);

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
