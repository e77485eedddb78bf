// Gathers the snapshot of a namespace from the caches and has it decided by its one owner; dry run and controller share it.
// Where Extensions of each class are read from, and which one counts for a namespace; from the cache.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import { type Namespace, type Service, zoneOfNode } from '../../apis/core.ts';
import type { Cluster, ExtensionClass } from '../../apis/gardener.ts';
import { EXTENSION_TYPE, LABEL_ETCD_CLIENTS } from '../../apis/names.ts';
import { nameOf } from '../../apis/values.ts';
import { PROVIDER_CONFIG_FIELD } from '../../apis/routing-config.ts';
import { type Governing, governingExtension } from '../../gardener/extension/select.ts';
import { type RoutingDecision, classifyNamespace } from '../../gardener/types.ts';
import { type SettingsCaches, etcdsIn, inNamespace, servicesIn } from './caches.ts';
import {
  type SeedReading,
  chooseSeed,
  decideClusterSettings,
  decideExtensionSettings,
  decideGardenSettings,
  decideShootSettings,
} from './decide/modes.ts';
import { carriesApplied, planService } from './decide/objects.ts';
import { isOrphaned, isRoutingLabelled, ownersIn } from './context.ts';
import type { Decider, NamespaceDecision, OrphanRules, Owner, RoutingContext } from './context.ts';

type Modes = SettingsReconcilerConfiguration['modes'];

/** Where gardenlet puts what belongs to the seed as a whole. */
const SEED_NAMESPACE = 'garden';

/** What the modes answer for: a garden runtime and a seed may be two installations in one cluster. */
export const extensionClassesOf = ({ seed, garden }: Modes): ExtensionClass[] => [
  ...(seed === undefined ? [] : (['shoot', 'seed'] as const)),
  ...(garden === undefined ? [] : (['garden'] as const)),
];

/**
 * The namespace that Extensions of a class are read from. Of class shoot it is each Shoot's own; of the others Gardener's
 * alone, so that who may create objects in some other namespace has no say in all of them.
 */
export const extensionNamespaceOf = (extensionClass: ExtensionClass, own: string, { garden }: Modes): string => {
  if (extensionClass === 'shoot') return own;
  return extensionClass === 'garden' ? (garden?.namespace ?? SEED_NAMESPACE) : SEED_NAMESPACE;
};

/** Stands for what we may not read: it may ask for anything, so everything is held. */
const unreadable = (namespace: string, extensionClass: ExtensionClass): Governing => ({
  name: `${namespace}/${EXTENSION_TYPE}`,
  class: extensionClass,
  reading: {
    kind: 'invalid',
    problems: [{ field: PROVIDER_CONFIG_FIELD, message: 'cannot be read: the API server refuses to list Extensions' }],
  },
});

/** The Extension of a class whose configuration counts for a namespace. */
export const governingOf = (
  caches: Pick<SettingsCaches, 'extensions'>,
  extensionClass: ExtensionClass,
  namespace: string,
  modes: Modes,
): Governing | undefined => {
  const place = extensionNamespaceOf(extensionClass, namespace, modes);
  if (caches.extensions?.state === 'refused') return unreadable(place, extensionClass);
  return governingExtension(inNamespace(caches.extensions, place), extensionClass);
};

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

interface DeciderOptions {
  readonly caches: SettingsCaches;
  readonly config: Pick<SettingsReconcilerConfiguration, 'modes' | 'excludedNamespaces'>;
  context(): RoutingContext;
}

interface ReleaseOptions extends DeciderOptions {
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
