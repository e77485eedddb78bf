// What the guard does to a stream when Node tells of it; test/integration/kubernetes-abort.test.ts shows what for.
import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { constants } from 'node:http2';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { guardConnection, guardStreams } from '../../../pkg/kubernetes/transport.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';
import { sameTls } from '../../../pkg/kubernetes/credentials.ts';
import type { TlsMaterial } from '../../../pkg/kubernetes/credentials.ts';

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
    for (const message of [undefined, null, 'stream', {}]) {
      expect(() => channel('http2.client.stream.created').publish(message)).not.to.throw();
    }
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
    guardConnection(socket, clock);
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

  it('ends with the connection', () => {
    socket.emit('close');
    expect(clock.pending).to.equal(0);
  });
});

const base: TlsMaterial = { ca: 'CA', cert: 'CERT', key: 'KEY', servername: 's' };

describe('sameTls', () => {
  const cases: Array<{ name: string; other: TlsMaterial; same: boolean }> = [
    { name: 'equal values', other: { ...base }, same: true },
    {
      name: 'equal content in buffers',
      other: { ...base, ca: Buffer.from('CA'), key: Buffer.from('KEY') },
      same: true,
    },
    { name: 'another authority', other: { ...base, ca: 'CB' }, same: false },
    { name: 'another certificate', other: { ...base, cert: 'CERT2' }, same: false },
    { name: 'another key', other: { ...base, key: 'KEY2' }, same: false },
    { name: 'a bundle in addition', other: { ...base, pfx: Buffer.from('P') }, same: false },
    { name: 'a passphrase in addition', other: { ...base, passphrase: 'p' }, same: false },
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
