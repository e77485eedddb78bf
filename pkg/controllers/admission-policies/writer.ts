// SPDX-License-Identifier: Apache-2.0
// Performs the writes of a plan, and remembers what it created until the caches show it, so that nothing is written twice.
import { CONFIG_MAPS } from '../../apis/resources.ts';
import { isAlreadyExists, isNotFound } from '../../kubernetes/errors.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import { hasOwnerLabel, managedKey, managedRef, titleOf } from './objects.ts';
import type { Managed, PolicyObject } from './objects.ts';
import type { Action } from './plan.ts';

export interface PolicyWriterOptions {
  client: Pick<Client, 'get' | 'create' | 'update' | 'delete'>;
  clock: Pick<Clock, 'monotonic'>;
  logger: Logger;
}

export interface PolicyWriter {
  /** The cached objects (which show our updates), with those that we created and the caches do not show yet. */
  withCreated(cached: readonly Managed[]): Managed[];
  /** Keys of objects that turned out to be another writer's; looked at again after a while. */
  foreign(): ReadonlySet<string>;
  /** One write each, in order. Rejects with what the API server says. */
  perform(actions: readonly Action[], signal: AbortSignal): Promise<void>;
}

/** Longer than a watch takes to show a new object. */
const CREATED_MS = 10_000;
const FOREIGN_MS = 15_000;

export const createPolicyWriter = ({ client, clock, logger }: PolicyWriterOptions): PolicyWriter => {
  const created = new Map<string, Managed & { readonly until: number }>();
  const foreign = new Map<string, number>();

  const create = async (item: Managed, signal: AbortSignal): Promise<void> => {
    const until = clock.monotonic() + CREATED_MS;
    try {
      const object = await client.create<PolicyObject>(item.resource, item.object, {}, signal);
      created.set(managedKey(item), { ...item, object, until });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const object = await client.get<PolicyObject>(item.resource, managedRef(item), signal);
      if (hasOwnerLabel(object)) created.set(managedKey(item), { ...item, object, until });
      // Other writers' objects are left alone; the ConfigMap of the backend is cached regardless of its writer.
      else if (item.resource !== CONFIG_MAPS) foreign.set(managedKey(item), clock.monotonic() + FOREIGN_MS);
      return;
    }
    logger.info('admission policy object created', { object: titleOf(item) });
  };

  const update = async (item: Managed, signal: AbortSignal): Promise<void> => {
    const object = await client.update<PolicyObject>(item.resource, item.object, {}, signal);
    const unseen = created.get(managedKey(item));
    if (unseen !== undefined) created.set(managedKey(item), { ...unseen, object });
    logger.info('admission policy object updated', { object: titleOf(item) });
  };

  const remove = async (item: Managed, signal: AbortSignal): Promise<void> => {
    created.delete(managedKey(item));
    try {
      await client.delete(item.resource, managedRef(item), {}, signal);
      logger.info('admission policy object removed', { object: titleOf(item) });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  };

  const writes = { create, update, delete: remove };
  return {
    withCreated(cached) {
      const shown = new Set(cached.map(managedKey));
      const unseen = [...created].filter(([key, { until }]) => !shown.has(key) && clock.monotonic() < until);
      return [...cached, ...unseen.map(([, { resource, object }]) => ({ resource, object }))];
    },
    foreign() {
      for (const [key, until] of foreign) if (clock.monotonic() >= until) foreign.delete(key);
      return new Set(foreign.keys());
    },
    async perform(actions, signal) {
      for (const { kind, ...item } of actions) await writes[kind](item, signal);
    },
  };
};
