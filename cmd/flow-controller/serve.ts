// SPDX-License-Identifier: Apache-2.0
// Runs the flow controller until the signal: caches in every replica, the loop in the one that leads, health and metrics in all.
import { COMMANDS } from '../../pkg/apis/names.ts';
import { createLandscape } from '../../pkg/controllers/flow/landscape.ts';
import type { Landscape } from '../../pkg/controllers/flow/landscape.ts';
import { createEventRecorder } from '../../pkg/kubernetes/events.ts';
import { createFencedClient } from '../../pkg/kubernetes/fenced-client.ts';
import { informerFreshness } from '../../pkg/kubernetes/freshness.ts';
import { runLeaderElection } from '../../pkg/kubernetes/leader-election.ts';
import type { EventRecorder } from '../../pkg/kubernetes/types.ts';
import { startHealthServer } from '../../pkg/telemetry/health.ts';
import type { RunningServer } from '../../pkg/telemetry/http.ts';
import { startMetricsServer } from '../../pkg/telemetry/metrics-server.ts';
import { createMetrics } from '../../pkg/telemetry/metrics.ts';
import type { Metrics } from '../../pkg/telemetry/metrics.ts';
import type { HealthCheck } from '../../pkg/telemetry/types.ts';
import { runCollector } from './collector.ts';
import { createEngine } from './engine.ts';
import type { Engine } from './engine.ts';
import { electionOptions } from './session.ts';
import type { Session } from './session.ts';

/** Bookmarks prove a quiet watch alive every minute; ten of them missing is more than an outage that heals itself. */
const MAX_STALENESS_MS = 600_000;
const EVENT_FLUSH_MS = 2_000;

interface Ports {
  readonly health: RunningServer;
  readonly metrics: RunningServer;
}

const openPorts = async (
  { config, logger }: Session,
  { all }: Landscape,
  { caches }: Engine,
  metrics: Metrics,
): Promise<Ports> => {
  const synced: HealthCheck = {
    name: 'informer-sync',
    check() {
      const pending = all.filter(({ state }) => state === 'pending').map(({ resource }) => resource.plural);
      return pending.length === 0 ? undefined : `still listing ${pending.join(', ')}`;
    },
  };
  const health = await startHealthServer({
    address: config.health.bindAddress,
    port: config.health.port,
    liveness: [informerFreshness([...all, ...caches], MAX_STALENESS_MS)],
    readiness: [synced],
    logger,
  });
  try {
    const { bindAddress: address, port } = config.metrics;
    return { health, metrics: await startMetricsServer({ address, port, metrics, logger }) };
  } catch (error) {
    await health.close();
    throw error;
  }
};

/** Whether this process may write: set with leadership, yes where there is no election. */
interface Fence {
  holds(): boolean;
}

const lead = async (session: Session, engine: Engine, fence: Fence, signal: AbortSignal): Promise<void> => {
  const { config, logger } = session;
  if (!config.leaderElection.enabled) {
    await engine.run(signal);
    return;
  }
  const result = await runLeaderElection(
    {
      ...electionOptions(session),
      onStartedLeading(leaderSignal, holds) {
        fence.holds = holds;
        return engine.run(leaderSignal);
      },
      onStoppedLeading: () => logger.info('stopped leading'),
    },
    signal,
  );
  if (result.kind === 'failed') throw result.error;
  if (result.kind === 'lost') throw new Error(result.message);
};

const flushEvents = async (events: EventRecorder, { clock }: Session): Promise<void> => {
  const limit = new AbortController();
  const timer = clock.setTimeout(() => limit.abort(new Error('time is up')), EVENT_FLUSH_MS);
  await events.flush(limit.signal).catch(() => undefined);
  timer.cancel();
};

/** Resolves after a clean stop; rejects when leadership is lost or a port cannot be opened. */
export const serve = async (session: Session, signal: AbortSignal): Promise<void> => {
  const { clock, random, logger, print } = session;
  const fence: Fence = { holds: () => true };
  const client = createFencedClient(session.client, () => fence.holds());
  const metrics = createMetrics();
  const stop = new AbortController();
  const running = AbortSignal.any([signal, stop.signal]);
  // Outlives the controllers a little, so that the last events are sent.
  const eventsStop = new AbortController();
  const { identity: instance } = session;
  const events = createEventRecorder(
    { client, clock, logger, component: COMMANDS.flowController, instance },
    eventsStop.signal,
  );
  const landscape = createLandscape({ client, clock, random, logger, onFailure: () => engine.failed() });
  const engine: Engine = createEngine({ ...session, client, landscape, events, metrics });
  const ports = await openPorts(session, landscape, engine, metrics);
  print(`health on port ${ports.health.port}, metrics on port ${ports.metrics.port}\n`);
  const background = Promise.all([...landscape.all.map((cache) => cache.run(running)), runCollector(clock, running)]);
  try {
    await Promise.all(landscape.all.map((cache) => cache.settled(running)));
    logger.info('caches are filled');
    await lead(session, engine, fence, running);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await flushEvents(events, session);
    eventsStop.abort();
    stop.abort();
    await background;
    await Promise.all([ports.health.close(), ports.metrics.close()]);
  }
};
