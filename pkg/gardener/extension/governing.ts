// Which Extensions this installation is responsible for, and whose configuration applies where. Pure.
import { EXTENSION_CLASSES } from '../../apis/extension.ts';
import type { Extension, ExtensionClass } from '../../apis/extension.ts';
import { EXTENSION_TYPE } from '../../apis/names.ts';
import type { Governing, ReadExtension } from './types.ts';

/** Unset and empty mean `shoot`, as for Gardener; undefined for a class that this release does not know. */
export const extensionClassOf = ({ spec }: Pick<Extension, 'spec'>): ExtensionClass | undefined =>
  EXTENSION_CLASSES.find((name) => name === (spec?.class || 'shoot'));

/** Whether an Extension is of our type and of one of the classes that this process answers for. */
export const isResponsible = (extension: Extension, classes: readonly ExtensionClass[]): boolean => {
  const own = extensionClassOf(extension);
  return extension.spec?.type === EXTENSION_TYPE && own !== undefined && classes.includes(own);
};

export const extensionNameOf = ({ metadata }: Extension): string =>
  `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

/** Leaving with its Shoot for another seed: what it asked for stays until Gardener takes the namespace down. */
const isMigrating = ({ status }: Extension): boolean => status?.lastOperation?.type === 'Migrate';

const byName = (one: Extension, other: Extension): number => (extensionNameOf(one) < extensionNameOf(other) ? -1 : 1);

/**
 * The Extension of a class whose configuration counts; Gardener makes one for each Shoot, Seed and Garden, and of several
 * the first by name counts. One that is being deleted asks for nothing any more.
 *
 * @param extensions those of the one namespace that the class is read from.
 */
export const governingExtension = (
  extensions: readonly ReadExtension[],
  wanted: ExtensionClass,
): Governing | undefined => {
  const [first] = extensions
    .filter((extension) => isResponsible(extension, [wanted]))
    .filter((extension) => extension.metadata?.deletionTimestamp === undefined || isMigrating(extension))
    .sort(byName);
  if (first === undefined) return undefined;
  return { name: extensionNameOf(first), class: wanted, reading: first.reading ?? { kind: 'absent' } };
};
