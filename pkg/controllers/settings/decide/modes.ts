// Decides the settings of everything in one namespace, by the mode that owns it. Pure.
import type { Service } from '../../../apis/core.ts';
import type { Cluster, Garden, Seed } from '../../../apis/gardener.ts';
import { LABEL_MANAGED } from '../../../apis/names.ts';
import { CLUSTERS, GARDENS, regardingOf } from '../../../apis/resources.ts';
import {
  decideClusterRouting,
  decideGardenRouting,
  decideSeedExtensionRouting,
  decideShootRouting,
} from '../../../gardener/decide.ts';
import { heldByConfiguration } from '../../../gardener/extension/select.ts';
import { type GardenerInformation, layerSevenOf } from '../../../gardener/catalogue.ts';
import type { RoutingDecision } from '../../../gardener/types.ts';
import { isMadeByDruid } from '../../../routing/etcd-clients.ts';
import { requestedStrategy } from '../../../routing/strategy.ts';
import type { NamespaceDecision, ObjectDecision } from '../context.ts';
import { type ObjectsInput, carriesApplied, decideObjects, planService } from './objects.ts';

/** What is read of a namespace, whatever mode owns it. */
interface Snapshot extends Pick<ObjectsInput, 'services' | 'context'> {
  readonly namespace: string;
}

type GardenerSnapshot = Snapshot & Pick<ObjectsInput, 'governing'>;

interface ControlPlaneSnapshot extends GardenerSnapshot, Pick<ObjectsInput, 'etcds'> {
  readonly gardener: GardenerInformation;
}

/** The decision of a namespace; events are about the namespace, unless `more` names another object. */
const decided = (
  owner: NamespaceDecision['owner'],
  name: string,
  more: Pick<NamespaceDecision, 'decision' | 'source' | 'objects'> & Partial<NamespaceDecision>,
): NamespaceDecision => ({ owner, namespace: name, regarding: { apiVersion: 'v1', kind: 'Namespace', name }, ...more });

const decideService = (service: Service, cluster: RoutingDecision): RoutingDecision | undefined => {
  const { namespace, name, labels } = service.metadata ?? {};
  const managed = labels?.[LABEL_MANAGED];
  const field = `metadata.labels[${LABEL_MANAGED}]`;
  const subject = `Service ${namespace ?? ''}/${name ?? ''}`;
  if (managed === 'false')
    return { kind: 'refused', reason: 'Excluded', message: `${subject} is labelled ${LABEL_MANAGED}: "false"`, field };
  if (isMadeByDruid(service)) return undefined;
  if (managed === 'true' || requestedStrategy(service) !== undefined) return cluster;
  if (!carriesApplied(service)) return undefined;
  return { kind: 'refused', reason: 'NotInCatalogue', message: `${subject} no longer asks for routing by zone`, field };
};

/**
 * Services that ask by label or annotation, in a cluster without Gardener. Undefined where none asks for anything: the usual case.
 *
 * @param snapshot `zones` of the Nodes; undefined where no Node is known.
 */
export const decideClusterSettings = (
  snapshot: Snapshot & { readonly zones: readonly string[] | undefined },
): NamespaceDecision | undefined => {
  const { namespace, zones, services, context } = snapshot;
  const decision = decideClusterRouting(zones);
  const objects = services.flatMap((service): ObjectDecision[] => {
    const own = decideService(service, decision);
    return own === undefined ? [] : [planService(service, own, context)];
  });
  return objects.length === 0
    ? undefined
    : decided('cluster-settings', namespace, { decision, source: 'Nodes', objects });
};

/** Reports name the source, because a Cluster's Seed is only as fresh as the last Shoot reconcile. */
export interface SeedReading {
  readonly seed: Pick<Seed, 'metadata' | 'spec'> | undefined;
  readonly source: 'garden' | 'configuration' | 'Cluster' | 'none';
}

export interface ShootSnapshot extends ControlPlaneSnapshot {
  /** kube-system of a shoot that hosts itself: it has no Cluster. */
  readonly selfHosted: boolean;
  readonly cluster: Cluster | undefined;
  readonly seed: SeedReading;
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
  const { namespace, cluster, seed, services, gardener, governing } = snapshot;
  const decision = heldByConfiguration(decideNamespace(snapshot), governing);
  const layerSeven = layerSevenOf(services, gardener, cluster?.spec?.shoot?.metadata?.annotations);
  return decided('shoot-settings', namespace, {
    scope: 'shoot',
    decision,
    ...(cluster && { regarding: regardingOf(CLUSTERS, cluster) }),
    source: seed.source,
    objects: decideObjects({ ...snapshot, decision, scope: 'shoot', layerSevenOf: layerSeven }),
  });
};

/** Labelled Services of a seed extension, by the Seed's setting alone. */
export const decideExtensionSettings = (
  options: GardenerSnapshot & { readonly seed: SeedReading },
): NamespaceDecision => {
  const { namespace, seed, governing } = options;
  const decision = heldByConfiguration(decideSeedExtensionRouting(seed.seed), governing);
  const objects = decideObjects({ ...options, decision, scope: undefined, etcds: [] });
  return decided('extension-settings', namespace, { decision, source: seed.source, objects });
};

export interface GardenSnapshot extends ControlPlaneSnapshot {
  /** True for the garden namespace itself: its catalogue applies. False in namespaces of extensions. */
  readonly components: boolean;
  readonly garden: Garden | undefined;
}

/** The garden namespace and those of runtime extensions, by the Garden. */
export const decideGardenSettings = (snapshot: GardenSnapshot): NamespaceDecision => {
  const { namespace, components, garden, services, gardener, governing } = snapshot;
  const decision = heldByConfiguration(decideGardenRouting(garden), governing);
  const scope = components ? 'garden' : undefined;
  return decided('garden-settings', namespace, {
    scope,
    decision,
    ...(components && garden?.metadata?.name !== undefined && { regarding: regardingOf(GARDENS, garden) }),
    source: garden === undefined ? 'none' : 'Garden',
    objects: decideObjects({ ...snapshot, decision, scope, layerSevenOf: layerSevenOf(services, gardener) }),
  });
};

/**
 * What is to be reverted in a namespace that no mode owns; undefined where nothing is left to release: no settings, and no label.
 *
 * @param snapshot `labelled`: the namespace has a label of this installation.
 */
export const decideRelease = (options: Snapshot & { readonly labelled: boolean }): NamespaceDecision | undefined => {
  const { namespace, labelled, services, context } = options;
  const message = `Namespace ${namespace} does not have the role or name by which a mode owns it; its settings are removed`;
  const decision: RoutingDecision = { kind: 'refused', reason: 'NamespaceNotOwned', message };
  const objects = services
    .filter(carriesApplied)
    .map((service) => planService(service, decision, context))
    // A strategy label that follows the annotation of a Service is admission's, in every namespace.
    .filter(({ plan }) => plan.kind === 'patch');
  return objects.length > 0 || labelled ? decided('none', namespace, { decision, source: 'none', objects }) : undefined;
};
