// SPDX-License-Identifier: Apache-2.0
// What the API server serves and holds of the admission policies: caches that begin once discovery lists policies.
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
import type { Client, Clock } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import { abortable, aborted } from '../../kubernetes/abortable.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { CacheSettings, OpenCache } from '../../kubernetes/caches.ts';
import { OWNER_SELECTOR } from './objects.ts';
import type { Managed, PolicyObject } from './objects.ts';

export interface PolicyStoreOptions {
  /** For discovery. */
  client: Pick<Client, 'raw'>;
  /** The manager's: it runs the caches. */
  cache: OpenCache;
  clock: Clock;
  logger: Logger;
  /** Begins the names of policies and bindings of this installation. */
  name: string;
  /** Of the object that names the admission backend. */
  namespace: string;
}

export interface PolicyStore {
  /** Whether policies are served; undefined while that is not known. */
  readonly served: boolean | undefined;
  /** Whether we may read all of it. */
  readonly readable: boolean;
  /** True once `served`, `readable` and `list` say what is. */
  readonly ready: boolean;
  /** Resolves once `ready`, or the signal aborts. */
  settled(signal: AbortSignal): Promise<void>;
  /** Policies and bindings of this installation, and the object that names the admission backend. */
  list(): Managed[];
  /** Calls back when anything of it changed. */
  onChange(callback: () => void): void;
  /** Asks discovery until the signal aborts. */
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
  const { client, cache: open, name, namespace, clock, logger } = options;
  const callbacks: (() => void)[] = [];
  const onChange = (): void => callbacks.forEach((callback) => callback());
  const found = Promise.withResolvers<void>();
  let served: boolean | undefined;
  /** What the caches of policies begin after: the API server serves them. */
  const discovered: CacheSettings<PolicyObject>['after'] = {
    state: 'synced',
    settled: (signal) => abortable(found.promise, signal),
    onChange,
  };

  const follow = (resource: Resource, settings: Partial<CacheSettings<PolicyObject>>): Cache<PolicyObject> => {
    const cache = open<PolicyObject>(resource, { transform: dropManagedFields, ...settings });
    cache.onChange(onChange);
    return cache;
  };
  const ofUs = { namespace, fieldSelector: `metadata.name=${CARRIER_NAME}` };
  const backend = follow(CONFIG_MAPS, { selection: ofUs });
  const policies = [MUTATING_ADMISSION_POLICIES, MUTATING_ADMISSION_POLICY_BINDINGS].map((resource) =>
    follow(resource, { selection: { labelSelector: OWNER_SELECTOR }, after: discovered }),
  );
  const caches = [backend, ...policies];

  const discover = async (signal: AbortSignal): Promise<void> => {
    try {
      const before = served;
      served = await policiesServed(client, signal);
      if (served) found.resolve();
      if (served !== before) onChange();
    } catch (error) {
      if (!signal.aborted) logger.warn('cannot read the admission policies', { error });
    }
  };

  const isReady = (): boolean => {
    if (served === undefined || backend.state === 'pending') return false;
    return !served || caches.every(({ state }) => state !== 'pending');
  };

  return {
    get served() {
      return served;
    },
    get readable() {
      return caches.every(({ state }) => state === 'synced');
    },
    get ready() {
      return isReady();
    },
    async settled(signal) {
      const ready = new Promise<void>((resolve) => {
        const look = (): void => void (isReady() && resolve());
        callbacks.push(look);
        look();
      });
      await Promise.race([ready, aborted(signal)]);
    },
    onChange: (callback) => void callbacks.push(callback),
    list: () =>
      caches.flatMap((cache) =>
        cache
          .list()
          .filter(({ metadata }) => cache === backend || metadata?.name?.startsWith(`${name}.`) === true)
          .map((object) => ({ resource: cache.resource, object })),
      ),
    async run(signal) {
      // The first list of an empty resource is no change of an object.
      for (const cache of caches) void cache.settled(signal).then(onChange, () => undefined);
      while (!signal.aborted) {
        await discover(signal);
        const pause = served === undefined ? RETRY_INTERVAL_MS : DISCOVERY_INTERVAL_MS;
        await sleep(clock, pause, signal).catch(() => undefined);
      }
    },
  };
};
