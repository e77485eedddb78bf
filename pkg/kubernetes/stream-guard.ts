// SPDX-License-Identifier: Apache-2.0
// Makes aborting a request safe over HTTP/2: the stream is reset before it is given up, and a late answer cannot crash the process.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { constants } from 'node:http2';
import type { ClientHttp2Stream } from 'node:http2';

/** Node's documented channel for streams of HTTP/2 clients; published before anybody else can use the stream. */
const STREAM_CREATED = 'http2.client.stream.created';

const isStreamMessage = (message: unknown): message is { stream: ClientHttp2Stream } =>
  typeof message === 'object' && message !== null && 'stream' in message;

/**
 * undici gives up a request with `stream.close()` and `stream.destroy()` in one go. Without a code, `close` waits until
 * the request's body is flushed before it sends RST_STREAM, and `destroy` then forgets to: the server goes on, and
 * nghttp2 asks for the rest of a body that nobody has any more, for ever and without yielding. With a code the reset is
 * sent at once.
 */
const resetOnClose = (stream: ClientHttp2Stream): void => {
  const close = stream.close.bind(stream);
  stream.close = (code = constants.NGHTTP2_CANCEL, callback) => close(code, callback);
};

const guardStream = (message: unknown): void => {
  if (!isStreamMessage(message)) return;
  const { stream } = message;
  if (stream.sentHeaders !== undefined) {
    resetOnClose(stream);
    return;
  }
  // Nobody asked for this one: the answer to a request that was given up came before its reset was out, and Node takes it for a
  // stream that the server opened. The reset ends it; a connection that breaks first would be an 'error' event without listener.
  stream.on('error', () => undefined);
};

/**
 * Guards the HTTP/2 streams that are opened from now on; returns what ends that. Streams cannot be told apart by
 * connection here, so it covers every HTTP/2 client of the process, which asks nothing else of its streams.
 */
export const guardStreams = (): (() => void) => {
  // A function of its own for each guard: ending one must not end another.
  const guard = (message: unknown): void => guardStream(message);
  subscribe(STREAM_CREATED, guard);
  return () => void unsubscribe(STREAM_CREATED, guard);
};
