// Kubeconfigs: plug-ins, what is refused, and where one is looked for.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { KubeConfigError, loadKubeConfig } from '../../../pkg/kubernetes/kubeconfig.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { SERVER, base64, kubeconfig, useKubeConfig } from './kubeconfig-support.ts';

describe('loadKubeConfig, its limits', () => {
  const bed = useKubeConfig();
  const { load } = bed;

  describe('plug-ins', () => {
    // Counts its runs in a file and answers with what the environment told it.
    const plugin = (status: string): string =>
      bed.folder.write(
        'plugin.mjs',
        `import { appendFileSync } from 'node:fs';
         appendFileSync(${JSON.stringify(bed.folder.at('runs'))}, process.env.KUBERNETES_EXEC_INFO + '\\n');
         console.log(JSON.stringify({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', status: ${status} }));`,
      );
    const user = (path: string, extra: object = {}) => ({
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: [path], ...extra },
    });
    const runs = (): string[] => readFileSync(bed.folder.at('runs'), 'utf8').trim().split('\n');

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
    cases.push({
      name: 'a context whose name is no text',
      content: kubeconfig({ 'current-context': { toString: [] } }),
      says: 'has no context (a value of type object)',
    });
    const mistyped: readonly [field: string, parts: Parameters<typeof kubeconfig>[0]][] = [
      ['an authority', { cluster: { 'certificate-authority-data': 7 } }],
      ['the file of an authority', { cluster: { 'certificate-authority': { hunter2: 1 } } }],
      ['a proxy', { cluster: { 'proxy-url': {} } }],
      ['a server', { cluster: { server: { hunter2: 1 } } }],
      ['a certificate', { user: { 'client-certificate': ['hunter2'], 'client-key': ['hunter2'] } }],
      ['the program of a plug-in', { user: { exec: { command: { toString: 1 } } } }],
    ];
    for (const [field, parts] of mistyped) {
      it(`${field} of a wrong type, without quoting it`, async () => {
        const refused = await rejection((async () => load(kubeconfig(parts)).credentials())());
        expect(refused).to.be.instanceOf(KubeConfigError);
        expect(inspect(refused, { depth: 10 })).not.to.contain('hunter2');
      });
    }
    for (const { name, content, context, says } of cases)
      it(name, () => expect(() => load(content, context)).to.throw(KubeConfigError, says));

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
      const path = bed.folder.write('plugin.mjs', `console.log('hunter2 is my password');`);
      const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: [path] };
      const refused = await rejection(load(kubeconfig({ user: { exec } })).credentials());
      expect(refused).to.be.instanceOf(KubeConfigError);
      expect(inspect(refused, { depth: 10 }))
        .to.contain('gives no credential')
        .and.not.contain('hunter2');
    });

    it('an id-token of OpenID Connect that has expired, and says who renews it: client-node does not', async () => {
      const idToken = ['{}', '{"exp":1}', ''].map((part) => Buffer.from(part).toString('base64url')).join('.');
      const issuer = { 'idp-issuer-url': 'https://127.0.0.1:1', 'client-id': 'kubernetes' };
      const config = { 'id-token': idToken, 'refresh-token': 's3cr3t', ...issuer };
      const user = { 'auth-provider': { name: 'oidc', config } };
      const refused = await rejection(load(kubeconfig({ user })).credentials());
      expect(refused).to.be.instanceOf(KubeConfigError);
      expect(inspect(refused, { depth: 10 }))
        .to.contain('an expired id-token is renewed by kubectl')
        .and.not.contain('s3cr3t');
    });

    it('broken YAML, without quoting the token beside the fault', () => {
      bed.folder.write('config', `users:\n- name: u\n  user:\n    token: "s3cr3t\n  bad: [`);
      let thrown: unknown;
      try {
        loadKubeConfig({ kubeconfig: bed.folder.at('config') });
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
      bed.folder.write('token', 'one');
      process.env['KUBECONFIG'] = bed.folder.write('config', kubeconfig({ user: { tokenFile: 'token' } }));
      const config = loadKubeConfig({ clock: bed.clock });
      expect((await config.credentials()).headers).to.deep.equal({ authorization: 'Bearer one' });
    });

    it('take ~/.kube/config otherwise, and follow it', async () => {
      delete process.env['KUBECONFIG'];
      process.env['HOME'] = bed.folder.path;
      bed.folder.write('.kube/config', kubeconfig({ user: { token: 'one' } }));
      const config = loadKubeConfig({ clock: bed.clock });
      expect((await config.credentials()).headers).to.deep.equal({ authorization: 'Bearer one' });
      appendFileSync(bed.folder.at('.kube/config'), '\n# touched\n');
      bed.folder.write('.kube/config', kubeconfig({ user: { token: 'two' } }));
      await bed.clock.advance(5_000);
      expect((await config.credentials()).headers).to.deep.equal({ authorization: 'Bearer two' });
    });

    // Inside a Pod there is always something.
    const nothing = existsSync('/var/run/secrets/kubernetes.io/serviceaccount/token') ? undefined : it;
    nothing?.('say so when there is nothing, instead of trying localhost', () => {
      delete process.env['KUBECONFIG'];
      process.env['HOME'] = bed.folder.path;
      expect(() => loadKubeConfig()).to.throw(KubeConfigError, 'no kubeconfig and no service account found');
    });
  });
});
