// The owners of Services and Etcds: they write what they know again and again, as gardenlet, etcd-druid and the resource manager do.
import { setTimeout as delay } from 'node:timers/promises';
import type { Service } from '../../pkg/apis/core.ts';
import { SERVICES } from '../../pkg/apis/resources.ts';
import { isConflict } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { gardenletRewritesService, ownerReconciles } from '../demo/actors.ts';
import type { World } from './settings-world.ts';

/** What one round of overwriting left in the objects, as the API server answered. */
export interface Round {
  /** Service that gardenlet patches. */
  readonly patched: string | undefined;
  /** Service that the resource manager replaces. */
  readonly replaced: string | undefined;
}

export interface Fight {
  /** The last complete round. */
  readonly last: Round | undefined;
  /** Ends the overwriting; rejects with what went wrong in it. */
  stop(): Promise<void>;
}

/** The Service as its ManagedResource has it: foreign labels and annotations stay, spec and owners are the desired ones. See its contract. */
export const resourceManagerReplaces = async (client: Client, namespace: string, name: string): Promise<Service> => {
  const stored = await client.get<Service>(SERVICES, { namespace, name });
  if (stored.metadata?.annotations?.['resources.gardener.cloud/mode'] === 'Ignore') return stored;
  const { trafficDistribution: _, ...spec } = stored.spec ?? {};
  const { ownerReferences: _owners, ...metadata } = stored.metadata ?? {};
  return client.update<Service>(SERVICES, { ...stored, metadata, spec });
};

/** A reconciler in the middle of another writer's write comes back later, as they all do. */
const withoutConflict = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await work();
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
};

const ROUND_MS = 500;

/** Everybody overwrites twice a second what is theirs in this namespace, until stopped. */
export const startFight = async (world: World, namespace: string): Promise<Fight> => {
  const gardenlet = await world.clientAs('gardenlet');
  const manager = await world.clientAs('gardener-resource-manager');
  const druid = await world.clientAs('etcd-druid');
  const stop = new AbortController();
  let last: Round | undefined;
  const field = async (name: string): Promise<string | undefined> =>
    (await world.service(namespace, name)).spec?.trafficDistribution;
  const rounds = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await gardenletRewritesService(gardenlet, namespace, 'kube-apiserver');
      await gardenletRewritesService(gardenlet, namespace, 'vpa-webhook');
      const patched = await field('vpa-webhook');
      const replaced = await withoutConflict(() =>
        resourceManagerReplaces(manager, namespace, 'gardener-resource-manager'),
      );
      await withoutConflict(() => ownerReconciles(druid, namespace, false, '1.36'));
      last = {
        patched,
        replaced: replaced?.spec?.trafficDistribution,
      };
      await delay(ROUND_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  };
  const running = rounds();
  running.catch(() => undefined);
  return {
    get last() {
      return last;
    },
    stop: () => {
      stop.abort();
      return running;
    },
  };
};
