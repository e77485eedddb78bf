// A client that cannot write: what is only to be read is safe by construction, not by care.
import { createGuardedClient } from '../../pkg/kubernetes/guarded-client.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';

/** Reads as `client` does; every write rejects with `why`, a sentence. */
export const readOnly = (client: Client, why: string): Client => createGuardedClient(client, () => new Error(why));
