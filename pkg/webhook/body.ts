// SPDX-License-Identifier: Apache-2.0
// Reads the raw body of an admission request, within the largest size that a review can have.
import type { IncomingMessage } from 'node:http';
import type { Budget } from './budget.ts';

/**
 * The API server accepts objects of up to 3 MiB; a review holds two of them and an envelope. controller-runtime derives
 * the same limit.
 */
export const MAX_BODY_BYTES = 7 * 1024 * 1024;

export type Body =
  | { readonly kind: 'complete'; readonly text: string }
  | { readonly kind: 'tooLarge' }
  /** The budget for bodies is used up. */
  | { readonly kind: 'busy' }
  /** The client went away or sent less than it announced. */
  | { readonly kind: 'truncated' };

/** The announced length; undefined where the body is sent in chunks. */
const announcedLength = (request: IncomingMessage): number | undefined => {
  const header = request.headers['content-length'];
  return header === undefined ? undefined : Number(header);
};

/**
 * Calls `done` exactly once. An announced length is checked and reserved before a byte is read; without one, bytes are
 * reserved as they come. A small body is one chunk and is never copied.
 */
export const readBody = (request: IncomingMessage, budget: Budget, done: (body: Body) => void): void => {
  const announced = announcedLength(request);
  if (announced !== undefined && announced > MAX_BODY_BYTES) return done({ kind: 'tooLarge' });
  let reserved = announced ?? 0;
  if (!budget.reserve(reserved)) return done({ kind: 'busy' });
  const chunks: Buffer[] = [];
  let length = 0;
  let finished = false;
  const finish = (body: Body): void => {
    if (finished) return;
    finished = true;
    budget.free(reserved);
    chunks.length = 0;
    done(body);
  };
  request.on('data', (chunk: Buffer) => {
    if (finished) return;
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return finish({ kind: 'tooLarge' });
    if (length > reserved) {
      if (!budget.reserve(length - reserved)) return finish({ kind: 'busy' });
      reserved = length;
    }
    chunks.push(chunk);
  });
  request.once('end', () => finish({ kind: 'complete', text: decode(chunks, length) }));
  request.once('error', () => finish({ kind: 'truncated' }));
  request.once('close', () => finish({ kind: 'truncated' }));
};

const decode = (chunks: readonly Buffer[], length: number): string => {
  const [only] = chunks;
  if (only === undefined) return '';
  return (chunks.length === 1 ? only : Buffer.concat(chunks, length)).toString('utf8');
};
