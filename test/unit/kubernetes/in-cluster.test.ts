import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { inClusterSource } from '../../../pkg/kubernetes/credentials.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

describe("a Pod's service account as a source of credentials", () => {
  const folder = temporaryFolder();
  folder.write('account/token', 'first\n');
  folder.write('account/ca.crt', 'PEM');
  after(() => folder.remove());
  const clock = createFakeClock();
  const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };
  const account = folder.at('account');

  it('is the API server of the environment with the token and authority that the kubelet mounted', async () => {
    const source = inClusterSource({ env, clock, folder: account });
    expect(source).to.include({ server: 'https://10.96.0.1:443', proxyUrl: undefined });
    expect(await source?.credentials()).to.deep.equal({
      headers: { authorization: 'Bearer first' },
      tls: { ca: Buffer.from('PEM') },
    });
  });

  it('follows a token that the kubelet renews: after five seconds, and at once where the server refused the old one', async () => {
    const source = inClusterSource({ env, clock, folder: account });
    const token = async (): Promise<unknown> => (await source?.credentials())?.headers['authorization'];
    expect(await token()).to.equal('Bearer first');
    folder.write('account/token', 'renewed');
    expect(await token()).to.equal('Bearer first');
    source?.refresh();
    expect(await token()).to.equal('Bearer renewed');
    folder.write('account/token', 'renewed again');
    await clock.advance(5_000);
    expect(await token()).to.equal('Bearer renewed again');
  });

  it('writes an IPv6 address as URLs do', () => {
    const source = inClusterSource({ env: { ...env, KUBERNETES_SERVICE_HOST: 'fd00::1' }, clock, folder: account });
    expect(source?.server).to.equal('https://[fd00::1]:443');
  });

  const others: readonly (readonly [string, NodeJS.ProcessEnv, string])[] = [
    ['outside of a Pod', {}, account],
    ['in a Pod without an account', env, folder.at('nothing')],
    ['where the environment names a kubeconfig', { ...env, KUBECONFIG: '/etc/kubeconfig' }, account],
  ];
  for (const [name, given, from] of others) {
    it(`is none ${name}`, () => {
      expect(inClusterSource({ env: given, clock, folder: from })).to.equal(undefined);
    });
  }

  it('rejects where the authority cannot be read', async () => {
    folder.write('broken/token', 'token');
    const source = inClusterSource({ env, clock, folder: folder.at('broken') });
    const error = await source?.credentials().catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(Error).with.property('code', 'ENOENT');
  });
});
