// Where Extensions of each class are read from, and which one counts for a namespace; from the cache.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { ExtensionClass } from '../../apis/extension.ts';
import { EXTENSION_TYPE } from '../../apis/names.ts';
import { PROVIDER_CONFIG_FIELD } from '../../apis/routing-config.ts';
import { governingExtension } from '../../gardener/extension/governing.ts';
import type { Governing } from '../../gardener/extension/types.ts';
import { inNamespace } from './caches.ts';
import type { SettingsCaches } from './caches.ts';

type Modes = SettingsReconcilerConfiguration['modes'];

/** Where gardenlet puts what belongs to the seed as a whole. */
const SEED_HOME = 'garden';

/** What the modes answer for: a garden runtime and a seed may be two installations in one cluster. */
export const extensionClassesOf = ({ seed, garden }: Modes): ExtensionClass[] => [
  ...(seed === undefined ? [] : (['shoot', 'seed'] as const)),
  ...(garden === undefined ? [] : (['garden'] as const)),
];

/**
 * The namespace that Extensions of a class are read from. Of class shoot it is each Shoot's own; of the others Gardener's
 * alone, so that who may create objects in some other namespace has no say in all of them.
 */
export const homeOf = (extensionClass: ExtensionClass, own: string, { garden }: Modes): string => {
  if (extensionClass === 'shoot') return own;
  return extensionClass === 'garden' ? (garden?.namespace ?? SEED_HOME) : SEED_HOME;
};

/** Stands for what we may not read: it may ask for anything, so everything is held. */
const unreadable = (home: string, extensionClass: ExtensionClass): Governing => ({
  name: `${home}/${EXTENSION_TYPE}`,
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
  const home = homeOf(extensionClass, namespace, modes);
  if (caches.extensions?.state === 'refused') return unreadable(home, extensionClass);
  return governingExtension(inNamespace(caches.extensions, home), extensionClass);
};
