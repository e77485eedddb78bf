// SPDX-License-Identifier: Apache-2.0
// Serves the settings until the signal: what of caches, version and engine runs in every replica, and what in the one that leads.
import { acceptsSettingsOf } from '../../pkg/controllers/settings/trial-write.ts';
import { createVersionTracker } from '../../pkg/controllers/settings/version-tracker.ts';
import type { VersionTracker } from '../../pkg/controllers/settings/version-tracker.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { serveController } from '../shared/serve-controller.ts';
import type { Controller, Surroundings } from '../shared/serve-controller.ts';
import { createEngine } from './engine.ts';
import type { Engine } from './engine.ts';
import { landscapeSettled, openLandscape, runLandscape } from './session.ts';
import type { Session } from './session.ts';

/** A flip of the setting records one event a namespace at once. */
const EVENT_QUEUE = 10_000;

const trackVersion = (session: Session, engineOf: () => Engine): VersionTracker => {
  const { config, client, clock, logger } = session;
  const { override, rereadSeconds, stableSeconds } = config.kubernetesVersion;
  return createVersionTracker({
    client,
    clock,
    logger,
    ...(override === undefined ? {} : { override }),
    rereadMs: rereadSeconds * 1_000,
    stableMs: stableSeconds * 1_000,
    trial: (version, signal) =>
      acceptsSettingsOf({ client, subject: engineOf().trialSubject(), version, logger }, signal),
    onChange: () => engineOf().enqueueAll(),
  });
};

const build = (session: Session, surroundings: Surroundings): Controller => {
  const { config, client, logger } = session;
  const landscape = openLandscape(session, () => {
    engine.failed();
    version.poke();
  });
  const version: VersionTracker = trackVersion(session, () => engine);
  const engine: Engine = createEngine({ ...session, ...surroundings, landscape, version: () => version.current });
  return {
    caches: landscape.local,
    follow(signal) {
      logger.info('starting', { modes: Object.keys(config.modes), server: client.server });
      return Promise.all([runLandscape(landscape, signal), version.run(signal)]);
    },
    async filled(signal) {
      await version.read(signal);
      await landscapeSettled(landscape, session, signal);
      version.resume(engine.carriedVersion());
    },
    work: (signal) => engine.run(signal),
  };
};

/** Resolves after a clean stop; rejects when leadership is lost or a port cannot be opened. */
export const serve = (session: Session, signal: AbortSignal): Promise<void> =>
  serveController(
    session,
    {
      component: COMMANDS.settingsReconciler,
      eventQueue: EVENT_QUEUE,
      build: (surroundings) => build(session, surroundings),
    },
    signal,
  );
