// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import {
  createResponseReader,
  FramingError,
  frameRequest,
  type ResponseFrame,
} from '../../../bench/webhook/http-framing.ts';

const readAll = (chunks: readonly Buffer[], keepBody = true): ResponseFrame[] => {
  const frames: ResponseFrame[] = [];
  const reader = createResponseReader({ keepBody, onResponse: (frame) => frames.push(frame) });
  for (const chunk of chunks) reader.push(chunk);
  return frames;
};

const read = (text: string): ResponseFrame[] => readAll([Buffer.from(text, 'latin1')]);

const cut = (bytes: Buffer, at: readonly number[]): Buffer[] => {
  const points = [0, ...[...at].map((point) => point % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return points.slice(1).map((point, index) => bytes.subarray(points[index], point));
};

const withLength = (body: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

const chunked = (parts: readonly string[]): string =>
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${parts
    .map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
    .join('')}0\r\n\r\n`;

describe('bench/webhook/http-framing', () => {
  describe('a response', () => {
    const cases = [
      { name: 'with a content length', text: withLength('hello'), status: 200, body: 'hello' },
      { name: 'without a body', text: 'HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n', status: 204, body: '' },
      { name: 'in chunks', text: chunked(['hel', 'lo']), status: 200, body: 'hello' },
      { name: 'in no chunk at all', text: chunked([]), status: 200, body: '' },
      {
        name: 'with a chunk extension and a trailer',
        text: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n',
        status: 200,
        body: 'hello',
      },
      {
        name: 'whose body looks like a response',
        text: withLength(withLength('x')),
        status: 200,
        body: withLength('x'),
      },
      {
        name: 'with an error status and no reason',
        text: 'HTTP/1.1 503\r\ncontent-length:2\r\n\r\nno',
        status: 503,
        body: 'no',
      },
    ];
    for (const { name, text, status, body } of cases) {
      it(name, () => {
        const frames = read(text);
        expect(frames).to.have.length(1);
        expect(frames[0]!.status).to.equal(status);
        expect(frames[0]!.body!.toString('latin1')).to.equal(body);
        expect(frames[0]!.bodyBytes).to.equal(body.length);
        expect(frames[0]!.close).to.equal(false);
      });
    }

    it('is not complete before its last byte', () => {
      for (const text of [withLength('hello'), chunked(['hel', 'lo'])]) {
        expect(read(text.slice(0, -1)), text).to.deep.equal([]);
      }
    });

    it('reports that the server closes the connection', () => {
      const [frame] = read('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      expect(frame!.close).to.equal(true);
    });

    it('keeps no body unless asked to', () => {
      const [frame] = readAll([Buffer.from(withLength('hello'))], false);
      expect(frame).to.deep.equal({ status: 200, close: false, bodyBytes: 5, body: undefined });
    });
  });

  it('finds every response, however the stream is cut into packets', () => {
    const body = fc.string({ unit: 'binary-ascii', maxLength: 60 });
    const response = fc.oneof(
      body.map((text) => ({ text: withLength(text), body: text })),
      fc
        .array(
          body.filter((part) => part.length > 0),
          { maxLength: 4 },
        )
        .map((parts) => ({ text: chunked(parts), body: parts.join('') })),
    );
    fc.assert(
      fc.property(fc.array(response, { maxLength: 5 }), fc.array(fc.nat(), { maxLength: 12 }), (responses, at) => {
        const stream = Buffer.from(responses.map(({ text }) => text).join(''), 'latin1');
        const frames = readAll(cut(stream, at));
        expect(frames.map((frame) => frame.body!.toString('latin1'))).to.deep.equal(responses.map((one) => one.body));
      }),
    );
  });

  describe('refuses', () => {
    const cases = [
      { name: 'what is no HTTP', text: 'SSH-2.0-OpenSSH\r\n\r\n', message: 'not an HTTP/1.1 status line' },
      { name: 'HTTP/2', text: 'HTTP/2 200 OK\r\n\r\n', message: 'not an HTTP/1.1 status line' },
      {
        name: 'a body without an end',
        text: 'HTTP/1.1 200 OK\r\n\r\nhello',
        message: 'neither content-length nor chunked',
      },
      {
        name: 'a chunk size that is no number',
        text: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n',
        message: 'not a chunk size: "xyz"',
      },
      {
        name: 'a chunk that is longer than it says',
        text: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhello\r\n',
        message: 'longer than its size says',
      },
      {
        name: 'an endless head',
        text: `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}`,
        message: 'no end of line within',
      },
    ];
    for (const { name, text, message } of cases) {
      it(name, () => expect(() => read(text)).to.throw(FramingError, message));
    }
  });

  it('frames a request with the length of its bytes, not of its characters', () => {
    const request = frameRequest('/path?timeout=10s', 'localhost', '{"zone":"ü"}').toString();
    const [head, body] = request.split('\r\n\r\n');
    expect(head).to.match(/^POST \/path\?timeout=10s HTTP\/1\.1\r\n/);
    expect(head).to.include('\r\nHost: localhost\r\n').and.to.include('\r\nContent-Length: 13');
    expect(head).to.include('\r\nContent-Type: application/json\r\n');
    expect(body).to.equal('{"zone":"ü"}');
  });
});
