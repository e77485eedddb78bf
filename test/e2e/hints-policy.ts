// SPDX-License-Identifier: Apache-2.0
// Installs the admission policies in a bed, the carrier of hints that needs no process.
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { MUTATING_ADMISSION_POLICIES, MUTATING_ADMISSION_POLICY_BINDINGS } from '../../pkg/apis/resources.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import { buildAdmissionPolicies } from '../../pkg/hints/policy/index.ts';
import { excludedNamespacesOf } from '../../pkg/hints/served-namespaces.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';

/** Creates them, for an installation in `namespace`; returns what takes them away again. They act a moment later. */
export const installPolicies = async (client: Client, namespace: string): Promise<() => Promise<void>> => {
  const built = buildAdmissionPolicies({
    name: 'policy',
    excludedNamespaces: excludedNamespacesOf(namespace, { included: [], excluded: [] }),
    flowControllerUsers: [`system:serviceaccount:${namespace}:flow-controller`],
    plannerAlive: true,
    settingsReconcilerUser: `system:serviceaccount:${namespace}:settings-reconciler`,
    keepSettings: false,
  });
  const objects: (readonly [Resource, KubernetesObject])[] = [
    ...built.policies.map((policy) => [MUTATING_ADMISSION_POLICIES, policy] as const),
    ...built.bindings.map((binding) => [MUTATING_ADMISSION_POLICY_BINDINGS, binding] as const),
  ];
  for (const [resource, object] of objects) await client.create(resource, object);
  return async () => {
    for (const [resource, { metadata }] of [...objects].reverse()) {
      const { name = '', namespace: within } = metadata ?? {};
      await client.delete(resource, { name, ...(within === undefined ? {} : { namespace: within }) });
    }
  };
};
