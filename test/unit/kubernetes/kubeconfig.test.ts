// Kubeconfigs of every kind become credentials, and rotations are followed.
import { rmSync, statSync, symlinkSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { expect } from 'chai';
import { describe, it, beforeEach } from 'mocha';
import { defined } from '../../../pkg/apis/values.ts';
import { KubeConfigError } from '../../../pkg/kubernetes/kubeconfig.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { SERVER, base64, kubeconfig, useKubeConfig } from './kubeconfig-support.ts';
import { createFileSource, inClusterSource } from '../../../pkg/kubernetes/credentials.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { type TemporaryFolder, temporaryFolder } from '../../fixtures/temporary-folder.ts';

describe('loadKubeConfig', () => {
  const bed = useKubeConfig();
  const { load } = bed;

  describe('reads', () => {
    it('server, namespace and authority', async () => {
      const config = load(kubeconfig({ user: { token: 't' } }));
      expect(config).to.include({ server: SERVER, namespace: 'garden', proxyUrl: undefined });
      const { headers, tls } = await config.credentials();
      expect(headers).to.deep.equal({ authorization: 'Bearer t' });
      expect(String(tls.ca)).to.equal('CA');
    });

    it('a server without its trailing slash', () => {
      expect(load(kubeconfig({ cluster: { server: `${SERVER}/` } })).server).to.equal(SERVER);
    });

    it('server name, insecure and proxy', async () => {
      const config = load(
        kubeconfig({
          cluster: {
            'tls-server-name': 'kubernetes',
            'insecure-skip-tls-verify': true,
            'proxy-url': 'http://proxy.test:3128',
          },
        }),
      );
      expect((await config.credentials()).tls).to.include({ servername: 'kubernetes', rejectUnauthorized: false });
      expect(config.proxyUrl).to.equal('http://proxy.test:3128');
    });

    it('impersonation with groups, uid and extras', async () => {
      const user = {
        token: 't',
        as: 'jane',
        'as-uid': '42',
        'as-groups': ['dev', 'ops'],
        'as-user-extra': { 'Scopes.example/x': ['a', 'b'] },
      };
      expect((await load(kubeconfig({ user })).credentials()).headers).to.deep.equal({
        authorization: 'Bearer t',
        'impersonate-user': 'jane',
        'impersonate-uid': '42',
        'impersonate-group': ['dev', 'ops'],
        'impersonate-extra-scopes.example%2Fx': ['a', 'b'],
      });
    });

    it('files relative to the kubeconfig', async () => {
      bed.folder.write('pki/ca.crt', 'CA-FILE');
      bed.folder.write('pki/tls.crt', 'CERT-FILE');
      bed.folder.write('pki/tls.key', 'KEY-FILE');
      const config = load(
        kubeconfig({
          cluster: { 'certificate-authority-data': undefined, 'certificate-authority': 'pki/ca.crt' },
          user: { 'client-certificate': 'pki/tls.crt', 'client-key': 'pki/tls.key' },
        }),
      );
      const { ca, cert, key } = (await config.credentials()).tls;
      expect([ca, cert, key].map(String)).to.deep.equal(['CA-FILE', 'CERT-FILE', 'KEY-FILE']);
    });
  });

  describe('gives what client-node gives', () => {
    const jwt = (claims: object): string =>
      [{ alg: 'none' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.') + '.x';
    const certificate = { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') };
    const basic = { username: 'me', password: 'secret' };
    const oidc = { name: 'oidc', config: { 'id-token': jwt({ exp: 4_102_444_800 }) } };
    const rows: readonly (readonly [name: string, user: object, cluster?: object])[] = [
      ['nothing', {}],
      ['a token', { token: 'static' }],
      ['an empty token', { token: '' }],
      ['a name and password', basic],
      ['a token, a name and password', { token: 'static', ...basic }],
      ['a client certificate', certificate],
      ['a client certificate, a token, a name and password', { ...certificate, ...basic, token: 'static' }],
      ['OpenID Connect whose token is good', { 'auth-provider': oidc }],
      ['OpenID Connect and a token', { 'auth-provider': oidc, token: 'static' }],
      ['a server name, unchecked', { token: 'static' }, { 'tls-server-name': 'api', 'insecure-skip-tls-verify': true }],
      ['no authority', { token: 'static' }, { 'certificate-authority-data': '' }],
    ];
    for (const [name, user, cluster = {}] of rows) {
      it(`for ${name}`, async () => {
        const content = kubeconfig({ user, cluster });
        const theirs = new KubeConfig();
        theirs.loadFromString(content);
        const request: RequestOptions = {};
        await theirs.applyToHTTPSOptions(request);
        const { headers, auth, ca, cert, key, servername, rejectUnauthorized } = request;
        const bearer = (headers as Record<string, string> | undefined)?.['Authorization'];
        const authorization = typeof auth === 'string' ? `Basic ${Buffer.from(auth).toString('base64')}` : bearer;
        expect(await load(content).credentials()).to.deep.equal({
          headers: defined({ authorization }),
          tls: defined({ ca, cert, key, servername, rejectUnauthorized }),
        });
      });
    }
  });

  describe('token files', () => {
    for (const relative of [true, false]) {
      it(`are read (${relative ? 'relative' : 'absolute'} path) without their newline, and beat a token`, async () => {
        const path = bed.folder.write('token', 'from-file\n');
        const config = load(kubeconfig({ user: { tokenFile: relative ? 'token' : path, token: 'static' } }));
        expect((await config.credentials()).headers).to.deep.equal({ authorization: 'Bearer from-file' });
      });
    }

    it('are read again after they changed, within five seconds', async () => {
      const path = bed.folder.write('token', 'one');
      const config = load(kubeconfig({ user: { tokenFile: path } }));
      const token = async () => (await config.credentials()).headers['authorization'];
      expect(await token()).to.equal('Bearer one');
      bed.folder.write('token', 'two');
      await bed.clock.advance(4_999);
      expect(await token()).to.equal('Bearer one');
      await bed.clock.advance(1);
      expect(await token()).to.equal('Bearer two');
    });
  });

  it('follows a client certificate and an authority that rotate', async () => {
    bed.folder.write('ca.crt', 'CA-1');
    bed.folder.write('tls.crt', 'CERT-1');
    bed.folder.write('tls.key', 'KEY-1');
    const config = load(
      kubeconfig({
        cluster: { 'certificate-authority-data': undefined, 'certificate-authority': 'ca.crt' },
        user: { 'client-certificate': 'tls.crt', 'client-key': 'tls.key' },
      }),
    );
    await config.credentials();
    bed.folder.write('ca.crt', 'CA-2');
    bed.folder.write('tls.crt', 'CERT-2');
    bed.folder.write('tls.key', 'KEY-2');
    await bed.clock.advance(5_000);
    const { ca, cert, key } = (await config.credentials()).tls;
    expect([ca, cert, key].map(String)).to.deep.equal(['CA-2', 'CERT-2', 'KEY-2']);
  });

  describe('the kubeconfig itself', () => {
    it('is followed: Gardener rewrites it when an authority rotates', async () => {
      const config = load(kubeconfig({ user: { token: 't' } }));
      await config.credentials();
      bed.folder.write(
        'config',
        kubeconfig({ user: { token: 't2' }, cluster: { 'certificate-authority-data': base64('CA-2') } }),
      );
      await bed.clock.advance(5_000);
      const { headers, tls } = await config.credentials();
      expect(headers).to.deep.equal({ authorization: 'Bearer t2' });
      expect(String(tls.ca)).to.equal('CA-2');
    });

    it('that becomes unusable rejects, until it is usable again', async () => {
      const config = load(kubeconfig({ user: { token: 't' } }));
      bed.folder.write('config', 'contexts: []');
      await bed.clock.advance(5_000);
      for (const time of ['first', 'second'])
        expect(await rejection(config.credentials()), time).to.be.instanceOf(KubeConfigError);
      bed.folder.write('config', kubeconfig({ user: { token: 't3' } }));
      await bed.clock.advance(5_000);
      expect((await config.credentials()).headers).to.deep.equal({ authorization: 'Bearer t3' });
    });

    it('that names another server rejects: the process must start anew', async () => {
      const config = load(kubeconfig({ user: { token: 't' } }));
      bed.folder.write('config', kubeconfig({ cluster: { server: 'https://moved.test' } }));
      await bed.clock.advance(5_000);
      for (const time of ['first', 'second']) {
        expect(String(await rejection(config.credentials())), time).to.contain(
          `now names https://moved.test instead of ${SERVER}: restart`,
        );
      }
    });
  });
});

describe("a Pod's service account as a source of credentials", () => {
  const folder = temporaryFolder();
  folder.write('account/token', 'first\n');
  folder.write('account/ca.crt', 'PEM');
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

describe('createFileSource', () => {
  let folder: TemporaryFolder;
  let clock: FakeClock;
  beforeEach(() => {
    folder = temporaryFolder();
    clock = createFakeClock();
  });

  it('returns the same buffer until the file changes', async () => {
    const source = createFileSource(folder.write('token', 'one'), clock, 5_000);
    const first = source.read();
    await clock.advance(60_000);
    expect(source.read()).to.equal(first);
    expect(first.toString()).to.equal('one');
  });

  it('notices a change that kept size and modification time', () => {
    const path = folder.write('token', 'one');
    const source = createFileSource(path, clock, 0);
    source.read();
    const { atime, mtime } = statSync(path);
    folder.write('token', 'two');
    utimesSync(path, atime, mtime);
    expect(source.read().toString()).to.equal('two');
  });

  it('notices a symbolic link that was swapped, as kubelet does it', () => {
    folder.write('v1/token', 'one');
    folder.write('v2/token', 'two');
    symlinkSync('v1', folder.at('..data'));
    symlinkSync('..data/token', folder.at('token'));
    const source = createFileSource(folder.at('token'), clock, 0);
    expect(source.read().toString()).to.equal('one');
    symlinkSync('v2', folder.at('..data_tmp'));
    renameSync(folder.at('..data_tmp'), folder.at('..data'));
    expect(source.read().toString()).to.equal('two');
  });

  it('keeps the last content while the file is missing, and takes the new one', () => {
    const path = folder.write('token', 'one');
    const source = createFileSource(path, clock, 0);
    source.read();
    rmSync(path);
    expect(source.read().toString()).to.equal('one');
    writeFileSync(path, 'two');
    expect(source.read().toString()).to.equal('two');
  });

  it('throws when the file was never there', () => {
    expect(() => createFileSource(folder.at('absent'), clock, 0).read()).to.throw(/ENOENT.*absent/u);
  });
});
