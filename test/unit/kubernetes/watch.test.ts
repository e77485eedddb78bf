// What a line of a watch means; nothing is dropped.
import { inspect } from 'node:util';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { ApiError, ConnectionError, isGone } from '../../../pkg/kubernetes/errors.ts';
import { parseEvent, readEvents, watchTimeoutSeconds } from '../../../pkg/kubernetes/watch.ts';
import { rejection } from '../../fixtures/eventually.ts';

const request = { method: 'GET', path: '/api/v1/services?watch=1' };
const line = (event: unknown): string => JSON.stringify(event);

const thrownBy = (call: () => unknown): unknown => {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};

describe('parseEvent', () => {
  for (const type of ['ADDED', 'MODIFIED', 'DELETED'] as const) {
    it(`returns ${type} with the object as it came, unknown fields kept`, () => {
      const object = { metadata: { name: 'a', resourceVersion: '1' }, spec: { brandNew: { x: 1 } } };
      expect(parseEvent(line({ type, object }), request)).to.deep.equal({ type, object });
    });
  }

  it('throws the Status of an ERROR event, 410', () => {
    const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version: 1 (2)' };
    const error = thrownBy(() => parseEvent(line({ type: 'ERROR', object: status }), request));
    expect(isGone(error)).to.equal(true);
    expect(error).to.have.property(
      'message',
      'GET /api/v1/services?watch=1: 410 Expired: too old resource version: 1 (2)',
    );
  });
  it('throws the Status of an ERROR event, 429 with the wait it asks for', () => {
    const status = { kind: 'Status', code: 429, reason: 'TooManyRequests', details: { retryAfterSeconds: 3 } };
    const error = thrownBy(() => parseEvent(line({ type: 'ERROR', object: status }), request));
    expect(error).to.be.instanceOf(ApiError).and.include({ status: 429, retryAfterMs: 3_000 });
  });

  const malformed: Array<{ name: string; text: string; says: string }> = [
    {
      name: 'no JSON',
      text: '{"type":"ADDED","object":{"data":"c2VjcmV0',
      says: 'a line of 42 characters that is not JSON',
    },
    { name: 'a JSON number', text: '7', says: 'a line that is no object' },
    { name: 'null', text: 'null', says: 'a line that is no object' },
    { name: 'no object', text: line({ type: 'ADDED' }), says: 'an event without object' },
    {
      name: 'a nameless object',
      text: line({ type: 'MODIFIED', object: {} }),
      says: 'an event of type MODIFIED has no object name',
    },
    {
      name: 'an object without version, from which no watch could go on',
      text: line({ type: 'ADDED', object: { metadata: { name: 'a' } } }),
      says: 'an event of type ADDED has no resourceVersion',
    },
    {
      name: 'a version that is a number',
      text: line({ type: 'DELETED', object: { metadata: { name: 'a', resourceVersion: 7 } } }),
      says: 'an event of type DELETED has no resourceVersion',
    },
    {
      name: 'a BOOKMARK without version',
      text: line({ type: 'BOOKMARK', object: { metadata: {} } }),
      says: 'a BOOKMARK event has no resourceVersion',
    },
    { name: 'an unknown type', text: line({ type: 'SYNCED', object: {} }), says: 'an event of unknown type' },
    { name: 'no type', text: line({ object: {} }), says: 'an event of unknown type' },
  ];
  for (const { name, text, says } of malformed) {
    it(`refuses ${name}`, () => {
      const error = thrownBy(() => parseEvent(text, request));
      expect(error).to.be.instanceOf(ConnectionError).and.include({ reason: 'InvalidResponse' });
      expect((error as Error).message).to.contain(says);
      expect(inspect(error, { depth: 10 }), 'the line may be part of a Secret').not.to.contain('c2VjcmV0');
    });
  }
});

describe('readEvents', () => {
  const event = (name: string): string =>
    `${line({ type: 'ADDED', object: { metadata: { name, resourceVersion: '1' } } })}\n`;
  const stream = async function* (...chunks: string[]) {
    for (const chunk of chunks) yield Buffer.from(chunk);
  };
  const read = async (body: AsyncIterable<Uint8Array>, signal = new AbortController().signal): Promise<string[]> => {
    const names: string[] = [];
    for await (const got of readEvents<KubernetesObject>(body, request, signal))
      names.push(got.type === 'BOOKMARK' ? 'bookmark' : (got.object.metadata?.name ?? ''));
    return names;
  };

  it('throws Cut when the body ends inside an event', async () => {
    expect(await rejection(read(stream(event('a'), '{"type":'))))
      .to.be.instanceOf(ConnectionError)
      .and.include({ reason: 'Cut' });
  });
  it('breaks off an event that is longer than any object, before it has arrived', async () => {
    let sent = 0;
    const endless = async function* () {
      for (;;) {
        sent += 1;
        yield Buffer.alloc(1024 * 1024, 'x');
      }
    };
    expect(await rejection(read(endless())))
      .to.be.instanceOf(ConnectionError)
      .and.include({ reason: 'InvalidResponse' });
    expect(sent, 'MiB read').to.equal(9);
  });
  it('hands out nothing after the abort, not even what has arrived', async () => {
    const controller = new AbortController();
    const reason = new Error('stop');
    const names: string[] = [];
    const consume = async () => {
      for await (const got of readEvents<KubernetesObject>(
        stream(event('a') + event('b')),
        request,
        controller.signal,
      )) {
        names.push(got.type);
        controller.abort(reason);
      }
    };
    expect(await rejection(consume())).to.equal(reason);
    expect(names).to.have.length(1);
  });
});

describe('watchTimeoutSeconds', () => {
  for (const [random, seconds] of [
    [0, 300],
    [0.5, 450],
    [0.999_999, 599],
  ] as const)
    it(`is ${seconds} s for ${random}`, () => expect(watchTimeoutSeconds(() => random)).to.equal(seconds));
});
