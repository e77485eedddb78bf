// Keeps the MutatingWebhookConfiguration in the cluster as it should be, or takes it away.
import type { MutatingWebhookConfiguration } from '../apis/admission.ts';
import type { OwnerReference } from '../apis/meta.ts';
import { nameOf } from '../apis/object.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS } from '../apis/resources.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../kubernetes/errors.ts';
import type { InstallationOwner } from '../installation/owner.ts';
import { createInformer } from '../kubernetes/informer.ts';
import { sleep } from '../kubernetes/sleep.ts';
import type { Client, Clock } from '../kubernetes/types.ts';
import type { Logger } from '../telemetry/types.ts';
import { mergeRegistration } from './registration-merge.ts';

export interface RegisterOptions {
  client: Pick<Client, 'get' | 'create' | 'update'>;
  wanted: MutatingWebhookConfiguration;
  /** Leave the failure policy of slices as it is in the cluster. */
  keepFailurePolicy: boolean;
  logger: Logger;
}

const RESOURCE = MUTATING_WEBHOOK_CONFIGURATIONS;
/** Replicas that start together write at the same time; each of these rounds lets at least one of them win. */
const MAX_ROUNDS = 10;

const read = async (client: Pick<Client, 'get'>, name: string, signal?: AbortSignal) => {
  try {
    return await client.get<MutatingWebhookConfiguration>(RESOURCE, { name }, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

/** Creates or updates the configuration once; writes nothing where nothing differs. Rejects with what the API server says. */
export const register = async (options: RegisterOptions, signal?: AbortSignal): Promise<void> => {
  const { client, wanted, keepFailurePolicy, logger } = options;
  const name = nameOf(wanted);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const current = await read(client, name, signal);
    const next = mergeRegistration({ wanted, current, keepFailurePolicy });
    if (next === undefined) return;
    try {
      if (current === undefined) await client.create(RESOURCE, next, {}, signal);
      else await client.update(RESOURCE, next, {}, signal);
      logger.info('webhooks registered', { configuration: name, webhooks: next.webhooks?.length });
      return;
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error) && !isNotFound(error)) throw error;
    }
  }
  throw new Error(
    `MutatingWebhookConfiguration ${name} was changed by other writers ${MAX_ROUNDS} times while it was written`,
  );
};

/** Deletes the configuration; true if there was one. */
export const unregister = async (
  client: Pick<Client, 'delete'>,
  name: string,
  signal?: AbortSignal,
): Promise<boolean> => {
  try {
    await client.delete(RESOURCE, { name }, {}, signal);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
};

export interface KeepRegisteredOptions extends Omit<RegisterOptions, 'client' | 'wanted'> {
  client: Client;
  name: string;
  /** Built anew for each write, since the CA bundle changes. */
  wanted: () => MutatingWebhookConfiguration;
  /** Brings what `wanted` is built from up to date; asked before each write. Rejects never. Default: it always is. */
  refresh?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** What the configuration goes with; default: nothing. Asked before each write, since it may have been made anew. */
  owner?: InstallationOwner;
  /** Calls back when `wanted` changed; returns what ends that. */
  onWantedChange: (callback: () => void) => () => void;
  clock: Clock;
  /** In [0, 1): spreads retries. */
  random: () => number;
}

/** While the owner is unknown, the existing ones stay. */
const withOwner = (wanted: MutatingWebhookConfiguration, owner: OwnerReference | undefined) =>
  owner === undefined ? wanted : { ...wanted, metadata: { ...wanted.metadata, ownerReferences: [owner] } };

export interface RegistrationKeeper {
  /** True once the configuration was seen to be as wanted. */
  readonly registered: boolean;
  /** Watches and repairs until the signal aborts; rejects never. */
  run(signal: AbortSignal): Promise<void>;
}

/** Two replicas that disagree (during an upgrade) must not fight faster than this. */
const MIN_INTERVAL_MS = 5_000;
const MAX_BACKOFF_MS = 60_000;

/** A flag that can be waited for; raising it twice before it is seen counts once. */
const createTrigger = () => {
  let raised = true;
  let wake: (() => void) | undefined;
  return {
    raise(): void {
      raised = true;
      wake?.();
    },
    /** Resolves when raised since the last time, or when aborted. */
    async wait(signal: AbortSignal): Promise<void> {
      if (!raised && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const done = (): void => {
            signal.removeEventListener('abort', done);
            wake = undefined;
            resolve();
          };
          wake = done;
          signal.addEventListener('abort', done, { once: true });
        });
      }
      raised = false;
    },
  };
};

export const createRegistrationKeeper = (options: KeepRegisteredOptions): RegistrationKeeper => {
  const { client, name, wanted, onWantedChange, clock, random, logger, keepFailurePolicy } = options;
  const trigger = createTrigger();
  const informer = createInformer<MutatingWebhookConfiguration>({
    client,
    resource: RESOURCE,
    selection: { fieldSelector: `metadata.name=${name}` },
    clock,
    random,
    logger,
  });
  informer.addHandlers({ onUpsert: () => trigger.raise(), onDelete: () => trigger.raise() });
  let registered = false;
  let failures = 0;

  /** One look; returns how long to wait at least before the next one. */
  const look = async (signal: AbortSignal): Promise<number> => {
    try {
      await options.refresh?.(signal);
      const owner = await options.owner?.(signal);
      await register({ client, wanted: withOwner(wanted(), owner), keepFailurePolicy, logger }, signal);
      registered = true;
      failures = 0;
      return MIN_INTERVAL_MS;
    } catch (error) {
      if (signal.aborted) return 0;
      failures += 1;
      trigger.raise();
      logger.warn('cannot register the webhooks, retrying', { configuration: name, error });
      return Math.min(MAX_BACKOFF_MS, 500 * 2 ** Math.min(failures, 10)) * (0.5 + random() / 2);
    }
  };

  return {
    get registered() {
      return registered;
    },
    async run(signal) {
      const unsubscribe = onWantedChange(() => trigger.raise());
      const following = informer.run(signal);
      while (!signal.aborted) {
        await trigger.wait(signal);
        // Rejects only when aborted, which ends the loop.
        if (!signal.aborted) await sleep(clock, await look(signal), signal).catch(() => undefined);
      }
      unsubscribe();
      await following;
    },
  };
};
