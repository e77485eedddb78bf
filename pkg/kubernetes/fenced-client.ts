// SPDX-License-Identifier: Apache-2.0
// A client that stops writing the moment its process no longer leads, whatever was about to be sent.
import type { Client } from './types.ts';

/** A write that was not sent because another process leads, or may lead by now. */
export class NotLeadingError extends Error {
  override readonly name = 'NotLeadingError';

  constructor() {
    super('not sent: this process no longer holds the lease');
  }
}

/** Reads as `client` does; each write asks `holds` first and rejects with NotLeadingError where the answer is no. */
export const createFencedClient = (client: Client, holds: () => boolean): Client => {
  /** Runs the write, or does not. */
  const fenced = <R>(write: () => Promise<R>): Promise<R> =>
    holds() ? write() : Promise.reject(new NotLeadingError());
  return {
    server: client.server,
    get: (...args) => client.get(...args),
    list: (...args) => client.list(...args),
    pages: (...args) => client.pages(...args),
    watch: (...args) => client.watch(...args),
    raw: (...args) => client.raw(...args),
    create: (...args) => fenced(() => client.create(...args)),
    update: (...args) => fenced(() => client.update(...args)),
    patch: (...args) => fenced(() => client.patch(...args)),
    delete: (...args) => fenced(() => client.delete(...args)),
    close: () => client.close(),
  };
};
