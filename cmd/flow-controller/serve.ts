// SPDX-License-Identifier: Apache-2.0
// Serves the loop until the signal: what of caches and engine runs in every replica, and what in the one that leads.
import { COMMANDS } from '../../pkg/apis/names.ts';
import { createLandscape } from '../../pkg/controllers/flow/landscape.ts';
import { serveController } from '../shared/serve-controller.ts';
import type { Controller, Surroundings } from '../shared/serve-controller.ts';
import { runCollector } from './collector.ts';
import { createEngine } from './engine.ts';
import type { Engine } from './engine.ts';
import type { Session } from './session.ts';

const build = (session: Session, surroundings: Surroundings): Controller => {
  const { clock, random, logger } = session;
  const { client } = surroundings;
  const landscape = createLandscape({ client, clock, random, logger, onFailure: () => engine.failed() });
  const engine: Engine = createEngine({ ...session, ...surroundings, landscape });
  return {
    caches: landscape.all,
    alsoFollowed: engine.caches,
    follow: (signal) => Promise.all([...landscape.all.map((cache) => cache.run(signal)), runCollector(signal)]),
    async filled(signal) {
      await Promise.all(landscape.all.map((cache) => cache.settled(signal)));
    },
    work: (signal) => engine.run(signal),
  };
};

/** Resolves after a clean stop; rejects when leadership is lost or a port cannot be opened. */
export const serve = (session: Session, signal: AbortSignal): Promise<void> =>
  serveController(
    session,
    { component: COMMANDS.flowController, build: (surroundings) => build(session, surroundings) },
    signal,
  );
