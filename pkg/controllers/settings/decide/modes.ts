// Decides the settings of Services in a cluster without Gardener: those that ask by label or annotation, zones from Nodes.
// Decides the settings of everything in one shoot namespace from its Seed and Shoot.
// Decides the settings of labelled Services in the namespace of a seed extension: the Seed's setting alone.
// Decides the settings of the garden namespace, and of runtime extensions, from the Garden. Pure.
import type { Service } from '../../../apis/core.ts';
import { defined } from '../../../apis/values.ts';
import type { Cluster, Etcd, Garden, Seed } from '../../../apis/gardener.ts';
import { LABEL_MANAGED } from '../../../apis/names.ts';
import { CLUSTERS, GARDENS, apiVersionOf } from '../../../apis/resources.ts';
import {
  decideClusterRouting,
  decideGardenRouting,
  decideSeedExtensionRouting,
  decideShootRouting,
} from '../../../gardener/decide.ts';
import { type Governing, heldByConfiguration } from '../../../gardener/extension/select.ts';
import { type GardenerInformation, layerSevenOf } from '../../../gardener/catalogue.ts';
import type { RoutingDecision } from '../../../gardener/types.ts';
import { isMadeByDruid } from '../../../routing/etcd-clients.ts';
import { requestedStrategy } from '../../../routing/strategy.ts';
import type { NamespaceDecision, ObjectDecision, RoutingContext } from '../context.ts';
import { carriesApplied, decideObjects, planService } from './objects.ts';

interface ClusterSnapshot {
  readonly namespace: string;
  /** Zones of the Nodes; undefined where no Node is known. */
  readonly zones: readonly string[] | undefined;
  readonly services: readonly Service[];
  readonly context: RoutingContext;
}

const decideService = (service: Service, cluster: RoutingDecision): RoutingDecision | undefined => {
  const { namespace, name, labels } = service.metadata ?? {};
  const managed = labels?.[LABEL_MANAGED];
  const field = `metadata.labels[${LABEL_MANAGED}]`;
  const subject = `Service ${namespace ?? ''}/${name ?? ''}`;
  if (managed === 'false') {
    return { kind: 'refused', reason: 'Excluded', message: `${subject} is labelled ${LABEL_MANAGED}: "false"`, field };
  }
  if (isMadeByDruid(service)) return undefined;
  if (managed === 'true' || requestedStrategy(service) !== undefined) return cluster;
  if (!carriesApplied(service)) return undefined;
  return { kind: 'refused', reason: 'NotInCatalogue', message: `${subject} no longer asks for routing by zone`, field };
};

/** Undefined in a namespace where no Service asks for anything: the usual case in a plain cluster. */
export const decideClusterSettings = (snapshot: ClusterSnapshot): NamespaceDecision | undefined => {
  const { namespace, zones, services, context } = snapshot;
  const decision = decideClusterRouting(zones);
  const objects = services.flatMap((service): ObjectDecision[] => {
    const own = decideService(service, decision);
    return own === undefined ? [] : [planService(service, own, context)];
  });
  if (objects.length === 0) return undefined;
  return {
    owner: 'cluster-settings',
    namespace,
    decision,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name: namespace },
    source: 'Nodes',
    objects,
  };
};

/** Where a Seed was read from; reports name it because the last one is only as fresh as the last Shoot reconcile. */
type SeedSource = 'garden' | 'configuration' | 'Cluster' | 'none';

export interface SeedReading {
  readonly seed: Pick<Seed, 'metadata' | 'spec'> | undefined;
  readonly source: SeedSource;
}

interface SeedCandidates {
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

interface ExtensionSnapshot {
  readonly namespace: string;
  readonly seed: SeedReading;
  readonly services: readonly Service[];
  /** The Extension of class seed. */
  readonly governing?: Governing | undefined;
  readonly context: RoutingContext;
}

export const decideExtensionSettings = ({
  namespace,
  seed,
  services,
  governing,
  context,
}: ExtensionSnapshot): NamespaceDecision => {
  const decision = heldByConfiguration(decideSeedExtensionRouting(seed.seed), governing);
  return {
    owner: 'extension-settings',
    namespace,
    decision,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name: namespace },
    source: seed.source,
    objects: decideObjects({ decision, scope: undefined, services, etcds: [], governing, context }),
  };
};

export interface GardenSnapshot {
  readonly namespace: string;
  /** True for the garden namespace itself: its catalogue applies. False in namespaces of extensions. */
  readonly components: boolean;
  readonly garden: Garden | undefined;
  readonly services: readonly Service[];
  readonly etcds: readonly Etcd[];
  readonly gardener: GardenerInformation;
  /** The Extension of class garden. */
  readonly governing?: Governing | undefined;
  readonly context: RoutingContext;
}

export const decideGardenSettings = (snapshot: GardenSnapshot): NamespaceDecision => {
  const { namespace, components, garden, services, etcds, gardener, governing, context } = snapshot;
  const decision = heldByConfiguration(decideGardenRouting(garden), governing);
  const { name, uid } = garden?.metadata ?? {};
  return {
    owner: 'garden-settings',
    namespace,
    scope: components ? 'garden' : undefined,
    decision,
    regarding:
      components && name !== undefined
        ? { apiVersion: apiVersionOf(GARDENS), kind: GARDENS.kind, name, ...defined({ uid }) }
        : { apiVersion: 'v1', kind: 'Namespace', name: namespace },
    source: garden === undefined ? 'none' : 'Garden',
    objects: decideObjects({
      decision,
      scope: components ? 'garden' : undefined,
      services,
      etcds,
      layerSevenOf: layerSevenOf(services, gardener),
      governing,
      context,
    }),
  };
};
