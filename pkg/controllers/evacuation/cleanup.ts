// SPDX-License-Identifier: Apache-2.0
// Returns every evacuated slice of the cluster: needs nothing but the API server.
import type { EndpointSlice } from '../../apis/core.ts';
import { ANNOTATION_EVACUATED } from '../../apis/names.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import { writeSlices } from './apply.ts';

export interface ReturnOptions {
  client: Pick<Client, 'pages' | 'patch'>;
  clock: Pick<Clock, 'monotonic'>;
}

/** An owner that writes at the same moment makes a write conflict; it will not do so many times in a row. */
const TRIES = 5;

/** Answers are not cached: the next list brings them. */
const NO_CACHE = { beginWrite: () => () => undefined };

const marked = async ({ client }: ReturnOptions, signal: AbortSignal): Promise<EndpointSlice[]> => {
  const found: EndpointSlice[] = [];
  for await (const { items } of client.pages<EndpointSlice>(ENDPOINT_SLICES, {}, signal))
    found.push(...items.filter(({ metadata }) => metadata?.annotations?.[ANNOTATION_EVACUATED] !== undefined));
  return found;
};

/** The number of slices that were returned. */
export const returnSlices = async (options: ReturnOptions, signal: AbortSignal): Promise<number> => {
  const { client, clock } = options;
  let returned = 0;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const guard = createRewriteGuard({ clock, delayMs: () => 0 });
    const { written, retryMs } = await writeSlices(
      await marked(options, signal),
      undefined,
      { client, slices: NO_CACHE, guard },
      signal,
    );
    returned += written;
    if (retryMs === undefined) return returned;
  }
  return returned;
};
