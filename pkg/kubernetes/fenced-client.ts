// SPDX-License-Identifier: Apache-2.0
// A client that stops writing the moment its process no longer leads, whatever was about to be sent.
import { createGuardedClient } from './guarded-client.ts';
import type { Client } from './types.ts';

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
