// SPDX-License-Identifier: Apache-2.0
// A client whose every write is asked about first.
import type { Client } from './types.ts';

/** Reads as `client` does; a write is sent where `refusal` says undefined, and rejects with what it says otherwise. */
export const createGuardedClient = (client: Client, refusal: () => Error | undefined): Client => {
  /** Runs the write, or does not. */
  const guarded = <R>(write: () => Promise<R>): Promise<R> => {
    const refused = refusal();
    return refused === undefined ? write() : Promise.reject(refused);
  };
  return {
    server: client.server,
    get: (...args) => client.get(...args),
    list: (...args) => client.list(...args),
    pages: (...args) => client.pages(...args),
    watch: (...args) => client.watch(...args),
    raw: (...args) => client.raw(...args),
    text: (...args) => client.text(...args),
    create: (...args) => guarded(() => client.create(...args)),
    update: (...args) => guarded(() => client.update(...args)),
    patch: (...args) => guarded(() => client.patch(...args)),
    delete: (...args) => guarded(() => client.delete(...args)),
    close: () => client.close(),
  };
};
