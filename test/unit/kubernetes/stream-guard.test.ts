// What the guard does to a stream when Node tells of it; test/integration/kubernetes-abort.test.ts shows what for.
import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { constants } from 'node:http2';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { guardStreams } from '../../../pkg/kubernetes/transport.ts';

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
