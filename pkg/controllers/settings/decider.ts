// Gathers the snapshot of a namespace from the caches and has it decided by its one owner; dry run and controller share it.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import { zoneOfNode } from '../../apis/core.ts';
import type { Cluster, ExtensionClass } from '../../apis/gardener.ts';
import { EXTENSION_TYPE, LABEL_ETCD_CLIENTS } from '../../apis/names.ts';
import { PROVIDER_CONFIG_FIELD } from '../../apis/routing-config.ts';
import { type Governing, governingExtension } from '../../gardener/extension/select.ts';
import { classifyNamespace } from '../../gardener/types.ts';
import { type SettingsCaches, inNamespace } from './caches.ts';
import {
  type SeedReading,
  decideClusterSettings,
  decideExtensionSettings,
  decideGardenSettings,
  decideRelease,
  decideShootSettings,
} from './decide/modes.ts';
import { isOrphaned, isRoutingLabelled, ownersIn } from './context.ts';
import type { Decider, OrphanRules, Owner, RoutingContext } from './context.ts';

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

interface DeciderOptions {
  readonly caches: SettingsCaches;
  readonly config: Pick<SettingsReconcilerConfiguration, 'modes' | 'excludedNamespaces'>;
  context(): RoutingContext;
}

/** All Clusters carry the same Seed, each as old as its last reconcile; the one written last is the freshest. */
const freshest = (clusters: readonly Cluster[]): Cluster | undefined => {
  const version = ({ metadata }: Cluster): bigint => {
    const text = metadata?.resourceVersion ?? '';
    return /^\d+$/.test(text) ? BigInt(text) : 0n;
  };
  const known = clusters.filter(({ spec }) => spec?.seed !== undefined);
  return known.sort((one, other) => Number(version(other) - version(one)))[0];
};

/**
 * Ready or not: a zone whose Nodes fail, or that is not heard of for a moment, is no reason to rewrite all Services twice. Proxies fall back by
 * themselves. Undefined where no Node is known: refused, not served or an empty list; a cluster whose Services are used has Nodes.
 */
const clusterZones = ({ nodes }: Pick<SettingsCaches, 'nodes'>): string[] | undefined => {
  const known = nodes.list();
  return known.length === 0 ? undefined : known.map(zoneOfNode).filter((zone) => zone !== '');
};

/** What is to be released in a namespace; undefined where it has an owner, may have one elsewhere, or holds nothing to release. */
export const createReleaseDecider =
  ({ caches, config, context }: DeciderOptions & { readonly config: OrphanRules }): Decider =>
  (name) => {
    const namespace = caches.namespaces.get({ name });
    if (namespace === undefined || !isOrphaned(namespace, config)) return undefined;
    const labelled =
      isRoutingLabelled(namespace, config.installation.routingLabel) ||
      namespace.metadata?.labels?.[LABEL_ETCD_CLIENTS] !== undefined;
    const services = inNamespace(caches.services, name);
    return decideRelease({ namespace: name, labelled, services, context: context() });
  };

/** Decides a namespace by the one owner that it has at this moment; undefined where it has none. */
export const createDecider = ({ caches, config, context }: DeciderOptions): Decider => {
  const { modes } = config;

  /** Live from the virtual garden, else from the configuration, else from the Cluster. */
  const readSeed = (cluster: () => Cluster | undefined): SeedReading => {
    const { seed: configured, seedName } = modes.seed ?? {};
    const live = caches.liveSeed?.list()[0];
    if (live !== undefined) return { seed: live, source: 'garden' };
    if (configured !== undefined) {
      const metadata = seedName === undefined ? {} : { metadata: { name: seedName } };
      return { seed: { ...metadata, ...configured }, source: 'configuration' };
    }
    const seed = cluster()?.spec?.seed;
    return { seed, source: seed === undefined ? 'none' : 'Cluster' };
  };

  const read = (namespace: string) => ({
    namespace,
    services: inNamespace(caches.services, namespace),
    context: context(),
  });
  const readGoverned = (namespace: string, extensionClass: ExtensionClass) => ({
    ...read(namespace),
    etcds: inNamespace(caches.etcds, namespace),
    governing: governingOf(caches, extensionClass, namespace, modes),
  });

  const deciders: Record<Owner, Decider> = {
    'shoot-settings'(name) {
      const namespace = caches.namespaces.get({ name });
      if (namespace === undefined) return undefined;
      const cluster = caches.clusters?.get({ name });
      return decideShootSettings({
        ...readGoverned(name, 'shoot'),
        selfHosted: classifyNamespace(namespace).kind === 'selfHosted',
        cluster,
        seed: readSeed(() => cluster),
        gardener: modes.seed?.gardener ?? {},
      });
    },
    'extension-settings': (name) =>
      decideExtensionSettings({
        ...readGoverned(name, 'seed'),
        seed: readSeed(() => freshest(caches.clusters?.list() ?? [])),
      }),
    'garden-settings': (name) =>
      decideGardenSettings({
        ...readGoverned(name, 'garden'),
        components: name === modes.garden?.namespace,
        // Gardener allows exactly one Garden.
        garden: caches.gardens?.list()[0],
        gardener: modes.garden?.gardener ?? {},
      }),
    'cluster-settings': (name) => decideClusterSettings({ ...read(name), zones: clusterZones(caches) }),
  };
  const ownerOfName = ownersIn(caches, config);
  return (name) => {
    const owner = ownerOfName(name);
    return owner === undefined ? undefined : deciders[owner](name);
  };
};
