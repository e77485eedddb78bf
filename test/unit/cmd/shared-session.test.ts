import { hostname } from 'node:os';
import { expect } from 'chai';
import { afterEach, before, describe, it } from 'mocha';
import { type ControllerSession, openSession } from '../../../cmd/shared/session.ts';
import { fakeSession } from '../../fixtures/controller-session.ts';
import { createMemoryServer } from '../../fixtures/memory-client.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const { config } = fakeSession(createMemoryServer());

const kubeconfigWith = (namespace: string): string => `
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: c, user: u${namespace === '' ? '' : `, namespace: ${namespace}`}}}]
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:6443'}}]
users: [{name: u, user: {token: t}}]
`;

describe('the session of a controller', () => {
  const folder = temporaryFolder();
  let opened: ControllerSession[];
  before(() => {
    opened = [];
  });
  afterEach(async () => {
    for (const { client } of opened.splice(0)) await client.close();
  });

  const open = (
    more: Partial<Parameters<typeof openSession<typeof config>>[0]> & { namespace?: string } = {},
  ): ControllerSession => {
    const { namespace = '', ...rest } = more;
    const kubeconfig = folder.write('kubeconfig', kubeconfigWith(namespace));
    const session = openSession({ command: 'thing', config, kubeconfig, env: {}, ...rest });
    opened.push(session);
    return session;
  };

  const both = { LEADER_ELECTION_NAMESPACE: 'elected', POD_NAMESPACE: 'pod' };
  const withNamespace = { ...config, leaderElection: { ...config.leaderElection, namespace: 'configured' } };
  const namespaces: readonly (readonly [name: string, more: Parameters<typeof open>[0], namespace: string])[] = [
    ['what the configuration says', { config: withNamespace, env: both, namespace: 'context' }, 'configured'],
    ["else gardenlet's", { env: both, namespace: 'context' }, 'elected'],
    ["else the Pod's", { env: { POD_NAMESPACE: 'pod' }, namespace: 'context' }, 'pod'],
    ["else the kubeconfig's", { namespace: 'context' }, 'context'],
    ['else default', {}, 'default'],
  ];
  for (const [name, more, namespace] of namespaces)
    it(`has its Lease in ${name}`, () => expect(open(more).namespace).to.equal(namespace));

  it('is unique each time', () => {
    const [first, second] = [open().identity, open().identity];
    expect(first).to.match(new RegExp(`^${hostname()}_[0-9a-f-]{36}$`));
    expect(second).not.to.equal(first);
  });
});
