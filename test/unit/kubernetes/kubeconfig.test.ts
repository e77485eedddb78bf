// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs of every kind become credentials, and rotations are followed.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { stringify } from 'yaml';
import { KubeConfigError, loadKubeConfig } from '../../../pkg/kubernetes/kubeconfig.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../../fixtures/temporary-folder.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const SERVER = 'https://kube.test:6443';

const kubeconfig = ({
  cluster = {},
  user = {},
  context = {},
  ...rest
}: { cluster?: object; user?: object; context?: object; [key: string]: unknown } = {}): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'main',
    contexts: [{ name: 'main', context: { cluster: 'c', user: 'u', namespace: 'garden', ...context } }],
    clusters: [{ name: 'c', cluster: { server: SERVER, 'certificate-authority-data': base64('CA'), ...cluster } }],
    users: [{ name: 'u', user }],
    ...rest,
  });

describe('loadKubeConfig', () => {
  let folder: TemporaryFolder;
  let clock: FakeClock;
  beforeEach(() => {
    folder = temporaryFolder();
    clock = createFakeClock();
  });
  afterEach(() => folder.remove());

  const load = (content: string, context?: string) =>
    loadKubeConfig({
      kubeconfig: folder.write('config', content),
      clock,
      ...(context === undefined ? {} : { context }),
    });

  describe('reads', () => {
    it('server, namespace, context and authority', async () => {
      const config = load(kubeconfig({ user: { token: 't' } }));
      expect(config).to.include({ server: SERVER, namespace: 'garden', context: 'main', proxyUrl: undefined });
      const { headers, tls } = await config.credentials();
      expect(headers).to.deep.equal({ authorization: 'Bearer t' });
      expect(String(tls.ca)).to.equal('CA');
    });

    it('a server without its trailing slash', () => {
      expect(load(kubeconfig({ cluster: { server: `${SERVER}/` } })).server).to.equal(SERVER);
    });

    it('another context by name', () => {
      const contexts = [
        { name: 'main', context: { cluster: 'c', user: 'u' } },
        { name: 'other', context: { cluster: 'd', user: 'u' } },
      ];
      const clusters = [
        { name: 'c', cluster: { server: SERVER } },
        { name: 'd', cluster: { server: 'https://other.test' } },
      ];
      expect(load(kubeconfig({ contexts, clusters }), 'other').server).to.equal('https://other.test');
    });

    it('a client certificate', async () => {
      const { tls } = await load(
        kubeconfig({ user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') } }),
      ).credentials();
      expect([String(tls.cert), String(tls.key)]).to.deep.equal(['CERT', 'KEY']);
    });

    it('name and password', async () => {
      const { headers } = await load(kubeconfig({ user: { username: 'u', password: 'p' } })).credentials();
      expect(headers).to.deep.equal({ authorization: `Basic ${base64('u:p')}` });
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

    it('the authority even for a context without user', async () => {
      const config = load(kubeconfig({ context: { user: '' } }));
      const { headers, tls } = await config.credentials();
      expect(headers).to.deep.equal({});
      expect(String(tls.ca)).to.equal('CA');
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
      folder.write('pki/ca.crt', 'CA-FILE');
      folder.write('pki/tls.crt', 'CERT-FILE');
      folder.write('pki/tls.key', 'KEY-FILE');
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

  describe('token files', () => {
    for (const relative of [true, false]) {
      it(`are read (${relative ? 'relative' : 'absolute'} path) without their newline, and beat a token`, async () => {
        const path = folder.write('token', 'from-file\n');
        const config = load(kubeconfig({ user: { tokenFile: relative ? 'token' : path, token: 'static' } }));
        expect((await config.credentials()).headers).to.deep.equal({ authorization: 'Bearer from-file' });
      });
    }

    it('are read again after they changed, within five seconds', async () => {
      const path = folder.write('token', 'one');
      const config = load(kubeconfig({ user: { tokenFile: path } }));
      const token = async () => (await config.credentials()).headers['authorization'];
      expect(await token()).to.equal('Bearer one');
      folder.write('token', 'two');
      await clock.advance(4_999);
      expect(await token()).to.equal('Bearer one');
      await clock.advance(1);
      expect(await token()).to.equal('Bearer two');
    });

    it('are read at once after a refresh', async () => {
      const path = folder.write('token', 'one');
      const config = load(kubeconfig({ user: { tokenFile: path } }));
      await config.credentials();
      folder.write('token', 'two');
      config.refresh();
      expect((await config.credentials()).headers).to.deep.equal({ authorization: 'Bearer two' });
    });

    it('that are missing reject, and name the file', async () => {
      const config = load(kubeconfig({ user: { tokenFile: folder.at('absent') } }));
      expect(String(await rejection(config.credentials()))).to.match(/ENOENT.*absent/u);
    });
  });

  it('follows a client certificate and an authority that rotate', async () => {
    folder.write('ca.crt', 'CA-1');
    folder.write('tls.crt', 'CERT-1');
    folder.write('tls.key', 'KEY-1');
    const config = load(
      kubeconfig({
        cluster: { 'certificate-authority-data': undefined, 'certificate-authority': 'ca.crt' },
        user: { 'client-certificate': 'tls.crt', 'client-key': 'tls.key' },
      }),
    );
    await config.credentials();
    folder.write('ca.crt', 'CA-2');
    folder.write('tls.crt', 'CERT-2');
    folder.write('tls.key', 'KEY-2');
    await clock.advance(5_000);
    const { ca, cert, key } = (await config.credentials()).tls;
    expect([ca, cert, key].map(String)).to.deep.equal(['CA-2', 'CERT-2', 'KEY-2']);
  });

  describe('the kubeconfig itself', () => {
    it('is followed: Gardener rewrites it when an authority rotates', async () => {
      const config = load(kubeconfig({ user: { token: 't' } }));
      await config.credentials();
      folder.write(
        'config',
        kubeconfig({ user: { token: 't2' }, cluster: { 'certificate-authority-data': base64('CA-2') } }),
      );
      await clock.advance(5_000);
      const { headers, tls } = await config.credentials();
      expect(headers).to.deep.equal({ authorization: 'Bearer t2' });
      expect(String(tls.ca)).to.equal('CA-2');
    });

    it('that becomes unusable rejects, until it is usable again', async () => {
      const config = load(kubeconfig({ user: { token: 't' } }));
      folder.write('config', 'contexts: []');
      await clock.advance(5_000);
      for (const time of ['first', 'second'])
        expect(await rejection(config.credentials()), time).to.be.instanceOf(KubeConfigError);
      folder.write('config', kubeconfig({ user: { token: 't3' } }));
      await clock.advance(5_000);
      expect((await config.credentials()).headers).to.deep.equal({ authorization: 'Bearer t3' });
    });

    it('that names another server rejects: the process must start anew', async () => {
      const config = load(kubeconfig({ user: { token: 't' } }));
      folder.write('config', kubeconfig({ cluster: { server: 'https://moved.test' } }));
      await clock.advance(5_000);
      for (const time of ['first', 'second']) {
        expect(String(await rejection(config.credentials())), time).to.contain(
          `now names https://moved.test instead of ${SERVER}: restart`,
        );
      }
    });
  });

  describe('plug-ins', () => {
    // Counts its runs in a file and answers with what the environment told it.
    const plugin = (status: string): string =>
      folder.write(
        'plugin.mjs',
        `import { appendFileSync } from 'node:fs';
         appendFileSync(${JSON.stringify(folder.at('runs'))}, process.env.KUBERNETES_EXEC_INFO + '\\n');
         console.log(JSON.stringify({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', status: ${status} }));`,
      );
    const user = (path: string, extra: object = {}) => ({
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: [path], ...extra },
    });
    const runs = (): string[] => readFileSync(folder.at('runs'), 'utf8').trim().split('\n');

    it('run once for many callers at one time, and not again while their token is good', async () => {
      const config = load(kubeconfig({ user: user(plugin(`{ token: 'from-plugin' }`)) }));
      const all = await Promise.all(Array.from({ length: 20 }, () => config.credentials()));
      expect(all.map(({ headers }) => headers['authorization'])).to.deep.equal(
        Array.from({ length: 20 }, () => 'Bearer from-plugin'),
      );
      await config.credentials();
      expect(runs()).to.have.length(1);
    });

    it('run again when their token was refused', async () => {
      const config = load(kubeconfig({ user: user(plugin(`{ token: 'from-plugin' }`)) }));
      await config.credentials();
      config.refresh();
      await config.credentials();
      await config.credentials();
      expect(runs()).to.have.length(2);
    });

    it('run again when their token has expired', async () => {
      const config = load(
        kubeconfig({ user: user(plugin(`{ token: 't', expirationTimestamp: '2020-01-01T00:00:00Z' }`)) }),
      );
      await config.credentials();
      await config.credentials();
      expect(runs()).to.have.length(2);
    });

    it('may answer with a client certificate', async () => {
      const { tls } = await load(
        kubeconfig({ user: user(plugin(`{ clientCertificateData: 'CERT', clientKeyData: 'KEY' }`)) }),
      ).credentials();
      expect(tls).to.include({ cert: 'CERT', key: 'KEY' });
    });

    it('get the cluster when they ask for it, with its own configuration, as kubectl does', async () => {
      const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { shootRef: { name: 's' } } }];
      const config = load(
        kubeconfig({ cluster: { extensions }, user: user(plugin(`{ token: 't' }`), { provideClusterInfo: true }) }),
      );
      await config.credentials();
      expect(JSON.parse(runs()[0] ?? '')).to.deep.equal({
        kind: 'ExecCredential',
        apiVersion: 'client.authentication.k8s.io/v1',
        spec: {
          interactive: false,
          cluster: { server: SERVER, 'certificate-authority-data': base64('CA'), config: { shootRef: { name: 's' } } },
        },
      });
    });

    it('do not get the cluster otherwise', async () => {
      await load(kubeconfig({ user: user(plugin(`{ token: 't' }`)) })).credentials();
      expect(JSON.parse(runs()[0] ?? '')).to.have.deep.property('spec', { interactive: false });
    });

    it('that fail reject with what they said', async () => {
      const path = folder.write('plugin.mjs', `console.error('log in first'); process.exit(1);`);
      expect(String(await rejection(load(kubeconfig({ user: user(path) })).credentials()))).to.contain('log in first');
    });
  });

  describe('refuses', () => {
    const cases: Array<{ name: string; content: string; context?: string; says: string }> = [
      {
        name: 'an unknown context',
        content: kubeconfig(),
        context: 'other',
        says: 'has no context "other"; it has "main"',
      },
      { name: 'an empty file', content: 'apiVersion: v1', says: 'has no context ""; it has none' },
      {
        name: 'a missing cluster',
        content: kubeconfig({ clusters: [] }),
        says: 'context "main" names cluster "c", which does not exist',
      },
      {
        name: 'a missing user',
        content: kubeconfig({ users: [] }),
        says: 'context "main" names user "u", which does not exist',
      },
      {
        name: 'a server that is no URL',
        content: kubeconfig({ cluster: { server: 'kube.test' } }),
        says: 'server "kube.test" is not an https URL',
      },
      {
        name: 'plain http by mistake',
        content: kubeconfig({ cluster: { server: 'http://kube.test' } }),
        says: 'needs insecure-skip-tls-verify for plain http',
      },
      {
        name: 'a SOCKS proxy',
        content: kubeconfig({ cluster: { 'proxy-url': 'socks5://p' } }),
        says: 'proxy-url must begin with http:// or https://',
      },
    ];
    const mistyped: readonly [says: string, parts: Parameters<typeof kubeconfig>[0]][] = [
      ['context "main": context.namespace is not a string', { context: { namespace: ['garden'] } }],
      ['cluster.certificate-authority-data is not a string', { cluster: { 'certificate-authority-data': 7 } }],
      ['cluster.proxy-url is not a string', { cluster: { 'proxy-url': {} } }],
      ['user.token is not a string', { user: { token: { hunter2: true } } }],
      ['user.as is not a string', { user: { as: ['root'] } }],
      ['user.exec is not an object', { user: { exec: 'rm -rf' } }],
      ['user.exec.command is not the name of a program', { user: { exec: { command: { toString: 1 } } } }],
      ['user.exec.args is not a list of strings', { user: { exec: { command: 'x', args: [1] } } }],
      ['user.exec.env is not a list of names and values', { user: { exec: { command: 'x', env: [{ name: 'A' }] } } }],
      ['user.auth-provider is not an object', { user: { 'auth-provider': 'oidc' } }],
      ['has no context (a value of type object)', { 'current-context': { toString: [] } }],
    ];
    for (const [says, parts] of mistyped) cases.push({ name: says, content: kubeconfig(parts), says });
    for (const { name, content, context, says } of cases) {
      it(name, () => expect(() => load(content, context)).to.throw(KubeConfigError, says));
    }

    it('a file that is not there, and names it', () => {
      expect(() => loadKubeConfig({ kubeconfig: folder.at('absent') })).to.throw(
        KubeConfigError,
        /cannot load .*absent: ENOENT/u,
      );
    });

    it('aliases that multiply beyond reason', () => {
      const again = Array.from({ length: 200 }, () => '*c').join(', ');
      const cluster = `&c {name: c, cluster: {server: '${SERVER}'}}`;
      const content = `current-context: main\ncontexts: [{name: main, context: {cluster: c}}]\nclusters: [${cluster}, ${again}]\n`;
      expect(() => load(content)).to.throw(KubeConfigError, /cannot load .*: Excessive alias count/u);
    });

    it('a name as long as a book, in a line', () => {
      const content = kubeconfig({ 'current-context': 'x'.repeat(70_000) });
      expect(() => load(content)).to.throw(KubeConfigError, /^.{1,400}$/u);
    });

    it('what a plug-in prints where it is no credential, without quoting it', async () => {
      const path = folder.write('plugin.mjs', `console.log('hunter2 is my password');`);
      const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: [path] };
      const refused = await rejection(load(kubeconfig({ user: { exec } })).credentials());
      expect(refused).to.be.instanceOf(KubeConfigError);
      expect(inspect(refused, { depth: 10 }))
        .to.contain('gives no credential')
        .and.not.contain('hunter2');
    });

    it('broken YAML, without quoting the token beside the fault', () => {
      folder.write('config', `users:\n- name: u\n  user:\n    token: "s3cr3t\n  bad: [`);
      let thrown: unknown;
      try {
        loadKubeConfig({ kubeconfig: folder.at('config') });
      } catch (error) {
        thrown = error;
      }
      expect(thrown).to.be.instanceOf(KubeConfigError);
      expect(inspect(thrown, { depth: 10 })).not.to.contain('s3cr3t');
    });
  });

  describe('default rules', () => {
    const saved = { ...process.env };
    afterEach(() => {
      for (const name of ['KUBECONFIG', 'HOME']) {
        if (saved[name] === undefined) delete process.env[name];
        else process.env[name] = saved[name];
      }
    });

    it('take $KUBECONFIG', async () => {
      folder.write('token', 'one');
      process.env['KUBECONFIG'] = folder.write('config', kubeconfig({ user: { tokenFile: 'token' } }));
      const config = loadKubeConfig({ clock });
      expect((await config.credentials()).headers).to.deep.equal({ authorization: 'Bearer one' });
    });

    it('take ~/.kube/config otherwise, and follow it', async () => {
      delete process.env['KUBECONFIG'];
      process.env['HOME'] = folder.path;
      folder.write('.kube/config', kubeconfig({ user: { token: 'one' } }));
      const config = loadKubeConfig({ clock });
      expect((await config.credentials()).headers).to.deep.equal({ authorization: 'Bearer one' });
      appendFileSync(folder.at('.kube/config'), '\n# touched\n');
      folder.write('.kube/config', kubeconfig({ user: { token: 'two' } }));
      await clock.advance(5_000);
      expect((await config.credentials()).headers).to.deep.equal({ authorization: 'Bearer two' });
    });

    // Inside a Pod there is always something.
    const nothing = existsSync('/var/run/secrets/kubernetes.io/serviceaccount/token') ? undefined : it;
    nothing?.('say so when there is nothing, instead of trying localhost', () => {
      delete process.env['KUBECONFIG'];
      process.env['HOME'] = folder.path;
      expect(() => loadKubeConfig()).to.throw(KubeConfigError, 'no kubeconfig and no service account found');
    });
  });
});
