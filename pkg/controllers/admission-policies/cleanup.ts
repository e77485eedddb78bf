// SPDX-License-Identifier: Apache-2.0
// Removes the admission policies before uninstalling, in an order that never leaves a write waiting for what is gone.
import { CONFIG_MAPS, MUTATING_ADMISSION_POLICIES, MUTATING_ADMISSION_POLICY_BINDINGS } from '../../apis/resources.ts';
import type { Resource } from '../../apis/resources.ts';
import { CARRIER_NAME } from '../../hints/policy/index.ts';
import { isForbidden, isNotFound } from '../../kubernetes/errors.ts';
import type { Client, Selection } from '../../kubernetes/types.ts';
import { OWNER_SELECTOR } from './objects.ts';
import type { Managed, PolicyObject } from './objects.ts';
import { removalOf } from './plan.ts';
import type { PolicyWriter } from './writer.ts';
import { policiesServed } from './store.ts';

export interface PolicyReadOptions {
  client: Pick<Client, 'list' | 'raw'>;
  /** Begins the names of policies and bindings of this installation. */
  name: string;
  /** Of the object that names the admission backend. */
  namespace: string;
}

/** Everything of this installation that is in the cluster, read at once; for the ways of running that end by themselves. */
export const readPolicyObjects = async (
  { client, name, namespace }: PolicyReadOptions,
  signal: AbortSignal,
): Promise<{ served: boolean; readable: boolean; objects: Managed[] }> => {
  let readable = true;
  const list = async (resource: Resource, selection: Selection): Promise<Managed[]> => {
    try {
      const { items } = await client.list<PolicyObject>(resource, { ...selection, limit: 0 }, signal);
      return items.map((object) => ({ resource, object }));
    } catch (error) {
      if (isNotFound(error)) return [];
      if (!isForbidden(error)) throw error;
      readable = false;
      return [];
    }
  };
  const served = await policiesServed(client, signal);
  const resources = served ? [MUTATING_ADMISSION_POLICIES, MUTATING_ADMISSION_POLICY_BINDINGS] : [];
  const lists = await Promise.all(resources.map((resource) => list(resource, { labelSelector: OWNER_SELECTOR })));
  const carrier = await list(CONFIG_MAPS, { namespace, fieldSelector: `metadata.name=${CARRIER_NAME}` });
  const own = lists.flat().filter(({ object }) => object.metadata?.name?.startsWith(`${name}.`) === true);
  return { served, readable, objects: [...carrier, ...own] };
};

export interface PolicyCleanupOptions extends PolicyReadOptions {
  writer: Pick<PolicyWriter, 'perform'>;
}

/** Returns how many objects were removed. The webhook, if it stays, takes over when nothing says any more that policies carry. */
export const removePolicies = async (
  { writer, ...options }: PolicyCleanupOptions,
  signal: AbortSignal,
): Promise<number> => {
  const { objects } = await readPolicyObjects(options, signal);
  const removal = removalOf(objects);
  await writer.perform(removal, signal);
  return removal.length;
};
