// Says which reconciler owns a namespace: exactly one, or none, whatever modes are on at once. Pure.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Namespace } from '../../apis/core.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import { LABEL_ROUTING } from '../../apis/names.ts';
import { nameOf } from '../../apis/object.ts';
import { classifyNamespace } from '../../gardener/namespaces.ts';

export const OWNERS = ['shoot-settings', 'garden-settings', 'extension-settings', 'cluster-settings'] as const;
export type Owner = (typeof OWNERS)[number];

export type OwnershipRules = Pick<SettingsReconcilerConfiguration, 'modes' | 'excludedNamespaces'>;

/** gardener-operator names the namespaces of extensions in the garden runtime cluster so; gardenlet's begin with `extension-`. */
const RUNTIME_EXTENSION = 'runtime-extension-';

/**
 * Whether the namespace is one for a mode that is not on here: an installation beside this one may look after it, as on a seed
 * that is also the garden runtime.
 */
export const isOwnedElsewhere = (namespace: Namespace, { modes }: Pick<OwnershipRules, 'modes'>): boolean => {
  const all = {
    garden: modes.garden ?? { namespace: 'garden', gardener: {} },
    seed: modes.seed ?? { extensionServices: true, gardener: {} },
  };
  const isOwned = (by: OwnershipRules['modes']): boolean =>
    ownerOf(namespace, { modes: by, excludedNamespaces: [] }) !== undefined;
  return !isOwned(modes) && isOwned(all);
};

export interface OrphanRules extends OwnershipRules {
  readonly installation: SettingsReconcilerConfiguration['installation'];
}

/**
 * Whether this installation is to release what is marked in the namespace: no mode owns it, it is not excluded, and no
 * installation beside this one may look after it, by its own label or by a mode that is not on here.
 */
export const isOrphaned = (namespace: Namespace, rules: OrphanRules): boolean => {
  const { excludedNamespaces, installation } = rules;
  if (excludedNamespaces.includes(nameOf(namespace)) || ownerOf(namespace, rules) !== undefined) return false;
  const label = namespace.metadata?.labels?.[LABEL_ROUTING];
  if (label !== undefined && label !== installation.routingLabel) return false;
  return installation.claim === undefined || !isOwnedElsewhere(namespace, rules);
};

/** The owner of the namespace of this name, by the cache; undefined where it has none, or is not there. */
export const ownersIn =
  ({ namespaces }: { readonly namespaces: { get(ref: ObjectRef): Namespace | undefined } }, rules: OwnershipRules) =>
  (name: string): Owner | undefined => {
    const namespace = namespaces.get({ name });
    return namespace === undefined ? undefined : ownerOf(namespace, rules);
  };

/** The one reconciler that may write in a namespace; undefined where none may. */
export const ownerOf = (namespace: Namespace, { modes, excludedNamespaces }: OwnershipRules): Owner | undefined => {
  const name = nameOf(namespace);
  if (excludedNamespaces.includes(name)) return undefined;
  const { kind } = classifyNamespace(namespace);
  if (modes.garden?.namespace === name) return 'garden-settings';
  const shootLike = kind === 'shoot' || kind === 'selfHosted';
  if (shootLike && modes.seed !== undefined) return 'shoot-settings';
  if (kind === 'extension') {
    const runtime = name.startsWith(RUNTIME_EXTENSION);
    if (runtime && modes.garden !== undefined) return 'garden-settings';
    if (!runtime && modes.seed !== undefined) return modes.seed.extensionServices ? 'extension-settings' : undefined;
  }
  if (modes.cluster === undefined) return undefined;
  const { namespaces } = modes.cluster;
  return namespaces.length === 0 || namespaces.includes(name) ? 'cluster-settings' : undefined;
};

/** Whether the namespace has the label by which an installation marks those whose settings are kept. */
export const isRoutingLabelled = ({ metadata }: Namespace, value = 'true'): boolean =>
  metadata?.labels?.[LABEL_ROUTING] === value;
