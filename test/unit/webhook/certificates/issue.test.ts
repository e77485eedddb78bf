// Issued certificates, checked by node:crypto, by a real TLS handshake, and by OpenSSL's strictest mode where it is installed.
import { execFileSync, spawnSync } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  ipBytes,
  issueAuthority,
  issueServerCertificate,
  readElements,
} from '../../../../pkg/webhook/certificates/issue.ts';
import { type Pair, type Pem, readPair } from '../../../../pkg/webhook/certificates/pair.ts';
import { createRandomBytes } from '../../../fixtures/random-bytes.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';

const DAY = 86_400_000;
const origin = { cert: 'tls.crt', key: 'tls.key' };
const now = Math.floor(Date.now() / 1_000) * 1_000;
const randomBytes = createRandomBytes();

const authorityPair = (at = now): Pair =>
  readPair(issueAuthority({ commonName: 'ca-test-webhook', now: at, lifetimeMs: 30 * DAY, randomBytes }), origin);

const serverFor = (authority: Pair, names: readonly string[], lifetimeMs = 30 * DAY): Pem =>
  issueServerCertificate({ authority, commonName: 'test', names, now, lifetimeMs, randomBytes });

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

describe('issueServerCertificate', () => {
  const authority = authorityPair();
  const names = ['webhook.garden.svc', 'webhook', '*.example.org', '127.0.0.1', 'fd00::1'];
  const server = readPair(serverFor(authority, names), origin);

  it('covers its names and no other', () => {
    const { certificate } = server;
    for (const name of ['webhook.garden.svc', 'webhook', 'a.example.org'])
      expect(certificate.checkHost(name, { subject: 'never' }), name).not.to.equal(undefined);
    for (const name of ['garden.svc', 'other.garden.svc', 'a.b.example.org', 'test'])
      expect(certificate.checkHost(name, { subject: 'never' }), name).to.equal(undefined);
    expect(certificate.checkIP('127.0.0.1')).to.equal('127.0.0.1');
    expect(certificate.checkIP('fd00::1')).to.equal('fd00::1');
    expect(certificate.checkIP('127.0.0.2')).to.equal(undefined);
  });

  it('never outlives its authority and is never older', () => {
    const long = readPair(serverFor(authority, ['a'], 365 * DAY), origin);
    expect(long.notAfter).to.equal(authority.notAfter);
    const short = readPair(serverFor(authority, ['a'], DAY), origin);
    expect(short.notAfter).to.equal(now + DAY);
    expect(short.notBefore).to.equal(authority.notBefore);
  });

  for (const [name, list, message] of [
    ['no name', [], /needs at least one name/],
    ['an empty name', [''], /not a DNS name or IP address: ""/],
    ['a name with a space', ['a b'], /not a DNS name or IP address: "a b"/],
    ['a name with a zero byte', ['a\0b'], /not a DNS name or IP address/],
    ['a name beyond ASCII', ['bücher.example'], /not a DNS name or IP address/],
    ['a URL', ['https://a'], /not a DNS name or IP address/],
  ] as const)
    it(`refuses ${name}`, () => expect(() => serverFor(authority, list)).to.throw(RangeError, message));

  it('is accepted in a TLS handshake that trusts the authority, also beside another one of the same name', async () => {
    const other = authorityPair();
    const tls = createServer({ cert: server.cert, key: server.key }, (socket) => socket.end());
    await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve));
    const { port } = tls.address() as AddressInfo;
    const shake = (ca: string, servername: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect({ port, host: '127.0.0.1', ca, servername }, () => {
          socket.end();
          resolve('accepted');
        });
        socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      });
    try {
      expect(await shake(authority.cert, 'webhook.garden.svc')).to.equal('accepted');
      expect(await shake(other.cert + authority.cert, 'webhook.garden.svc')).to.equal('accepted');
      expect(await shake(authority.cert + other.cert, 'webhook.garden.svc')).to.equal('accepted');
      expect(await shake(other.cert, 'webhook.garden.svc')).not.to.equal('accepted');
      expect(await shake(authority.cert, 'elsewhere.svc')).to.equal('ERR_TLS_CERT_ALTNAME_INVALID');
    } finally {
      await new Promise((resolve) => tls.close(resolve));
    }
  });

  describe('under the openssl command', () => {
    const folder = temporaryFolder();
    folder.write('other.crt', authorityPair().cert);
    folder.write('ca.crt', authority.cert);
    folder.write('bundle.crt', authorityPair().cert + authority.cert);
    const certificate = folder.write('tls.crt', server.cert);

    const verify = (ca: string, ...more: string[]): { status: number | null; output: string } => {
      const args = ['verify', '-x509_strict', '-purpose', 'sslserver', '-no-CApath', ...more, '-CAfile', folder.at(ca)];
      const { status, stdout, stderr } = spawnSync('openssl', [...args, certificate], { encoding: 'utf8' });
      return { status, output: stdout + stderr };
    };

    // Without the command the same certificates are still checked by the tests above.
    if (!hasOpenssl) return;

    it('is valid for a server in strict mode', () => {
      expect(verify('ca.crt', '-verify_hostname', 'webhook.garden.svc', '-verify_ip', '127.0.0.1')).to.include({
        status: 0,
      });
    });

    it('is encoded as DER demands: reading and writing again gives the same bytes', () => {
      const der = execFileSync('openssl', ['x509', '-in', certificate, '-outform', 'DER']);
      expect(der.equals(server.certificate.raw)).to.equal(true);
      const text = execFileSync('openssl', ['x509', '-in', certificate, '-noout', '-text'], {
        encoding: 'utf8',
      });
      expect(text)
        .to.match(/Version: 3/)
        .and.to.match(/X509v3 Basic Constraints: critical\s+CA:FALSE/);
      expect(text).to.match(/X509v3 Key Usage: critical\s+Digital Signature\n/);
    });
  });
});

describe('readPair', () => {
  const authority = authorityPair();
  const good = serverFor(authority, ['a']);
  const at = { cert: '/certs/tls.crt', key: '/certs/tls.key' };

  for (const [name, pem, reason, message] of [
    [
      'half a certificate',
      { ...good, cert: good.cert.slice(0, 200) },
      'InvalidCertificate',
      '/certs/tls.crt does not begin with a PEM certificate',
    ],
    ['an empty key', { ...good, key: '' }, 'InvalidKey', '/certs/tls.key is not an unencrypted PEM private key'],
    [
      'a foreign key',
      { ...good, key: authority.key },
      'KeyMismatch',
      '/certs/tls.key is not the key of the certificate in /certs/tls.crt',
    ],
  ] as const) {
    it(`refuses ${name}`, () => {
      expect(() => readPair(pem, at))
        .to.throw(message)
        .that.includes({ name: 'CertificateError', reason });
    });
  }
});

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

describe('ipBytes', () => {
  for (const [address, hex] of [
    ['127.0.0.1', '7f000001'],
    ['255.255.255.255', 'ffffffff'],
    ['::', '00000000000000000000000000000000'],
    ['::1', '00000000000000000000000000000001'],
    ['1::', '00010000000000000000000000000000'],
    ['fe80::1:2', 'fe800000000000000000000000010002'],
    ['2001:DB8:0:0:8:800:200C:417A', '20010db80000000000080800200c417a'],
    ['::ffff:10.0.0.1', '00000000000000000000ffff0a000001'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
  ] as const)
    it(`reads ${address}`, () => expect(ipBytes(address).toString('hex')).to.equal(hex));

  for (const address of ['', 'localhost', '1.2.3', '1.2.3.256', '::1::', 'fe80::1%eth0']) {
    it(`refuses ${JSON.stringify(address)}`, () => {
      expect(() => ipBytes(address)).to.throw(RangeError, `not an IP address: ${address}`);
    });
  }
});

describe('readElements', () => {
  for (const [name, hex] of [
    ['a tag alone', '30'],
    ['a value that is cut off', '04 05 01'],
    ['a length that is cut off', '04 82 01'],
    ['a length of more than four bytes', '04 85 01 01 01 01 01'],
    ['rubbish after a value', '01 01 ff 04'],
  ] as const)
    it(`refuses ${name}`, () => expect(() => readElements(bytes(hex))).to.throw(RangeError, /^DER/));
});
