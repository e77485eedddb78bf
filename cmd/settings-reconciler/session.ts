// SPDX-License-Identifier: Apache-2.0
// What every way of running the command shares: what controllers have, the virtual garden, and the caches.
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import { createLandscape } from '../../pkg/controllers/settings/landscape.ts';
import type { Landscape } from '../../pkg/controllers/settings/landscape.ts';
import { sleep } from '../../pkg/kubernetes/sleep.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import type { ControllerSession } from '../shared/session.ts';

export interface Session extends ControllerSession<SettingsReconcilerConfiguration> {
  /** Of the virtual garden, if its kubeconfig is given. */
  gardenClient: Client | undefined;
}

/** How long the Seed in the virtual garden is waited for before the next source is taken. */
const LIVE_SEED_PATIENCE_MS = 30_000;

export const openLandscape = (session: Session, onFailure: () => void): Landscape => {
  const { config, client, gardenClient, clock, random, logger } = session;
  const { modes, extensions } = config;
  const common = { client, gardenClient, clock, random, logger, onFailure };
  return createLandscape({ ...common, modes, extensions: extensions.enabled });
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
