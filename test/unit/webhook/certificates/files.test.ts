// Certificates from mounted files: changes are taken over, half-written ones are not, and both are said.
import { symlinkSync, renameSync, rmSync, mkdirSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { openFileCertificates } from '../../../../pkg/webhook/certificates/files.ts';
import { issueAuthority, issueServerCertificate } from '../../../../pkg/webhook/certificates/issue.ts';
import { type Pem, type RefreshingCertificateSource, readPair } from '../../../../pkg/webhook/certificates/pair.ts';
import { eventually, rejection } from '../../../fixtures/eventually.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';
import { type RecordingLogger, recordingLogger } from '../../../fixtures/recording-logger.ts';
import { type TemporaryFolder, temporaryFolder } from '../../../fixtures/temporary-folder.ts';

const DAY = 86_400_000;
const START = Date.UTC(2026, 0, 1);
const authority = readPair(issueAuthority({ commonName: 'ca', now: START, lifetimeMs: 365 * DAY, randomBytes }), {
  cert: 'ca.crt',
  key: 'ca.key',
});
const pair = (now = START, lifetimeMs = 30 * DAY): Pem =>
  issueServerCertificate({ authority, commonName: 'x', names: ['x'], now, lifetimeMs, randomBytes });

describe('openFileCertificates', () => {
  let folder: TemporaryFolder;
  let clock: FakeClock;
  let logger: RecordingLogger;
  let stop: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    folder = temporaryFolder();
    clock = createFakeClock(START);
    logger = recordingLogger();
    stop = new AbortController();
    running = Promise.resolve();
  });

  afterEach(async () => {
    stop.abort();
    await running;
    expect(clock.pending, 'timers left behind').to.equal(0);
  });

  const write = ({ cert, key }: Pem): void => {
    folder.write('tls.crt', cert);
    folder.write('tls.key', key);
  };

  const open = async (): Promise<RefreshingCertificateSource> => {
    const source = await openFileCertificates({ directory: folder.path, clock, logger });
    running = source.run(stop.signal);
    await clock.settle();
    return source;
  };

  /** One look at the files. The next timer is armed once the reading, which no fake clock governs, is done. */
  const look = async (): Promise<void> => {
    expect(clock.pending).to.equal(1);
    await clock.advance(10_000);
    await eventually(() => clock.pending === 1 || 'the look at the files does not end');
  };

  const warnings = (): string[] => logger.entries.filter(({ level }) => level === 'warn').map(({ message }) => message);

  it('loads the bundle beside it', async () => {
    write(pair());
    folder.write('ca.crt', authority.cert);
    expect((await open()).current().caBundle).to.equal(authority.cert);
  });

  it('follows the symbolic link that kubelet swaps', async () => {
    const versions = [pair(), pair()];
    for (const [index, { cert, key }] of versions.entries()) {
      mkdirSync(folder.at(`..v${index}`));
      writeFileSync(join(folder.at(`..v${index}`), 'tls.crt'), cert);
      writeFileSync(join(folder.at(`..v${index}`), 'tls.key'), key);
    }
    symlinkSync('..v0', folder.at('..data'));
    symlinkSync('..data/tls.crt', folder.at('tls.crt'));
    symlinkSync('..data/tls.key', folder.at('tls.key'));
    const source = await open();
    expect(source.current()).to.include(versions[0]!);
    symlinkSync('..v1', folder.at('..data.next'));
    renameSync(folder.at('..data.next'), folder.at('..data'));
    await look();
    expect(source.current()).to.include(versions[1]!);
  });

  describe('keeps the last good pair', () => {
    const [first, next] = [pair(), pair()];
    const breakages: readonly (readonly [name: string, damage: () => void, problem: RegExp])[] = [
      [
        'when only the certificate is new yet',
        () => folder.write('tls.crt', next.cert),
        /tls\.key is not the key of the certificate in .*tls\.crt$/,
      ],
      ['when the key is empty', () => folder.write('tls.key', ''), /tls\.key is not an unencrypted PEM private key$/],
      ['when the key is gone', () => rmSync(folder.at('tls.key')), /tls\.key cannot be read \(ENOENT\)$/],
      [
        'when the bundle holds no certificate',
        () => folder.write('ca.crt', 'none'),
        /ca\.crt holds no PEM certificate$/,
      ],
      [
        'when the second certificate of the chain is half written, which OpenSSL does not serve',
        () => write({ ...next, cert: next.cert + authority.cert.slice(0, 300) }),
        /tls\.crt and .*tls\.key cannot serve TLS$/,
      ],
      [
        'when the new one has expired',
        () => write(pair(START - 20 * DAY, 10 * DAY)),
        /^the new certificate is valid from 2025-12-31T23:50:00\.000Z to 2025-12-22T00:00:00\.000Z only$/,
      ],
      [
        'when the new one is not valid yet',
        () => write(pair(START + 2 * DAY, 10 * DAY)),
        /^the new certificate is valid from 2026-01-02T23:50:00\.000Z to 2026-01-13T00:00:00\.000Z only$/,
      ],
    ];
    for (const [name, damage, problem] of breakages) {
      it(`${name}, says so once, and takes the next good one`, async () => {
        write(first);
        const source = await open();
        let changes = 0;
        source.onChange(() => (changes += 1));
        damage();
        await look();
        await look();
        expect(source.current()).to.include(first);
        expect(changes).to.equal(0);
        expect(warnings()).to.deep.equal(['certificate files cannot be used; the last valid pair stays in use']);
        expect(logger.entries[0]?.fields['error']).to.have.property('message').that.matches(problem);
        folder.write('ca.crt', authority.cert);
        write(next);
        await look();
        expect(source.current()).to.include(next);
        expect(changes).to.equal(1);
      });
    }
  });

  describe('rejects at start', () => {
    for (const [name, prepare, reason, message] of [
      ['without files', () => undefined, 'Unreadable', /tls\.crt cannot be read \(ENOENT\)$/],
      ['with rubbish', () => write({ cert: 'x', key: 'y' }), 'InvalidCertificate', /tls\.crt does not begin/],
    ] as const) {
      it(name, async () => {
        prepare();
        const error = await rejection(open());
        expect(error).to.include({ name: 'CertificateError', reason });
        expect(error).to.have.property('message').that.matches(message);
      });
    }
  });

  it('replaces an expired certificate by any other, and so by one that is not valid yet', async () => {
    write(pair(START - 20 * DAY, 10 * DAY));
    const source = await open();
    const next = pair(START + 2 * DAY);
    write(next);
    await look();
    expect(source.current()).to.include(next);
  });

  it('never writes certificates or keys to the log', async () => {
    write(pair());
    await open();
    write({ cert: pair().cert, key: pair().key });
    await look();
    write(pair());
    await look();
    const said = JSON.stringify(
      logger.entries.map(({ message, fields }) => [message, fields, String(fields['error'])]),
    );
    expect(said).not.to.match(/BEGIN/);
  });
});
