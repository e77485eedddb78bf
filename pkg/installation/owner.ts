// Finds the object that what we write in the whole cluster goes with, so that the garbage collector takes it along, in whatever order we are removed.
import type { KubernetesObject, OwnerReference } from '../apis/meta.ts';
import { COMMANDS } from '../apis/names.ts';
import { CLUSTER_ROLES, NAMESPACES, type Resource, apiVersionOf } from '../apis/resources.ts';
import { ApiError, except, isForbidden, isNotFound } from '../kubernetes/errors.ts';
import type { Uses } from '../kubernetes/types.ts';

/** Resolves with undefined where the owner does not exist or may not be read; rejects with other failures. */
export type InstallationOwner = (signal?: AbortSignal) => Promise<OwnerReference | undefined>;

const referenceTo = (resource: Resource, { metadata }: KubernetesObject): OwnerReference => ({
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
  name: metadata?.name ?? '',
  uid: metadata?.uid ?? '',
});

/**
 * The ClusterRole, which first gets the namespace as its own owner. An object of several owners stays until the last of them is gone; in a chain, the
 * end of either one takes along what we wrote: of the release, which has the ClusterRole, or of the namespace.
 */
export const createInstallationOwner = (
  options: Uses<'client' | 'logger', 'get' | 'patch'> & {
    namespace: string;
    /** Our own ClusterRole, which goes with every way of uninstalling; undefined: there is none, the namespace is the owner. */
    clusterRole: string | undefined;
  },
): InstallationOwner => {
  const { client, namespace, clusterRole, logger } = options;

  /** The ClusterRole that was given its owner, by uid: a writer that removes it is not fought. */
  let chained: string | undefined;
  /** The ClusterRole as it was last seen. Where the right to read it is taken first, it is still what we go with. */
  let seen: OwnerReference | undefined;

  const read = (resource: Resource, name: string, signal?: AbortSignal): Promise<KubernetesObject | undefined> =>
    except(client.get(resource, { name }, signal), isNotFound, isForbidden);

  /** One that has owners already was given them on purpose. */
  const chain = async (role: KubernetesObject, owner: OwnerReference, signal?: AbortSignal): Promise<void> => {
    const { name = '', uid, resourceVersion, ownerReferences = [] } = role.metadata ?? {};
    if (ownerReferences.length > 0 || uid === chained) return;
    const patch = { metadata: { resourceVersion, ownerReferences: [owner] } };
    try {
      await client.patch(CLUSTER_ROLES, { name }, 'merge', patch, {}, signal);
      chained = uid;
    } catch (error) {
      // Another replica was faster, or it is not allowed: then the end of the namespace alone takes nothing along.
      if (!(error instanceof ApiError)) throw error;
      logger.debug('the ClusterRole was not given the namespace as owner', { clusterRole: name, error });
    }
  };

  return async (signal) => {
    const own = await read(NAMESPACES, namespace, signal);
    const role = clusterRole === undefined ? undefined : await read(CLUSTER_ROLES, clusterRole, signal);
    const owner = own === undefined ? undefined : referenceTo(NAMESPACES, own);
    if (role === undefined) return seen ?? owner;
    if (owner !== undefined) await chain(role, owner, signal);
    seen = referenceTo(CLUSTER_ROLES, role);
    return seen;
  };
};

/** The user of a ServiceAccount; each command's is named after it. */
export const serviceAccountUser = (namespace: string, name: string): string =>
  `system:serviceaccount:${namespace}:${name}`;

const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * Whose plans pass admission: the users that are configured, else the flow-controllers of this installation and of the one that plans.
 *
 * @param names.planning - namespace of the installation that plans, as its Lease says; empty where it does not
 */
export const plannerUsersOf = (
  configured: readonly string[],
  { ownNamespace, planning }: { readonly ownNamespace: string; readonly planning: string },
): string[] => {
  if (configured.length > 0) return [...configured];
  const namespaces = new Set([ownNamespace, ...(NAMESPACE.test(planning) ? [planning] : [])]);
  return [...namespaces].map((namespace) => serviceAccountUser(namespace, COMMANDS.flowController));
};
