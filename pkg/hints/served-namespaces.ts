// Which namespaces admission leaves alone.

/** Gardener looks after these two namespaces and takes webhooks away that could stand in its way there. */
const GUARDED_NAMESPACES: readonly string[] = ['kube-system', 'default'];

/** Namespaces that are never served: the own and the guarded ones unless included, and those that are excluded. */
export const excludedNamespacesOf = (
  ownNamespace: string,
  { included, excluded }: { readonly included: readonly string[]; readonly excluded: readonly string[] },
): string[] =>
  [...new Set([ownNamespace, ...GUARDED_NAMESPACES, ...excluded])].filter((name) => !included.includes(name)).sort();
