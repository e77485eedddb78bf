// What is sent to the commands and what they keep secret never reaches a log, at no level and in no format.
import { Writable } from 'node:stream';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { LABEL_CONSIDER } from '../../pkg/apis/names.ts';
import { SECRETS } from '../../pkg/apis/resources.ts';
import { LOG_FORMATS, type LogFormat, createLogger } from '../../pkg/telemetry/log.ts';
import { type Secret, openSecretCertificates, serviceNames } from '../../pkg/webhook/certificates/secrets.ts';
import { HINTS_PATH } from '../../pkg/webhook/endpoint-slice-hints.ts';
import { SETTINGS_PATH } from '../../pkg/webhook/routing-settings.ts';
import { call, review } from '../fixtures/admission.ts';
import { type AdmissionFixture, startAdmission } from '../fixtures/admission-server.ts';
import { endpoint, service, slice } from '../fixtures/core.ts';
import { createFakeClock } from '../fixtures/fake-clock.ts';
import { createMemoryServer } from '../fixtures/memory-client.ts';
import { createRandomBytes } from '../fixtures/random-bytes.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';
import { type LogEntry, recordingLogger } from '../fixtures/recording-logger.ts';

/** Stands wherever a user, or an attacker, can put text. */
const MARK = 'correct-horse-battery-staple';

/** The lines as a command writes them, at the level that says most. */
const render = (entries: readonly LogEntry[], format: LogFormat): string => {
  let written = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written += chunk.toString();
      done();
    },
  });
  const logger = createLogger({ name: 'test', level: 'debug', format, stream });
  for (const { level, message, fields } of entries) logger[level](message, fields);
  return written;
};

const marked = { [`example.com/${MARK}`]: MARK };
const labels = { [LABEL_CONSIDER]: 'true', ...marked };
const hidden = slice({
  metadata: { labels, annotations: marked },
  endpoints: [endpoint({ zone: 'a', hostname: MARK, deprecatedTopology: marked }), endpoint({ zone: MARK })],
});
const managed = service({ metadata: { labels: marked, annotations: marked }, spec: { selector: marked } });

interface Case {
  readonly name: string;
  readonly path?: string;
  readonly body: object | string;
  readonly headers?: Record<string, string>;
  /** Whether the log says anything of it. */
  readonly logged: boolean;
}

const withUser = { userInfo: { username: MARK, groups: [MARK], extra: { [MARK]: [MARK] } }, options: marked };
const cases: Case[] = [
  { name: 'a slice that is changed', body: review(hidden, withUser), logged: true },
  {
    name: 'an update with an old object',
    body: review(hidden, { operation: 'UPDATE', oldObject: hidden }),
    logged: true,
  },
  { name: 'a slice that is not', body: review(slice({ metadata: { labels: marked } })), logged: false },
  {
    name: 'a Service',
    path: SETTINGS_PATH,
    body: review(managed, { operation: 'UPDATE', oldObject: managed, ...withUser }),
    logged: false,
  },
  {
    name: 'a Secret that somebody registered us for',
    body: review({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: marked } as object),
    logged: true,
  },
  { name: 'a review without an object', body: review(hidden, { object: null, ...withUser }), logged: true },
  {
    name: 'endpoints of the wrong type',
    body: review({ ...hidden, endpoints: [{ zone: { [MARK]: MARK } }, MARK] } as object),
    logged: true,
  },
  { name: 'another object', body: { kind: MARK, ...marked }, logged: false },
  { name: 'what is no JSON', body: `{"request": "${MARK}`, logged: false },
  { name: 'a credential', body: '{}', headers: { authorization: `Bearer ${MARK}`, cookie: MARK }, logged: false },
  { name: 'another path', path: `/${MARK}`, body: MARK, logged: false },
];

describe('logs', () => {
  describe('of the webhook', () => {
    useRealNetwork();
    let fixture: AdmissionFixture;
    before(async () => {
      fixture = await startAdmission();
    });
    after(() => fixture.stop());

    for (const { name, path = HINTS_PATH, body, headers = {}, logged } of cases) {
      it(`hold nothing of ${name}`, async () => {
        const { server, ca, logger } = fixture;
        const from = logger.entries.length;
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        await call({ port: server.port, ca, path, body: text, headers });
        const entries = logger.entries.slice(from);
        for (const format of LOG_FORMATS) expect(render(entries, format)).not.to.contain(MARK);
        expect(entries.length, JSON.stringify(entries)).to.equal(logged ? 1 : 0);
      });
    }
  });

  it('hold nothing of the keys that the webhook makes, finds and replaces', async () => {
    const [clock, server, logger, stop] = [
      createFakeClock(),
      createMemoryServer(),
      recordingLogger(),
      new AbortController(),
    ];
    const options = {
      client: server.client(),
      namespace: 'own',
      name: 'topology',
      names: serviceNames('webhook', 'own'),
      clock,
      randomBytes: createRandomBytes(),
      logger,
    };
    await openSecretCertificates(options, stop.signal);
    const texts = server
      .all<Secret>(SECRETS)
      .flatMap(({ data = {} }) => Object.values(data))
      .flatMap((value) => [value, ...Buffer.from(value, 'base64').toString().split('\n')])
      .filter((text) => text.length > 16);
    expect(texts.length).to.be.above(10);
    // What another writer wrote there is no better to be read.
    const ref = { namespace: 'own', name: 'topology-webhook-server' };
    const broken = Buffer.from(`-----BEGIN PRIVATE KEY-----\n${MARK}\n`).toString('base64');
    await server.client().patch(SECRETS, ref, 'merge', { data: { 'tls.key': broken, 'tls.crt': broken } });
    await openSecretCertificates(options, stop.signal);
    for (const format of LOG_FORMATS) {
      const written = render(logger.entries, format);
      expect(written).to.contain('replaced');
      expect([...texts, MARK, broken].filter((text) => written.includes(text))).to.deep.equal([]);
    }
  });
});
