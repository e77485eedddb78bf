// Gathers the snapshot of a namespace from the caches and has it decided by its one owner; dry run and controller share it.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Namespace, Service } from '../../apis/core.ts';
import type { ExtensionClass } from '../../apis/extension.ts';
import type { Cluster } from '../../apis/gardener.ts';
import { LABEL_ETCD_CLIENTS } from '../../apis/names.ts';
import { zoneOfNode } from '../../apis/readings.ts';
import { nameOf } from '../../apis/object.ts';
import type { Governing } from '../../gardener/extension/types.ts';
import { classifyNamespace } from '../../gardener/namespaces.ts';
import type { RoutingDecision } from '../../gardener/types.ts';
import { etcdsIn, servicesIn } from './caches.ts';
import type { SettingsCaches } from './caches.ts';
import { decideClusterSettings } from './decide/cluster.ts';
import { decideExtensionSettings } from './decide/extension.ts';
import { decideGardenSettings } from './decide/garden.ts';
import { carriesApplied, planService } from './decide/objects.ts';
import { chooseSeed, decideShootSettings } from './decide/shoot.ts';
import type { SeedReading } from './decide/shoot.ts';
import { governingOf } from './homes.ts';
import { isOrphaned, isRoutingLabelled, ownersIn } from './ownership.ts';
import type { OrphanRules, Owner } from './ownership.ts';
import type { Decider, NamespaceDecision, RoutingContext } from './types.ts';

interface ReleaseSnapshot {
  readonly namespace: Namespace;
  /** Value of the routing label by which this installation marks namespaces. */
  readonly label: string;
  readonly services: readonly Service[];
  readonly context: RoutingContext;
}

/** Undefined where nothing is left to release: no settings, and no label. */
export const decideRelease = (snapshot: ReleaseSnapshot): NamespaceDecision | undefined => {
  const { namespace, label, services, context } = snapshot;
  const name = nameOf(namespace);
  const message = `Namespace ${name} does not have the role or name by which a mode owns it; its settings are removed`;
  const decision: RoutingDecision = { kind: 'refused', reason: 'NamespaceNotOwned', message };
  const objects = services
    .filter(carriesApplied)
    .map((service) => planService(service, decision, context))
    // A strategy label that follows the annotation of a Service is admission's, in every namespace.
    .filter(({ plan }) => plan.kind === 'patch');
  const labelled =
    isRoutingLabelled(namespace, label) || namespace.metadata?.labels?.[LABEL_ETCD_CLIENTS] !== undefined;
  if (objects.length === 0 && !labelled) return undefined;
  return {
    owner: 'none',
    namespace: name,
    decision,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name },
    source: 'none',
    objects,
  };
};

export interface DeciderOptions {
  readonly caches: SettingsCaches;
  readonly config: Pick<SettingsReconcilerConfiguration, 'modes' | 'excludedNamespaces'>;
  context(): RoutingContext;
}

export interface ReleaseOptions extends DeciderOptions {
  readonly config: OrphanRules;
}

/** All Clusters carry the same Seed, each as old as its last reconcile; the one written last is the freshest. */
const freshest = (clusters: readonly Cluster[]): Cluster | undefined => {
  const version = ({ metadata }: Cluster): bigint => {
    const text = metadata?.resourceVersion ?? '';
    return /^\d+$/.test(text) ? BigInt(text) : 0n;
  };
  return clusters
    .filter(({ spec }) => spec?.seed !== undefined)
    .reduce<Cluster | undefined>(
      (best, next) => (best === undefined || version(next) > version(best) ? next : best),
      undefined,
    );
};

/** The Seed by the freshest source; `cluster` is the last one. */
const readSeed = ({ caches, config }: DeciderOptions, cluster: () => Cluster | undefined): SeedReading => {
  const { seed: configured, seedName: name } = config.modes.seed ?? {};
  const live = caches.liveSeed?.list()[0];
  const needed = live === undefined && configured === undefined;
  return chooseSeed({ live, configured, ofCluster: needed ? cluster()?.spec?.seed : undefined, name });
};

const decideShoot =
  (options: DeciderOptions): Decider =>
  (name) => {
    const { caches, config, context } = options;
    const namespace = caches.namespaces.get({ name });
    if (namespace === undefined) return undefined;
    const cluster = caches.clusters?.get({ name });
    return decideShootSettings({
      namespace: name,
      selfHosted: classifyNamespace(namespace).kind === 'selfHosted',
      cluster,
      seed: readSeed(options, () => cluster),
      services: servicesIn(caches, name),
      etcds: etcdsIn(caches, name),
      gardener: config.modes.seed?.gardener ?? {},
      governing: governing(options, 'shoot', name),
      context: context(),
    });
  };

const decideExtension =
  (options: DeciderOptions): Decider =>
  (namespace) => {
    const { caches, context } = options;
    return decideExtensionSettings({
      namespace,
      seed: readSeed(options, () => freshest(caches.clusters?.list() ?? [])),
      services: servicesIn(caches, namespace),
      governing: governing(options, 'seed', namespace),
      context: context(),
    });
  };

const decideGarden =
  (options: DeciderOptions): Decider =>
  (namespace) => {
    const { caches, config, context } = options;
    return decideGardenSettings({
      namespace,
      components: namespace === config.modes.garden?.namespace,
      // Gardener allows exactly one Garden.
      garden: caches.gardens?.list()[0],
      services: servicesIn(caches, namespace),
      etcds: etcdsIn(caches, namespace),
      gardener: config.modes.garden?.gardener ?? {},
      governing: governing(options, 'garden', namespace),
      context: context(),
    });
  };

/**
 * Ready or not: a zone whose Nodes fail, or that is not heard of for a moment, is no reason to rewrite all Services twice. Proxies
 * fall back by themselves. Undefined where no Node is known: refused, not served or an empty list; a cluster whose Services are
 * used has Nodes.
 */
const clusterZones = ({ nodes }: Pick<SettingsCaches, 'nodes'>): string[] | undefined => {
  const known = nodes.list();
  if (known.length === 0) return undefined;
  return known.map(zoneOfNode).filter((zone) => zone !== '');
};

const decideCluster =
  ({ caches, context }: DeciderOptions): Decider =>
  (namespace) =>
    decideClusterSettings({
      namespace,
      zones: clusterZones(caches),
      services: servicesIn(caches, namespace),
      context: context(),
    });

const governing = (
  { caches, config }: DeciderOptions,
  extensionClass: ExtensionClass,
  namespace: string,
): Governing | undefined => governingOf(caches, extensionClass, namespace, config.modes);

/** What is to be released in a namespace; undefined where it has an owner, may have one elsewhere, or holds nothing to release. */
export const createReleaseDecider = ({ caches, config, context }: ReleaseOptions): Decider => {
  const label = config.installation.routingLabel;
  return (name) => {
    const namespace = caches.namespaces.get({ name });
    if (namespace === undefined || !isOrphaned(namespace, config)) return undefined;
    return decideRelease({ namespace, label, services: servicesIn(caches, name), context: context() });
  };
};

/** Decides a namespace by the one owner that it has at this moment; undefined where it has none. */
export const createDecider = (options: DeciderOptions): Decider => {
  const { caches, config } = options;
  const deciders: Record<Owner, Decider> = {
    'shoot-settings': decideShoot(options),
    'extension-settings': decideExtension(options),
    'garden-settings': decideGarden(options),
    'cluster-settings': decideCluster(options),
  };
  const ownerOfName = ownersIn(caches, config);
  return (name) => {
    const owner = ownerOfName(name);
    return owner === undefined ? undefined : deciders[owner](name);
  };
};
