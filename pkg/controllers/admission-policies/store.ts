// SPDX-License-Identifier: Apache-2.0
// What the API server serves and holds of the admission policies: discovery first, then caches of ours.
import type { KubernetesObject } from '../../apis/meta.ts';
import {
  apiVersionOf,
  CONFIG_MAPS,
  MUTATING_ADMISSION_POLICIES,
  MUTATING_ADMISSION_POLICY_BINDINGS,
} from '../../apis/resources.ts';
import type { Resource } from '../../apis/resources.ts';
import { CARRIER_NAME } from '../../hints/policy/index.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import { dropManagedFields } from '../../kubernetes/informer.ts';
import { sleep } from '../../kubernetes/sleep.ts';
import type { Client, Selection } from '../../kubernetes/types.ts';
import { createCache } from '../../kubernetes/cache.ts';
import type { Cache, CacheOptions } from '../../kubernetes/cache.ts';
import { OWNER_SELECTOR } from './objects.ts';
import type { Managed, PolicyObject } from './objects.ts';

export interface PolicyStoreOptions extends Pick<CacheOptions<KubernetesObject>, 'clock' | 'random' | 'logger'> {
  client: Pick<Client, 'list' | 'pages' | 'watch' | 'raw'>;
  /** Begins the names of policies and bindings of this installation. */
  name: string;
  /** Of the object that says who carries. */
  namespace: string;
}

export interface PolicyStore {
  /** Whether policies are served; undefined while that is not known. */
  readonly served: boolean | undefined;
  /** Whether we may read all of it. */
  readonly readable: boolean;
  /** True once `served`, `readable` and `list` say what is. */
  readonly ready: boolean;
  /** Policies and bindings of this installation, and the object that says who carries. */
  list(): Managed[];
  /** Calls back when anything of it changed. */
  onChange(callback: () => void): void;
  /** Follows the server until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** How often discovery is asked: an upgrade takes minutes. */
const DISCOVERY_INTERVAL_MS = 60_000;
const RETRY_INTERVAL_MS = 2_000;

interface ResourceList {
  readonly resources?: readonly { readonly name?: string }[];
}

/** Whether discovery lists MutatingAdmissionPolicy in v1: a version alone says nothing about gates and disabled APIs. */
export const policiesServed = async (client: Pick<Client, 'raw'>, signal: AbortSignal): Promise<boolean> => {
  try {
    const { resources } = await client.raw<ResourceList>(`/apis/${apiVersionOf(MUTATING_ADMISSION_POLICIES)}`, signal);
    return resources?.some(({ name }) => name === MUTATING_ADMISSION_POLICIES.plural) ?? false;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
};

export const createPolicyStore = (options: PolicyStoreOptions): PolicyStore => {
  const { client, name, namespace, clock, random, logger } = options;
  const callbacks: (() => void)[] = [];
  const onChange = (): void => callbacks.forEach((callback) => callback());
  const follow = (resource: Resource, selection: Selection): Cache<PolicyObject> => {
    const cache = createCache<PolicyObject>({
      client,
      resource,
      selection,
      transform: dropManagedFields,
      clock,
      random,
      logger,
    });
    cache.onChange(onChange);
    return cache;
  };
  const carrier = follow(CONFIG_MAPS, { namespace, fieldSelector: `metadata.name=${CARRIER_NAME}` });
  const policies = [MUTATING_ADMISSION_POLICIES, MUTATING_ADMISSION_POLICY_BINDINGS].map((resource) =>
    follow(resource, { labelSelector: OWNER_SELECTOR }),
  );
  const caches = [carrier, ...policies];
  let served: boolean | undefined;

  const discover = async (signal: AbortSignal): Promise<void> => {
    try {
      const before = served;
      served = await policiesServed(client, signal);
      if (served !== before) onChange();
    } catch (error) {
      if (!signal.aborted) logger.warn('cannot ask the API server for its admission policies', { error });
    }
  };

  const running = (cache: Cache<PolicyObject>, signal: AbortSignal): Promise<void> => {
    // The first list of an empty resource changes nothing that could be told.
    void cache.settled(signal).then(onChange, () => undefined);
    return cache.run(signal);
  };

  return {
    get served() {
      return served;
    },
    get readable() {
      return caches.every(({ state }) => state === 'synced');
    },
    get ready() {
      if (served === undefined || carrier.state === 'pending') return false;
      return !served || caches.every(({ state }) => state !== 'pending');
    },
    onChange: (callback) => void callbacks.push(callback),
    list: () =>
      caches.flatMap((cache) =>
        cache
          .list()
          .filter(({ metadata }) => cache === carrier || metadata?.name?.startsWith(`${name}.`) === true)
          .map((object) => ({ resource: cache.resource, object })),
      ),
    async run(signal) {
      const work = [running(carrier, signal)];
      while (!signal.aborted) {
        await discover(signal);
        if (served === true && work.length === 1) work.push(...policies.map((cache) => running(cache, signal)));
        const pause = served === undefined ? RETRY_INTERVAL_MS : DISCOVERY_INTERVAL_MS;
        await sleep(clock, pause, signal).catch(() => undefined);
      }
      await Promise.all(work);
    },
  };
};
