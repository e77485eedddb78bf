// SPDX-License-Identifier: Apache-2.0
// Follows the object in which the settings reconciler names the admission backend.
import type { KubernetesObject } from '../apis/meta.ts';
import { CONFIG_MAPS } from '../apis/resources.ts';
import { CARRIER_NAME } from '../hints/policy/index.ts';
import type { Carrier } from '../hints/policy/index.ts';
import { createInformer } from '../kubernetes/informer.ts';
import { sleep } from '../kubernetes/sleep.ts';
import type { Client, Clock } from '../kubernetes/types.ts';
import type { Logger } from '../telemetry/types.ts';

export interface CarrierWatchOptions {
  client: Client;
  /** Own namespace, which is the reconciler's as well. */
  namespace: string;
  clock: Clock;
  /** In [0, 1): spreads retries. */
  random: () => number;
  logger: Logger;
}

/** The admission backend, as the one who decides it has said. */
export interface CarrierWatch {
  /** `webhook` until the object is there and says `policy`: twice is harmless, not at all is not. */
  current(): Carrier;
  /** Returns what ends it. */
  onChange(callback: () => void): () => void;
  /** Resolves once the object was looked for; after a moment also where reading it is forbidden. Rejects never. */
  settled(signal: AbortSignal): Promise<void>;
  /** Follows the object until the signal aborts; rejects never. */
  run(signal: AbortSignal): Promise<void>;
}

/** Longer than an answer takes, and short beside the time that a registration is late by it. */
const PATIENCE_MS = 5_000;

type Said = KubernetesObject & { data?: Readonly<Record<string, string>> };

const carrierOf = (said: Said | undefined): Carrier => (said?.data?.['carrier'] === 'policy' ? 'policy' : 'webhook');

export const createCarrierWatch = (options: CarrierWatchOptions): CarrierWatch => {
  const { namespace, logger, ...rest } = options;
  let carrier: Carrier = 'webhook';
  const callbacks = new Set<() => void>();
  const said = (next: Carrier): void => {
    if (next === carrier) return;
    logger.info('admission backend changed', { before: carrier, after: next });
    carrier = next;
    for (const callback of callbacks) callback();
  };
  const informer = createInformer<Said>({
    ...rest,
    resource: CONFIG_MAPS,
    selection: { namespace, fieldSelector: `metadata.name=${CARRIER_NAME}` },
    logger,
  });
  informer.addHandlers({ onUpsert: (object) => said(carrierOf(object)), onDelete: () => said('webhook') });
  return {
    current: () => carrier,
    onChange(callback) {
      const entry = (): void => callback();
      callbacks.add(entry);
      return () => void callbacks.delete(entry);
    },
    async settled(signal) {
      const either = new AbortController();
      const until = AbortSignal.any([signal, either.signal]);
      const ends = [informer.waitForSync(until), sleep(options.clock, PATIENCE_MS, until)];
      await Promise.race(ends).catch(() => undefined);
      either.abort();
      await Promise.allSettled(ends);
    },
    run: (signal) => informer.run(signal),
  };
};
