// Clients whose every write is checked first, and again each time before it is sent: by any rule, or by leadership.
import type { Client, Refusal } from './types.ts';

/** Reads as `client` does; a write is sent where `refusal` says undefined, and rejects with what it says otherwise. */
export const createGuardedClient = (client: Client, refusal: Refusal): Client => {
  /** Runs the write, or does not. Options that refuse by themselves are asked as well. */
  const guarded = <O extends { refusal?: Refusal }, R>(
    options: O | undefined,
    write: (options: O & { refusal: Refusal }) => Promise<R>,
  ): Promise<R> => {
    const both = (): Error | undefined => refusal() ?? options?.refusal?.();
    const refused = both();
    return refused === undefined ? write({ ...(options as O), refusal: both }) : Promise.reject(refused);
  };
  return {
    server: client.server,
    get: (...args) => client.get(...args),
    list: (...args) => client.list(...args),
    pages: (...args) => client.pages(...args),
    watch: (...args) => client.watch(...args),
    raw: (...args) => client.raw(...args),
    text: (...args) => client.text(...args),
    create: (resource, object, options, signal) =>
      guarded(options, (asking) => client.create(resource, object, asking, signal)),
    update: (resource, object, options, signal) =>
      guarded(options, (asking) => client.update(resource, object, asking, signal)),
    patch: (resource, ref, type, patch, options, signal) =>
      guarded(options, (asking) => client.patch(resource, ref, type, patch, asking, signal)),
    delete: (resource, ref, options, signal) =>
      guarded(options, (asking) => client.delete(resource, ref, asking, signal)),
    close: () => client.close(),
  };
};

/** A write that was not sent because another process leads, or may lead by now. */
export class NotLeadingError extends Error {
  override readonly name = 'NotLeadingError';

  constructor() {
    super('not sent: this process no longer holds the lease');
  }
}

/** Reads as `client` does; each write asks `holds` first and rejects with NotLeadingError where the answer is no. */
export const createFencedClient = (client: Client, holds: () => boolean): Client =>
  createGuardedClient(client, () => (holds() ? undefined : new NotLeadingError()));
