// Certificates in Secrets: made once, shared by replicas, rotated without a gap, and healed when somebody broke them.
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { SECRETS } from '../../../../pkg/apis/resources.ts';
import { certificateCheck } from '../../../../pkg/webhook/certificates/files.ts';
import { type RefreshingCertificateSource, splitBundle } from '../../../../pkg/webhook/certificates/pair.ts';
import { DEFAULT_POLICY } from '../../../../pkg/webhook/certificates/rotation.ts';
import { openSecretCertificates, serviceNames } from '../../../../pkg/webhook/certificates/secrets.ts';
import type { Secret, SecretCertificatesOptions } from '../../../../pkg/webhook/certificates/secrets.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';
import { type Before, type MemoryServer, createMemoryServer } from '../../../fixtures/memory-client.ts';
import { createRandomBytes } from '../../../fixtures/random-bytes.ts';
import { type RecordingLogger, recordingLogger } from '../../../fixtures/recording-logger.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const MINUTE = 60_000;
const namespace = 'extension-topology';
const AUTHORITY = { namespace, name: 'ca-topology-webhook' };
const SERVER = { namespace, name: 'topology-webhook-server' };

describe('openSecretCertificates', () => {
  let clock: FakeClock;
  let server: MemoryServer;
  let logger: RecordingLogger;
  let stop: AbortController;
  let running: Promise<void>[];

  beforeEach(() => {
    clock = createFakeClock();
    server = createMemoryServer();
    logger = recordingLogger();
    stop = new AbortController();
    running = [];
  });

  afterEach(async () => {
    stop.abort();
    await Promise.all(running);
    expect(clock.pending, 'timers left behind').to.equal(0);
  });

  const open = async (
    before?: Before,
    options: Partial<SecretCertificatesOptions> = {},
  ): Promise<RefreshingCertificateSource> => {
    const source = await openSecretCertificates({
      client: server.client(before),
      namespace,
      name: 'topology',
      names: serviceNames('webhook', namespace),
      clock,
      randomBytes: createRandomBytes(),
      logger,
      ...options,
    });
    running.push(source.run(stop.signal));
    return source;
  };

  const field = (ref: typeof AUTHORITY, name: string): string =>
    Buffer.from(server.read<Secret>(SECRETS, ref)?.data?.[name] ?? '', 'base64').toString('utf8');

  /** True if the certificate in use is signed by one of the authorities that callers are told to trust. */
  const trusted = (source: RefreshingCertificateSource): boolean => {
    const { cert, caBundle = '' } = source.current();
    const leaf = new X509Certificate(cert);
    return splitBundle(caBundle).some((pem) => leaf.verify(new X509Certificate(pem).publicKey));
  };

  it('creates both Secrets and serves what they hold', async () => {
    const source = await open();
    expect(server.all<Secret>(SECRETS).map(({ metadata, type }) => [metadata?.name, type])).to.deep.equal([
      ['ca-topology-webhook', 'Opaque'],
      ['topology-webhook-server', 'kubernetes.io/tls'],
    ]);
    const { cert, key, caBundle } = source.current();
    expect(cert).to.equal(field(SERVER, 'tls.crt'));
    expect(key).to.equal(field(SERVER, 'tls.key'));
    expect(caBundle).to.equal(field(AUTHORITY, 'ca.crt'));
    expect(field(AUTHORITY, 'bundle.crt')).to.equal(caBundle);
    expect(trusted(source)).to.equal(true);
    expect(source.notAfter).to.equal(clock.now() + 30 * DAY);
    const leaf = new X509Certificate(cert);
    for (const name of [
      'webhook',
      `webhook.${namespace}`,
      `webhook.${namespace}.svc`,
      `webhook.${namespace}.svc.cluster.local`,
    ])
      expect(leaf.checkHost(name, { subject: 'never' }), name).to.equal(name);
  });

  it('gives two replicas that start in the same moment the same certificates', async () => {
    for (let round = 0; round < 5; round += 1) {
      server = createMemoryServer();
      const [one, two, three] = await Promise.all([open(), open(), open()]);
      expect(one.current()).to.deep.equal(two.current());
      expect(one.current()).to.deep.equal(three.current());
      expect(trusted(one)).to.equal(true);
    }
  });

  it('replaces what a replica whose clock is ahead has issued, and takes that replica along', async () => {
    // Runs on timers of the same clock, and reads it six hours ahead.
    const ahead = await open(undefined, { clock: { ...clock, now: () => clock.now() + DAY / 4 } });
    const right = await open();
    const { validFromDate, validToDate } = new X509Certificate(right.current().cert);
    expect(clock.now()).to.be.within(validFromDate.getTime(), validToDate.getTime());
    expect(trusted(right)).to.equal(true);
    server.calls.length = 0;
    await clock.advance(5 * MINUTE);
    expect(ahead.current()).to.deep.equal(right.current());
    expect(new Set(server.calls.map(({ verb }) => verb)), 'nobody writes any more').to.deep.equal(new Set(['get']));
    const reasons = logger.entries.map(({ fields }) => String(fields['why']));
    expect(reasons.filter((why) => why.includes('is not valid before'))).to.have.lengthOf(2);
  });

  it('rotates without a moment in which a caller could not check the certificate', async () => {
    // Lives of nine hours, so that a day sees three authorities.
    const policy = {
      ...DEFAULT_POLICY,
      authorityLifetimeMs: 9 * HOUR,
      serverLifetimeMs: 9 * HOUR,
      retentionMs: HOUR * 0.75,
    };
    const [one, two] = await Promise.all([open(undefined, { policy }), open(undefined, { policy })]);
    const authorities = new Set<string>();
    const bundleSizes = new Set<number>();
    let known = one.current().caBundle ?? '';
    one.onChange(() => {
      // A caller may still hold the bundle of before the change.
      const leaf = new X509Certificate(one.current().cert);
      const accepted = splitBundle(known).some((pem) => leaf.verify(new X509Certificate(pem).publicKey));
      expect(accepted, `at hour ${(clock.now() - Date.UTC(2026, 0, 1)) / HOUR}`).to.equal(true);
      known = one.current().caBundle ?? '';
      for (const pem of splitBundle(known)) authorities.add(pem);
      bundleSizes.add(splitBundle(known).length);
    });
    for (let step = 0; step < 14; step += 1) {
      await clock.advance(1.5 * HOUR);
      for (const source of [one, two]) {
        expect(trusted(source)).to.equal(true);
        expect(source.notAfter).to.be.above(clock.now());
      }
    }
    // Listeners that fail are only logged.
    expect(logger.entries.filter(({ level }) => level === 'error')).to.deep.equal([]);
    expect(authorities.size, 'authorities in 21 hours').to.equal(4);
    expect([...bundleSizes], 'one, and two during the change').to.have.members([1, 2]);
    await clock.advance(5 * MINUTE);
    expect(one.current()).to.deep.equal(two.current());
  });

  describe('heals', () => {
    const breakages: { name: string; ref: typeof AUTHORITY; data: Record<string, string> | undefined }[] = [
      { name: 'a deleted authority Secret', ref: AUTHORITY, data: undefined },
      { name: 'a deleted server Secret', ref: SERVER, data: undefined },
      { name: 'an emptied authority Secret', ref: AUTHORITY, data: {} },
      { name: 'an emptied server Secret', ref: SERVER, data: {} },
      { name: 'rubbish in the authority Secret', ref: AUTHORITY, data: { 'ca.crt': 'AAAA', 'ca.key': 'not base64!' } },
      { name: 'rubbish in the server Secret', ref: SERVER, data: { 'tls.crt': 'AAAA', 'tls.key': 'AAAA' } },
    ];
    for (const { name, ref, data } of breakages) {
      it(name, async () => {
        const source = await open();
        const before = source.current();
        let changes = 0;
        source.onChange(() => (changes += 1));
        if (data === undefined) server.remove(SECRETS, ref);
        else server.put(SECRETS, { ...server.read<Secret>(SECRETS, ref), data } as Secret);
        await clock.advance(5 * MINUTE);
        expect(source.current().cert).not.to.equal(before.cert);
        expect(source.current().cert).to.equal(field(SERVER, 'tls.crt'));
        expect(trusted(source)).to.equal(true);
        expect(changes).to.equal(1);
      });
    }

    it('a server certificate whose chain is cut off, which OpenSSL does not serve', async () => {
      const source = await open();
      const { data } = server.read<Secret>(SECRETS, SERVER)!;
      const cut = `${field(SERVER, 'tls.crt')}${field(AUTHORITY, 'ca.crt').slice(0, 200)}`;
      server.put(SECRETS, {
        ...server.read<Secret>(SECRETS, SERVER),
        data: { ...data, 'tls.crt': Buffer.from(cut).toString('base64') },
      } as Secret);
      await clock.advance(5 * MINUTE);
      expect(source.current().cert).to.equal(field(SERVER, 'tls.crt')).and.not.to.equal(cut);
      expect(() => createSecureContext(source.current())).not.to.throw();
    });
  });
});

describe('certificateCheck', () => {
  it('fails once the certificate has expired', async () => {
    const clock = createFakeClock(0);
    const { check } = certificateCheck({ notAfter: 1_000 }, clock);
    expect(check()).to.equal(undefined);
    await clock.advance(1_000);
    expect(check()).to.equal('serving certificate expired 1970-01-01T00:00:01.000Z');
  });
});
