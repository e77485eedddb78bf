// SPDX-License-Identifier: Apache-2.0
// What every way of running the command shares: the clients, who we are, and time.
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import { createLandscape } from '../../pkg/controllers/settings/landscape.ts';
import type { Landscape } from '../../pkg/controllers/settings/landscape.ts';
import { sleep } from '../../pkg/kubernetes/sleep.ts';
import type { Client, Clock } from '../../pkg/kubernetes/types.ts';
import type { Logger } from '../../pkg/telemetry/types.ts';

export interface Session {
  config: SettingsReconcilerConfiguration;
  /** Of the cluster that is written to. */
  client: Client;
  /** Of the virtual garden, if its kubeconfig is given. */
  gardenClient: Client | undefined;
  /** Namespace of this process, for the Lease. */
  namespace: string;
  /** Unique among all processes that ever ran. */
  identity: string;
  clock: Clock;
  random: () => number;
  logger: Logger;
  /** Results for the person or program that started the command. */
  print(text: string): void;
}

/** How long the Seed in the virtual garden is waited for before the next source is taken. */
const LIVE_SEED_PATIENCE_MS = 30_000;

export const openLandscape = (session: Session, onFailure: () => void): Landscape => {
  const { config, client, gardenClient, clock, random, logger } = session;
  return createLandscape({ client, gardenClient, modes: config.modes, clock, random, logger, onFailure });
};

/** Runs all caches; resolves when they stopped. */
export const runLandscape = async (landscape: Landscape, signal: AbortSignal): Promise<void> => {
  await Promise.all([...landscape.local, ...live(landscape)].map((cache) => cache.run(signal)));
};

const live = ({ liveSeed }: Landscape) => (liveSeed === undefined ? [] : [liveSeed]);

/** Resolves when every cache is filled or known to be absent; the virtual garden is not waited for for ever. */
export const landscapeSettled = async (
  landscape: Landscape,
  { clock, logger }: Session,
  signal: AbortSignal,
): Promise<void> => {
  await Promise.all(landscape.local.map((cache) => cache.settled(signal)));
  const { liveSeed } = landscape;
  if (liveSeed === undefined) return;
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  const patience = sleep(clock, LIVE_SEED_PATIENCE_MS, either).catch(() => undefined);
  await Promise.race([liveSeed.settled(either).catch(() => undefined), patience]);
  done.abort();
  signal.throwIfAborted();
  if (liveSeed.list().length === 0) {
    logger.warn('the Seed cannot be read from the virtual garden, taking the next source until it can', {
      state: liveSeed.state,
    });
  }
};

/** A client that refuses to write: a dry run is one by construction, not by care. */
export const readOnly = (client: Client): Client => {
  const refuse = (): Promise<never> => Promise.reject(new Error('a dry run does not write'));
  return {
    server: client.server,
    get: (...args) => client.get(...args),
    list: (...args) => client.list(...args),
    pages: (...args) => client.pages(...args),
    watch: (...args) => client.watch(...args),
    raw: (...args) => client.raw(...args),
    create: refuse,
    update: refuse,
    patch: refuse,
    delete: refuse,
    close: () => client.close(),
  };
};
