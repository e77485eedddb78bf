// Runs the contract of an API server against the real one; the integration tests run the same against the sandbox.
import { readFileSync } from 'node:fs';
import { before, describe } from 'mocha';
import { describeContract } from '../../contract/suite.ts';
import { grant, serverUrl } from '../bed/access.ts';
import { expireOldVersions } from '../bed/control-plane.ts';
import { type Bed, useBed } from '../bed/index.ts';

const namespace = 'default';
const name = 'contract';
const user = `system:serviceaccount:${namespace}:${name}`;

/**
 * A service account with a token. Not a client certificate: the server asks for that before it looks at any token, so
 * a test could not be an unknown user.
 */
const tokenKubeconfig = async ({ api, pki }: Bed): Promise<string> => {
  await api.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  await grant(api, 'cluster-admin', { kind: 'ServiceAccount', name, namespace });
  const { status } = await api.create<{ status: { token: string } }>(
    `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    { spec: { expirationSeconds: 3600 } },
  );
  const authority = readFileSync(pki.authority.certificate).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: serverUrl, 'certificate-authority-data': authority } }],
    users: [{ name, user: { token: status.token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
};

describe('the real API server keeps the contract', () => {
  const bed = useBed();
  let kubeconfig: string;
  let minor: number;

  before(async () => {
    kubeconfig = await tokenKubeconfig(bed());
    minor = Number((await bed().api.get<{ minor: string }>('/version')).minor);
  });
  describeContract(
    () => ({ kubeconfig, user, minor }),
    () => expireOldVersions(bed()),
  );
});
