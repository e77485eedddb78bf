// The logger: one line per entry, levels, formats, and fields that cannot break or forge a line.
import { Writable } from 'node:stream';
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { type Logger, type LoggerOptions, createLogger } from '../../../pkg/telemetry/log.ts';

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

  const create = (options: Partial<LoggerOptions> = {}): Logger =>
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

  for (const { level, expected } of [
    { level: 'debug', expected: ['debug', 'info', 'warn', 'error'] },
    { level: 'info', expected: ['info', 'warn', 'error'] },
    { level: 'warn', expected: ['warn', 'error'] },
    { level: 'error', expected: ['error'] },
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

  it('writes errors without stack, and with it at debug level', () => {
    const error = new Error('boom');
    create().error('failed', { error });
    create({ level: 'debug' }).error('failed', { error });
    const [brief, full] = entries();
    expect(brief?.['error']).to.deep.equal({ name: 'Error', message: 'boom' });
    expect(full?.['error']).to.have.property('stack').that.includes('log.test.ts');
  });

  describe('in console format', () => {
    it('writes time, level, message and fields for people, on one line', () => {
      const logger = create({ format: 'console' });
      logger.info('started\n  twice', { port: 8081, path: '/a/b', text: 'two words', nested: { a: [1] } });
      logger.error('failed', { error: new Error('bo\nom') });
      expect(lines()).to.deep.equal([
        '2026-01-02T03:04:05.678Z INFO  started twice port=8081 path=/a/b text="two words" nested={"a":[1]}',
        String.raw`2026-01-02T03:04:05.678Z ERROR failed error={"name":"Error","message":"bo\nom"}`,
      ]);
    });
  });
});
