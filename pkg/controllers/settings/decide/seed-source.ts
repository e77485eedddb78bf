// SPDX-License-Identifier: Apache-2.0
// Picks the freshest Seed there is: live from the virtual garden, else from the configuration, else from the Cluster. Pure.
import type { Seed } from '../../../apis/gardener.ts';

/** Where a Seed was read from; reports name it because the last one is only as fresh as the last Shoot reconcile. */
export type SeedSource = 'garden' | 'configuration' | 'Cluster' | 'none';

export interface SeedReading {
  readonly seed: Pick<Seed, 'metadata' | 'spec'> | undefined;
  readonly source: SeedSource;
}

export interface SeedCandidates {
  readonly live: Seed | undefined;
  readonly configured: Pick<Seed, 'spec'> | undefined;
  readonly ofCluster: Seed | undefined;
  /** Name for messages where the Seed has none of its own. */
  readonly name?: string | undefined;
}

export const chooseSeed = ({ live, configured, ofCluster, name }: SeedCandidates): SeedReading => {
  if (live !== undefined) return { seed: live, source: 'garden' };
  if (configured !== undefined) {
    return { seed: { ...(name === undefined ? {} : { metadata: { name } }), ...configured }, source: 'configuration' };
  }
  return ofCluster === undefined ? { seed: undefined, source: 'none' } : { seed: ofCluster, source: 'Cluster' };
};
