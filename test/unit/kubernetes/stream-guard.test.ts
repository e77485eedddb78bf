// What the guard does to a stream when Node tells of it; test/integration/kubernetes-client.test.ts shows what for.
import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { constants } from 'node:http2';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import fc from 'fast-check';
import { guardConnection, guardStreams } from '../../../pkg/kubernetes/transport.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { type TlsMaterial, sameTls } from '../../../pkg/kubernetes/credentials.ts';
import { createLineSplitter } from '../../../pkg/kubernetes/watch.ts';
import { createGrowingBuffer } from '../../../pkg/kubernetes/exchange.ts';

class FakeStream extends EventEmitter {
  readonly codes: (number | undefined)[] = [];
  readonly sentHeaders: object | undefined;
  constructor(sentHeaders: object | undefined) {
    super();
    this.sentHeaders = sentHeaders;
  }
  close(code?: number): void {
    this.codes.push(code);
  }
}

const created = <T>(stream: T): T => {
  channel('http2.client.stream.created').publish({ stream });
  return stream;
};

describe('guardStreams', () => {
  let end: () => void;
  /** Guards of clients that other tests in this process have open. */
  let others: number;
  const listeners = (): number => created(new FakeStream(undefined)).listenerCount('error');
  beforeEach(() => {
    others = listeners();
    end = guardStreams();
  });
  afterEach(() => end());

  it('closes the stream of a request with a code, so that the reset does not wait for its body', () => {
    const stream = created(new FakeStream({ ':path': '/' }));
    stream.close();
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    expect(stream.codes).to.deep.equal([constants.NGHTTP2_CANCEL, constants.NGHTTP2_REFUSED_STREAM]);
    expect(stream.listenerCount('error'), 'errors of a request are for who made it').to.equal(0);
  });

  it('swallows the error of a stream that was not requested', () => {
    const stream = created(new FakeStream(undefined));
    expect(() => stream.emit('error', new Error('the client is destroyed'))).not.to.throw();
  });

  it('leaves streams alone once it has ended, as long as no other guard is left', () => {
    const other = guardStreams();
    end();
    expect(listeners()).to.equal(others + 1);
    other();
    expect(listeners()).to.equal(others);
  });

  it('minds no message that it does not know', () => {
    for (const message of [undefined, null, 'stream', {}])
      expect(() => channel('http2.client.stream.created').publish(message)).not.to.throw();
  });
});

class FakeSocket extends EventEmitter {
  bytesRead = 100;
  destroyedWith: Error | undefined;
  destroy(error: Error): void {
    this.destroyedWith = error;
    this.emit('close');
  }
}

describe('guardConnection', () => {
  let clock: FakeClock;
  let socket: FakeSocket;
  beforeEach(() => {
    clock = createFakeClock();
    socket = new FakeSocket();
    guardConnection(socket as unknown as Socket, clock);
  });

  it('breaks a connection that was silent for 45 s', async () => {
    await clock.advance(44_999);
    expect(socket.destroyedWith).to.equal(undefined);
    await clock.advance(1);
    expect(socket.destroyedWith).to.include({
      code: 'ERR_SILENT_CONNECTION',
      message: 'the connection does not answer pings',
    });
    expect(clock.pending).to.equal(0);
  });

  it('lets live what answers a ping every 30 s', async () => {
    for (let pings = 0; pings < 20; pings += 1) {
      await clock.advance(30_000);
      socket.bytesRead += 17;
    }
    expect(socket.destroyedWith).to.equal(undefined);
  });

  it('counts anew after each byte', async () => {
    await clock.advance(30_000);
    socket.bytesRead += 1;
    await clock.advance(59_999);
    expect(socket.destroyedWith).to.equal(undefined);
    await clock.advance(1);
    expect(socket.destroyedWith).to.be.instanceOf(Error);
  });
});

const base: TlsMaterial = { ca: Buffer.from('CA'), cert: 'CERT', key: 'KEY', servername: 's' };

describe('sameTls', () => {
  const cases: Array<{ name: string; other: TlsMaterial; same: boolean }> = [
    { name: 'equal values', other: { ...base }, same: true },
    { name: 'equal content in other buffers', other: { ...base, ca: Buffer.from('CA') }, same: true },
    { name: 'another authority', other: { ...base, ca: 'CB' }, same: false },
    { name: 'another certificate', other: { ...base, cert: 'CERT2' }, same: false },
    { name: 'another key', other: { ...base, key: 'KEY2' }, same: false },
    { name: 'another server name', other: { ...base, servername: 't' }, same: false },
    { name: 'no verification', other: { ...base, rejectUnauthorized: false }, same: false },
    { name: 'no authority', other: { cert: 'CERT', key: 'KEY', servername: 's' }, same: false },
  ];
  for (const { name, other, same } of cases) {
    it(`${same ? 'keeps' : 'gives up'} a connection for ${name}`, () => {
      expect(sameTls(base, other)).to.equal(same);
      expect(sameTls(other, base)).to.equal(same);
    });
  }
});

const LIMIT = 1_000;
const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

describe('createLineSplitter', () => {
  it('reads a view into a larger buffer, as undici hands them out', () => {
    const pool = bytes('xxa\nyy');
    expect(createLineSplitter(LIMIT).push(new Uint8Array(pool.buffer, pool.byteOffset + 2, 2))).to.deep.equal(['a']);
  });
  for (const [name, chunks] of [
    ['complete in one chunk', [`${'x'.repeat(LIMIT + 1)}\n`]],
    ['complete in two chunks', ['x'.repeat(LIMIT), 'x\n']],
    ['without its newline yet', ['x'.repeat(LIMIT), 'x']],
  ] as const) {
    it(`refuses a line over the limit, ${name}`, () => {
      const splitter = createLineSplitter(LIMIT);
      expect(() => chunks.forEach((chunk) => splitter.push(bytes(chunk)))).to.throw(RangeError, '1000');
    });
  }
  for (const [name, chunks] of [
    ['in one chunk', [`a\n${'x'.repeat(LIMIT + 1)}\nb\n`]],
    ['in many chunks', ['a\n', 'x'.repeat(LIMIT), 'xx', 'x'.repeat(LIMIT), 'x\nb', '\n']],
  ] as const) {
    it(`leaves out a line over the limit where that is asked for, ${name}`, () => {
      let tooLong = 0;
      const splitter = createLineSplitter(LIMIT, () => void (tooLong += 1));
      expect(chunks.flatMap((chunk) => splitter.push(bytes(chunk)))).to.deep.equal(['a', 'b']);
      expect([tooLong, splitter.pendingBytes()]).to.deep.equal([1, 0]);
    });
  }
  it('is independent of where the stream is cut', () => {
    const line = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).map((text) => text.replaceAll('\n', ' '));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), fc.array(fc.nat(400), { maxLength: 30 }), (lines, cuts) => {
        const whole = bytes(lines.map((text) => `${text}\n`).join(''));
        const at = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length];
        const splitter = createLineSplitter(LIMIT);
        const got = at.slice(1).flatMap((end, index) => splitter.push(whole.subarray(at[index], end)));
        expect(got).to.deep.equal(lines);
        expect(splitter.pendingBytes()).to.equal(0);
      }),
    );
  });
});

describe('growing buffer', () => {
  it('takes as many bytes as its limit, and keeps what it has where one more is refused', () => {
    const buffer = createGrowingBuffer(3);
    buffer.push(Buffer.from('abc'));
    expect(() => buffer.push(Buffer.from('d'))).to.throw(RangeError, 'more than 3 bytes');
    expect(buffer.take().toString()).to.equal('abc');
  });

  it('costs a million one-byte chunks no more than their bytes', () => {
    const one = Buffer.from('x');
    const before = process.memoryUsage();
    const buffer = createGrowingBuffer(2_000_000);
    for (let count = 0; count < 1_000_000; count += 1) buffer.push(one);
    const after = process.memoryUsage();
    // A list of Buffers took 210 bytes for each: 210 MB.
    expect(after.arrayBuffers - before.arrayBuffers, 'bytes outside the heap').to.be.at.most(4_000_000);
    expect(buffer.take().length).to.equal(1_000_000);
  });
});
