// Kubeconfigs of every kind become credentials, and rotations are followed.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { KubeConfigError } from '../../../pkg/kubernetes/kubeconfig.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { SERVER, base64, kubeconfig, useKubeConfig } from './kubeconfig-support.ts';

describe('loadKubeConfig', () => {
  const bed = useKubeConfig();
  const { load } = bed;

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

    it('a client certificate', async () => {
      const { tls } = await load(
        kubeconfig({ user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') } }),
      ).credentials();
      expect([String(tls.cert), String(tls.key)]).to.deep.equal(['CERT', 'KEY']);
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

    it('are read at once after a refresh', async () => {
      const path = bed.folder.write('token', 'one');
      const config = load(kubeconfig({ user: { tokenFile: path } }));
      await config.credentials();
      bed.folder.write('token', 'two');
      config.refresh();
      expect((await config.credentials()).headers).to.deep.equal({ authorization: 'Bearer two' });
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
