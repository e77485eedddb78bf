// SPDX-License-Identifier: Apache-2.0
// The objects that are the policies of admission: which they should be, whose they are, and how one differs. Pure.
import { isDeepStrictEqual } from 'node:util';
import { defined } from '../../apis/defined.ts';
import type { KubernetesObject, ObjectRef, OwnerReference } from '../../apis/meta.ts';
import { COMMANDS } from '../../apis/names.ts';
import { CONFIG_MAPS, MUTATING_ADMISSION_POLICIES, MUTATING_ADMISSION_POLICY_BINDINGS } from '../../apis/resources.ts';
import type { Resource } from '../../apis/resources.ts';
import type { AdmissionPolicies, CarrierObject } from '../../hints/policy/index.ts';

/** Everything of an object that is compared and written. */
export type PolicyObject = KubernetesObject & { spec?: unknown; data?: Readonly<Record<string, string>> };

export interface Managed {
  readonly resource: Resource;
  readonly object: PolicyObject;
}

/** Says whose an object is: what lacks it is another writer's, whatever its name. */
const OWNER = { 'app.kubernetes.io/managed-by': COMMANDS.settingsReconciler };

/** Selects the objects that settings-reconciler manages. */
export const OWNER_SELECTOR = Object.entries(OWNER)
  .map(([key, value]) => `${key}=${value}`)
  .join(',');

export const hasOwnerLabel = ({ metadata }: KubernetesObject): boolean =>
  Object.entries(OWNER).every(([key, value]) => metadata?.labels?.[key] === value);

/**
 * In the order in which they are created; a policy acts once its binding is there. All of them go with `owner`: the record
 * of the backend must not outlive the backend.
 */
export const managedObjects = (
  says: CarrierObject,
  { policies, bindings }: AdmissionPolicies,
  owner?: OwnerReference,
): Managed[] => {
  const owned = (resource: Resource, object: PolicyObject): Managed => ({
    resource,
    object: {
      ...object,
      metadata: {
        ...object.metadata,
        labels: { ...object.metadata?.labels, ...OWNER },
        ...(owner === undefined ? {} : { ownerReferences: [owner] }),
      },
    },
  });
  return [
    owned(CONFIG_MAPS, says),
    ...policies.map((policy) => owned(MUTATING_ADMISSION_POLICIES, policy)),
    ...bindings.map((binding) => owned(MUTATING_ADMISSION_POLICY_BINDINGS, binding)),
  ];
};

/** `ConfigMap routing/admission-carrier`, for people. */
export const titleOf = ({ resource, object: { metadata } }: Managed): string =>
  `${resource.kind} ${metadata?.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata?.name ?? ''}`;

export const managedRef = ({ object: { metadata } }: Managed): ObjectRef => ({
  name: metadata?.name ?? '',
  ...defined({ namespace: metadata?.namespace }),
});

export const managedKey = ({ resource, object: { metadata } }: Managed): string =>
  `${resource.plural}/${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

/**
 * The object to write over the current one, or undefined where nothing differs. Labels and annotations of others stay; a
 * spec and data have no other writer.
 */
export const updateOf = (wanted: PolicyObject, current: PolicyObject): PolicyObject | undefined => {
  const ownerReferences = wanted.metadata?.ownerReferences;
  const next: PolicyObject = {
    ...current,
    metadata: {
      ...current.metadata,
      labels: { ...current.metadata?.labels, ...wanted.metadata?.labels },
      ...defined({ ownerReferences }),
    },
    ...defined({ spec: wanted.spec, data: wanted.data }),
  };
  if (isDeepStrictEqual(next, current)) return undefined;
  // Items of a list do not say what they are.
  return { ...next, apiVersion: wanted.apiVersion ?? '', kind: wanted.kind ?? '' };
};
