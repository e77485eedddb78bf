// SPDX-License-Identifier: Apache-2.0
// Reads the raw body of an admission request, within the largest size that a review can have.
import type { IncomingMessage } from 'node:http';
import type { BodyBuffers } from './body-buffers.ts';
import type { Budget } from './budget.ts';

/**
 * The API server accepts objects of up to 3 MiB; a review holds two of them and an envelope. controller-runtime derives
 * the same limit.
 */
export const MAX_BODY_BYTES = 7 * 1024 * 1024;

export type Body =
  | { readonly kind: 'complete'; readonly text: string; readonly bytes: number }
  | { readonly kind: 'tooLarge' }
  /** The budget for bodies is used up. */
  | { readonly kind: 'busy' }
  /** It did not arrive in time. */
  | { readonly kind: 'late' }
  /** The client went away or sent less than it announced. */
  | { readonly kind: 'truncated' };

/** The announced length; undefined where the body is sent in chunks. */
const announcedLength = (request: IncomingMessage): number | undefined => {
  const header = request.headers['content-length'];
  return header === undefined ? undefined : Number(header);
};

/** Where the chunks of one body go: into a lent buffer where the length is known and large, else into a list. */
interface Gathering {
  add(chunk: Buffer): void;
  text(): string;
  /** Must be called once, after which the gathering is not used again. */
  release(): void;
}

const gatherInto = (buffer: Buffer, buffers: BodyBuffers): Gathering => {
  let length = 0;
  return {
    add: (chunk) => void (length += chunk.copy(buffer, length)),
    text: () => buffer.toString('utf8', 0, length),
    release: () => buffers.giveBack(buffer),
  };
};

const gatherChunks = (): Gathering => {
  const chunks: Buffer[] = [];
  return {
    add: (chunk) => void chunks.push(chunk),
    text: () => (chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks)).toString('utf8'),
    release: () => void (chunks.length = 0),
  };
};

const gather = (announced: number | undefined, buffers: BodyBuffers): Gathering => {
  const buffer = announced === undefined ? undefined : buffers.take(announced);
  return buffer === undefined ? gatherChunks() : gatherInto(buffer, buffers);
};

/** API servers wait five seconds at most for an answer: nobody wants that of a body which takes longer. */
export const BODY_TIMEOUT_MS = 6_000;

export interface ReadBodyOptions {
  budget: Budget;
  buffers: BodyBuffers;
  /** From the end of the headers to the end of the body, milliseconds. */
  timeoutMs: number;
}

/**
 * Calls `done` exactly once. An announced length is checked before a byte is read, and what holding the body costs is
 * reserved: a body of 65 KiB in a lent buffer of 1 MiB is 1 MiB, or else the budget would promise a bound that many such
 * bodies pass sixteenfold. The default of 64 MiB is 64 lent buffers at a time, more than twice the connections of an API
 * server. Without an announced length, bytes are reserved as they come. A small body is one chunk and is never copied.
 */
export const readBody = (
  request: IncomingMessage,
  { budget, buffers, timeoutMs }: ReadBodyOptions,
  done: (body: Body) => void,
): void => {
  const announced = announcedLength(request);
  if (announced !== undefined && announced > MAX_BODY_BYTES) return done({ kind: 'tooLarge' });
  let reserved = announced === undefined ? 0 : buffers.cost(announced);
  if (!budget.reserve(reserved)) return done({ kind: 'busy' });
  const gathering = gather(announced, buffers);
  let length = 0;
  let finished = false;
  const finish = (kind: Body['kind']): void => {
    if (finished) return;
    finished = true;
    clearTimeout(deadline);
    budget.free(reserved);
    const text = kind === 'complete' ? gathering.text() : '';
    gathering.release();
    done(kind === 'complete' ? { kind, text, bytes: length } : { kind });
  };
  // What it holds of the budget is then there for others.
  const deadline = setTimeout(() => finish('late'), timeoutMs);
  deadline.unref();
  request.on('data', (chunk: Buffer) => {
    if (finished) return;
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return finish('tooLarge');
    if (length > reserved) {
      if (!budget.reserve(length - reserved)) return finish('busy');
      reserved = length;
    }
    gathering.add(chunk);
  });
  request.once('end', () => finish('complete'));
  request.once('error', () => finish('truncated'));
  request.once('close', () => finish('truncated'));
};
