// What an installation puts into the whole cluster, as the suites about its end look at it, and the ways in which it ends.
import { EXTENSION_NAME } from '../../pkg/apis/names.ts';
import type { Bed } from './bed/index.ts';
import { waitFor } from './bed/machine.ts';
import type { Component } from './chart.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const CLUSTER_ROLES = `${RBAC}/clusterroles`;
export const WEBHOOKS = `${ADMISSION}/mutatingwebhookconfigurations`;

interface Named {
  metadata: { name: string; ownerReferences?: { kind: string; name: string }[] };
}

/** Names of our webhook configurations: all of ours that could block or change a write. */
export const acting = async ({ api }: Bed): Promise<string[]> =>
  (await api.list<Named>(WEBHOOKS))
    .map(({ metadata: { name } }) => name)
    .filter((name) => name.startsWith(EXTENSION_NAME));

/** ClusterRoles for people, which no process acts with: they go with the release, and give no rights unless somebody is bound to them. */
const FOR_PEOPLE = new Set([`${EXTENSION_NAME}:evacuate`, `${EXTENSION_NAME}:read-evacuations`]);

/** Kind and name of the one owner of each object of a collection of ours. */
export const ownersOf = async ({ api }: Bed, path: string): Promise<Set<string>> => {
  const items = (await api.list<Named>(path)).filter(
    ({ metadata: { name } }) => name.startsWith(EXTENSION_NAME) && !FOR_PEOPLE.has(name),
  );
  return new Set(
    items.map(({ metadata }) => (metadata.ownerReferences ?? []).map(({ kind, name }) => `${kind}/${name}`).join()),
  );
};

/** The collections that hold objects of a component, by what removing them takes away. */
const collections = (namespace: string) => {
  const inNamespace = (api: string, plural: string): string => `${api}/namespaces/${namespace}/${plural}`;
  return {
    /** The process loses its rights. */
    rights: [
      `${RBAC}/clusterrolebindings`,
      inNamespace(RBAC, 'rolebindings'),
      inNamespace(RBAC, 'roles'),
      // Where installations meet.
      `${RBAC}/namespaces/garden/rolebindings`,
      `${RBAC}/namespaces/garden/roles`,
      CLUSTER_ROLES,
      // What holds it to its fields goes with what it may do.
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
    ],
    /** The process ends, and nothing leads to it any more. */
    workload: [
      inNamespace('/api/v1', 'services'),
      inNamespace('/apis/apps/v1', 'deployments'),
      inNamespace('/api/v1', 'configmaps'),
      inNamespace('/api/v1', 'serviceaccounts'),
    ],
  } as const;
};

/** Deletes what the chart rendered for the component, as any tool would: nothing of what the component wrote itself. */
export const removeRendered = async (
  { api }: Bed,
  { namespace, release = 'tar' }: { readonly namespace: string; readonly release?: string },
  component: Component,
  what: 'rights' | 'workload',
): Promise<void> => {
  const selector = encodeURIComponent(`app.kubernetes.io/component=${component},app.kubernetes.io/instance=${release}`);
  for (const path of collections(namespace)[what]) {
    for (const { metadata } of await api.list(`${path}?labelSelector=${selector}`)) {
      await api.delete(`${path}/${metadata.name}`);
    }
  }
};

/** Waits until nothing of ours is left that could block or change a write. */
export const nothingActs = async (bed: Bed): Promise<void> =>
  void (await waitFor(
    'the end of webhooks',
    () => acting(bed),
    (found) => found.length === 0,
  ));

export const definitionNames = async ({ api }: Bed): Promise<string[]> =>
  (await api.list(DEFINITIONS))
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.endsWith('topology.extensions.gardener.cloud'));

/** A sync that is still under way brings them back: they are removed once they have stayed away for two seconds. */
export const removeDefinitions = (bed: Bed): Promise<unknown> => {
  let goneSince = Date.now();
  return waitFor(
    'the definitions removed',
    async () => {
      for (const name of await definitionNames(bed)) {
        goneSince = Date.now();
        await bed.api.delete(`${DEFINITIONS}/${name}`);
      }
      return Date.now() - goneSince;
    },
    (ms) => ms > 2_000,
  );
};
