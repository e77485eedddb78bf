// The logger: one line per entry, levels, formats, and fields that cannot break or forge a line.
import { Writable } from 'node:stream';
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import fc from 'fast-check';
import { type Logger, createLogger } from '../../../pkg/telemetry/log.ts';
import { REDACTED, cleanFields, cleanText, isSecretName } from '../../../pkg/telemetry/redact.ts';
import { upTo } from '../../support/depth.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

describe('createLogger', () => {
  let written: string;
  const stream = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      written += chunk.toString('utf8');
      callback();
    },
  });

  beforeEach(() => {
    written = '';
  });

  const create = (options: Partial<Parameters<typeof createLogger>[0]> = {}): Logger =>
    createLogger({ name: 'test', stream, now: () => NOW, ...options });

  const lines = (): string[] => {
    expect(written === '' || written.endsWith('\n'), 'ends with a line break').to.equal(true);
    return written.split('\n').slice(0, -1);
  };
  const entries = (): Record<string, unknown>[] => lines().map((line) => JSON.parse(line) as Record<string, unknown>);

  it('writes one JSON object per line', () => {
    const logger = create();
    logger.info('started', { port: 8081 });
    logger.warn('two\nlines', { text: 'a\r\nb' });
    expect(lines()).to.deep.equal([
      '{"time":"2026-01-02T03:04:05.678Z","level":"info","logger":"test","message":"started","port":8081}',
      String.raw`{"time":"2026-01-02T03:04:05.678Z","level":"warn","logger":"test","message":"two\nlines","text":"a\r\nb"}`,
    ]);
  });

  for (const [level, expected] of [
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['info', ['info', 'warn', 'error']],
    ['warn', ['warn', 'error']],
    ['error', ['error']],
  ] as const) {
    it(`writes ${expected.join(', ')} at level ${level}`, () => {
      const logger = create({ level });
      logger.debug('x');
      logger.info('x');
      logger.warn('x');
      logger.error('x');
      expect(entries().map((entry) => entry['level'])).to.deep.equal(expected);
    });
  }

  it('does not let fields replace time, level, logger or message', () => {
    create().info('real', { time: 't', level: 'error', logger: 'l', message: 'forged' });
    expect(entries()[0]).to.deep.equal({
      time: '2026-01-02T03:04:05.678Z',
      level: 'info',
      logger: 'test',
      message: 'real',
      field_time: 't',
      field_level: 'error',
      field_logger: 'l',
      field_message: 'forged',
    });
  });

  it('keeps a hostile field name harmless', () => {
    create().info('x', JSON.parse('{"__proto__":{"level":"y"}}') as Record<string, unknown>);
    expect(entries()[0]).to.deep.include({ level: 'info', field___proto__: { level: 'y' } });
  });

  it('masks secrets in fields and message', () => {
    create().info('sent Bearer abcdef', { token: 'abcdef', request: { headers: { authorization: 'abcdef' } } });
    expect(written).not.to.include('abcdef');
  });
});

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('isSecretName', () => {
  const secret = [
    'token',
    'Token',
    'bearerToken',
    'id-token',
    'refresh_token',
    'authorization',
    'Proxy-Authorization',
    'password',
    'dbPassword',
    'key',
    'tls.key',
    'privateKey',
    'client-key-data',
    'data',
    'stringData',
    'kubeconfig',
    'gardenKubeconfig',
    'set-cookie',
    'aws_secret_access_key',
  ];
  const open = [
    'name',
    'item',
    'keys',
    'dataSource',
    'metadata',
    'secret',
    'monkey',
    'tokens',
    'keyId',
    'namespace',
    '',
  ];
  for (const name of secret) it(`masks ${name}`, () => expect(isSecretName(name)).to.equal(true));
  for (const name of open) it(`shows ${name || '(empty)'}`, () => expect(isSecretName(name)).to.equal(false));
});

describe('cleanText', () => {
  const key = '-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIBadSecret\n-----END EC PRIVATE KEY-----';

  it('masks a private key whose end was cut off', () => {
    expect(cleanText(key.slice(0, 50))).to.equal(REDACTED);
    const long = `-----BEGIN PRIVATE KEY-----\n${'A'.repeat(10_000)}\n-----END PRIVATE KEY-----`;
    expect(cleanText(long)).not.to.include('AAAA');
  });

  it('cuts what is too long and says how long it was', () => {
    expect(cleanText('x'.repeat(5_000))).to.match(/^x{4096}… \(5000 characters\)$/);
  });

  it('leaves other text as it is', () => {
    for (const text of ['', 'bearer', 'a certificate: -----BEGIN CERTIFICATE-----', 'ünï\n\tcode'])
      expect(cleanText(text)).to.equal(text);
  });
});

describe('cleanFields', () => {
  const circular: Record<string, unknown> = { name: 'loop' };
  circular['self'] = circular;

  const shared = { a: 1 };

  const table: readonly (readonly [name: string, value: unknown, expected: unknown])[] = [
    ['plain values', { a: 'x', b: 1, c: true, d: null, e: [1, 'y'] }, { a: 'x', b: 1, c: true, d: null, e: [1, 'y'] }],
    ['undefined fields', { a: undefined, b: 1 }, { b: 1 }],
    ['a bigint', 12n, '12'],
    ['numbers without JSON form', [Number.NaN, Number.POSITIVE_INFINITY], ['NaN', 'Infinity']],
    ['a symbol and a function', [Symbol('s'), () => 1], ['Symbol(s)', '[function]']],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an invalid date', new Date(Number.NaN), 'Invalid Date'],
    ['a URL', new URL('https://127.0.0.1:6443/x'), 'https://127.0.0.1:6443/x'],
    ['bytes', Buffer.from('secret'), '[6 bytes]'],
    ['a set', new Set(['a']), ['a']],
    ['a map, secrets masked', new Map<unknown, unknown>([['token', 't']]).set(1, 'one'), { token: REDACTED, 1: 'one' }],
    ['a cycle', circular, { name: 'loop', self: '[circular]' }],
    ['one object twice, which is no cycle', [shared, shared], [{ a: 1 }, { a: 1 }]],
    ['whole objects under a secret name', { data: { 'tls.crt': 'x' } }, { data: REDACTED }],
  ];
  for (const [name, value, expected] of table)
    it(`writes ${name}`, () => expect(plain(cleanFields({ value }))).to.deep.equal({ value: expected }));

  it('keeps a field named __proto__ a field', () => {
    const clean = cleanFields(JSON.parse('{"__proto__":{"polluted":true},"a":1}') as Record<string, unknown>);
    expect(JSON.stringify(clean)).to.equal('{"__proto__":{"polluted":true},"a":1}');
    expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined);
  });

  it('bounds depth, entries and items', () => {
    let deep: unknown = 'bottom';
    for (let level = 0; level < 20; level += 1) deep = { deep };
    expect(JSON.stringify(cleanFields({ deep })))
      .to.include('[too deep]')
      .and.not.to.include('bottom');
    const wide = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, index]));
    expect(Object.keys(cleanFields({ wide })['wide'] as object)).to.have.length(101);
    const items = cleanFields({ items: Array.from({ length: 500 }, () => 0) })['items'] as unknown[];
    expect(items).to.have.length(101);
    expect(items.at(-1)).to.equal('… (500 items)');
  });

  describe('errors', () => {
    const cause = Object.assign(new TypeError('socket closed'), { code: 'ECONNRESET' });
    const error = Object.assign(new Error('request failed', { cause }), {
      status: 503,
      body: { token: 'x' },
      token: 't',
    });

    it('are written as name, message, own plain fields and chain of causes, without stacks', () => {
      expect(plain(cleanFields({ error }))).to.deep.equal({
        error: {
          name: 'Error',
          message: 'request failed',
          status: 503,
          token: REDACTED,
          cause: { name: 'TypeError', message: 'socket closed', code: 'ECONNRESET' },
        },
      });
    });

    it('with a cycle of causes end', () => {
      const loop = new Error('loop');
      loop.cause = loop;
      expect(plain(cleanFields({ loop }))).to.deep.equal({
        loop: { name: 'Error', message: 'loop', cause: '[circular]' },
      });
    });
  });

  it('a Map whose key has no text', () => {
    expect(plain(cleanFields({ own: new Map([[{ toString: 0 }, 1]]) }))).to.deep.equal({ own: { '[object]': 1 } });
  });

  it('always yields JSON, whatever it is given, and never changes its input', () => {
    fc.assert(
      fc.property(
        fc.object({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true }),
        (fields) => {
          const before = fc.stringify(fields);
          const line = JSON.stringify(cleanFields(fields));
          expect(JSON.parse(line)).to.be.an('object');
          expect(line).not.to.include('\n');
          expect(fc.stringify(fields)).to.equal(before);
        },
      ),
      { numRuns: upTo(200) },
    );
  });

  it('never lets a value under a secret name through', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('token', 'Authorization', 'password', 'key', 'data', 'kubeconfig'),
        fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 }),
        (name, path) => {
          let value: Record<string, unknown> = { [name]: 'S3CRET' };
          for (const step of path) value = { [step]: value };
          expect(JSON.stringify(cleanFields(value))).not.to.include('S3CRET');
        },
      ),
    );
  });
});
