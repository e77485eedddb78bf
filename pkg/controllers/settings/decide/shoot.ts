// Decides the settings of everything in one shoot namespace from its Seed and Shoot. Pure.
import type { Service } from '../../../apis/core.ts';
import { defined } from '../../../apis/defined.ts';
import type { Cluster, Etcd, Seed } from '../../../apis/gardener.ts';
import { CLUSTERS, apiVersionOf } from '../../../apis/resources.ts';
import { decideShootRouting } from '../../../gardener/decide.ts';
import { heldByConfiguration } from '../../../gardener/extension/select.ts';
import type { Governing } from '../../../gardener/extension/types.ts';
import { layerSevenOf } from '../../../gardener/layer-seven.ts';
import type { GardenerInformation } from '../../../gardener/layer-seven.ts';
import type { RoutingDecision } from '../../../gardener/types.ts';
import { decideObjects } from './objects.ts';
import type { NamespaceDecision, RoutingContext } from '../types.ts';

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

/** The freshest Seed: live from the virtual garden, else from the configuration, else from the Cluster. */
export const chooseSeed = ({ live, configured, ofCluster, name }: SeedCandidates): SeedReading => {
  if (live !== undefined) return { seed: live, source: 'garden' };
  if (configured !== undefined) {
    return { seed: { ...(name === undefined ? {} : { metadata: { name } }), ...configured }, source: 'configuration' };
  }
  return ofCluster === undefined ? { seed: undefined, source: 'none' } : { seed: ofCluster, source: 'Cluster' };
};

export interface ShootSnapshot {
  readonly namespace: string;
  /** kube-system of a shoot that hosts itself: it has no Cluster. */
  readonly selfHosted: boolean;
  readonly cluster: Cluster | undefined;
  readonly seed: SeedReading;
  readonly services: readonly Service[];
  readonly etcds: readonly Etcd[];
  readonly gardener: GardenerInformation;
  /** The Shoot's own Extension of our type. */
  readonly governing?: Governing | undefined;
  readonly context: RoutingContext;
}

const decideNamespace = ({ namespace, selfHosted, cluster, seed }: ShootSnapshot): RoutingDecision => {
  if (selfHosted) {
    const message = `Namespace ${namespace} holds the control plane of a self-hosted Shoot; no Seed applies to it`;
    return { kind: 'refused', reason: 'SelfHostedShoot', message };
  }
  if (cluster === undefined) {
    const message = `Cluster ${namespace} does not exist (yet); the Services of the namespace stay as they are`;
    return { kind: 'refused', reason: 'SourceMissing', message };
  }
  return decideShootRouting({ seed: seed.seed, shoot: cluster.spec?.shoot });
};

export const decideShootSettings = (snapshot: ShootSnapshot): NamespaceDecision => {
  const { namespace, cluster, seed, services, etcds, gardener, governing, context } = snapshot;
  const decision = heldByConfiguration(decideNamespace(snapshot), governing);
  const uid = cluster?.metadata?.uid;
  return {
    owner: 'shoot-settings',
    namespace,
    scope: 'shoot',
    decision,
    regarding: {
      ...(cluster === undefined
        ? { apiVersion: 'v1', kind: 'Namespace' }
        : { apiVersion: apiVersionOf(CLUSTERS), kind: CLUSTERS.kind }),
      name: namespace,
      ...defined({ uid }),
    },
    source: seed.source,
    objects: decideObjects({
      decision,
      scope: 'shoot',
      services,
      etcds,
      layerSevenOf: layerSevenOf(services, gardener, cluster?.spec?.shoot?.metadata?.annotations),
      governing,
      context,
    }),
  };
};
