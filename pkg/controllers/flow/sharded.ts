// SPDX-License-Identifier: Apache-2.0
// Plans only the Services whose namespaces are in shards that this replica holds, and forgets the others.
import { shardOf } from '../../kubernetes/shards.ts';
import type { Shards } from '../../kubernetes/shards.ts';
import type { Reconciler, Result } from '../../kubernetes/types.ts';
import { signals } from '../../kubernetes/watches.ts';
import type { Watch } from '../../kubernetes/watches.ts';
import { splitKey } from './snapshots.ts';
import type { Snapshots } from './snapshots.ts';

/** All Services of a shard that was taken, to be planned, or that is gone, to be forgotten. */
export const ofShards = (
  { count, held, onChange }: Pick<Shards, 'count' | 'held' | 'onChange'>,
  { services }: Pick<Snapshots, 'services'>,
): Watch =>
  signals((enqueue) => {
    const all = (shard: number): void => {
      for (const key of services()) if (shardOf(splitKey(key).namespace, count) === shard) enqueue(key);
    };
    onChange(all);
    // Taken before the caches that are watched were filled.
    for (const shard of held()) all(shard);
  });

const DONE: Result = { kind: 'done' };

/** `drop`: the Service is another replica's, and nothing of it is changed. */
export const reconcileWithin =
  (
    { within }: Pick<Shards, 'within'>,
    reconcile: Reconciler['reconcile'],
    drop: (key: string) => void,
  ): Reconciler['reconcile'] =>
  async (key, signal) => {
    const result = await within(splitKey(key).namespace, signal, (own) => reconcile(key, own));
    if (result === undefined) drop(key);
    return result ?? DONE;
  };
