import { expect } from 'chai';
import { describe, it } from 'mocha';
import { servingCertificates } from '../../../../cmd/kubectl-topology/gather-status.ts';
import type { RegistrationEntry } from '../../../../pkg/diagnosis/status/evidence.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { createTestPki } from '../../../fixtures/pki.ts';

const entry = (service?: { namespace: string; name: string }): RegistrationEntry => ({
  configuration: 'c',
  name: 'n',
  failurePolicy: 'Ignore',
  timeoutSeconds: 5,
  slices: true,
  namespaceSelector: {},
  ...(service === undefined ? {} : { service }),
});
const WEBHOOK = { namespace: 'own', name: 'endpointslice-webhook' };
const forbidden = (): Promise<never> => Promise.reject(new ApiError({ status: 403, method: 'GET', path: '/' }));
const METRICS = [
  '# TYPE topology_aware_routing_serving_certificate_expiration_timestamp_seconds gauge',
  'topology_aware_routing_serving_certificate_expiration_timestamp_seconds 1.797e9',
  'other 1',
].join('\n');

describe('serving certificate', () => {
  const look = (client: { text?: () => Promise<string>; get?: () => Promise<object> }) => {
    const asked: string[] = [];
    const all = {
      text: (path: string) => {
        asked.push(path);
        return (client.text ?? forbidden)();
      },
      get: (_: unknown, { namespace, name }: { namespace?: string; name: string }) => {
        asked.push(`${namespace}/${name}`);
        return (client.get ?? forbidden)();
      },
    } as unknown as Client;
    return servingCertificates(all, [entry(WEBHOOK), entry(WEBHOOK), entry()], new AbortController().signal).then(
      (found) => ({ found, asked }),
    );
  };

  it('is shown by the metrics, and then no Secret is read', async () => {
    const { found, asked } = await look({ text: () => Promise.resolve(METRICS) });
    expect(asked).to.deep.equal(['/api/v1/namespaces/own/services/http:endpointslice-webhook:metrics/proxy/metrics']);
    expect(found).to.deep.equal([
      {
        namespace: 'own',
        certificate: { notAfter: 1_797_000_000_000, fingerprint: '' },
        from: 'the metrics of a Pod',
        why: '',
      },
    ]);
  });

  it('is read from tls.crt of the Secret otherwise, and nothing else of it is kept', async () => {
    const pem = createTestPki().issue('serving');
    const data = { 'tls.crt': Buffer.from(pem.cert).toString('base64'), 'tls.key': 'a key' };
    for (const text of [undefined, () => Promise.resolve('nothing of it')]) {
      const { found, asked } = await look({
        ...(text === undefined ? {} : { text }),
        get: () => Promise.resolve({ data }),
      });
      expect(asked[1]).to.equal('own/endpointslice-webhook-webhook-server');
      expect(found[0]?.from).to.equal('Secret endpointslice-webhook-webhook-server');
      expect(found[0]?.certificate?.fingerprint).to.match(/^(?:[\dA-F]{2}:){31}[\dA-F]{2}$/);
      expect(JSON.stringify(found)).not.to.contain('a key');
    }
  });

  it('or it is said why it cannot be seen', async () => {
    const { found } = await look({ get: () => Promise.resolve({}) });
    expect(found).to.deep.equal([
      {
        namespace: 'own',
        from: '',
        why: 'the metrics of a Pod (get services/proxy): not allowed; Secret endpointslice-webhook-webhook-server: no certificate there',
      },
    ]);
  });
});
