// SPDX-License-Identifier: Apache-2.0
// Runs a controller until the signal: caches in every replica, its work in the one that leads, health and metrics in all.
import type { Cache } from '../../pkg/kubernetes/cache.ts';
import { createEventRecorder } from '../../pkg/kubernetes/events.ts';
import { createFencedClient } from '../../pkg/kubernetes/fenced-client.ts';
import { informerFreshness } from '../../pkg/kubernetes/freshness.ts';
import type { FreshnessSubject } from '../../pkg/kubernetes/freshness.ts';
import type { Client, Clock, EventRecorder } from '../../pkg/kubernetes/types.ts';
import { showStaleness } from '../../pkg/telemetry/cache-metrics.ts';
import { createMetrics } from '../../pkg/telemetry/metrics.ts';
import type { Metrics } from '../../pkg/telemetry/metrics.ts';
import { createEventMetrics, createProcessMetrics } from '../../pkg/telemetry/process-metrics.ts';
import { workWhileLeading } from './leadership.ts';
import type { Fence } from './leadership.ts';
import { cachesListed, openPorts } from './ports.ts';
import type { ControllerSession } from './session.ts';

/** What a controller is built with. */
export interface Surroundings {
  /** Writes only while this process leads. */
  readonly client: Client;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
}

/** A controller as this file runs it. */
export interface Controller {
  /** Ready when each was listed; alive while each hears of its server. */
  readonly caches: readonly Pick<Cache<never>, 'resource' | 'state' | 'stalenessMs'>[];
  /** Alive while these hear of their server as well; default none. */
  readonly alsoFollowed?: readonly FreshnessSubject[];
  /** Runs in every replica, caches above all, until the signal aborts. */
  follow(signal: AbortSignal): Promise<unknown>;
  /** Resolves when there is enough in the caches to work with. */
  filled(signal: AbortSignal): Promise<void>;
  /** Works until the signal aborts: in the replica that leads. */
  work(signal: AbortSignal): Promise<void>;
}

export interface ServeOptions {
  /** Name of the command: what its events are from. */
  component: string;
  /** Events that wait to be sent; more are dropped. Default the recorder's own. */
  eventQueue?: number;
  build(surroundings: Surroundings): Controller;
}

/** Bookmarks prove a quiet watch alive every minute; ten of them missing is more than an outage that heals itself. */
const MAX_STALENESS_MS = 600_000;
const EVENT_FLUSH_MS = 2_000;

const flushEvents = async (events: EventRecorder, clock: Clock): Promise<void> => {
  const limit = new AbortController();
  const timer = clock.setTimeout(() => limit.abort(new Error('time is up')), EVENT_FLUSH_MS);
  await events.flush(limit.signal).catch(() => undefined);
  timer.cancel();
};

/** Resolves after a clean stop; rejects when leadership is lost or a port cannot be opened. */
export const serveController = async (
  session: ControllerSession,
  { component, eventQueue, build }: ServeOptions,
  signal: AbortSignal,
): Promise<void> => {
  const { config, clock, logger, print, identity: instance } = session;
  const fence: Fence = { holds: () => true };
  const client = createFencedClient(session.client, () => fence.holds());
  const metrics = createMetrics();
  const stop = new AbortController();
  const running = AbortSignal.any([signal, stop.signal]);
  // Outlives the controller a little, so that the last events are sent.
  const eventsStop = new AbortController();
  const queue = eventQueue === undefined ? {} : { queueSize: eventQueue };
  const recording = { client, clock, logger, component, instance, ...queue, onDropped: createEventMetrics(metrics) };
  const events = createEventRecorder(recording, eventsStop.signal);
  const controller = build({ client, events, metrics });
  const followed = [...controller.caches, ...(controller.alsoFollowed ?? [])];
  const readiness = [cachesListed(controller.caches)];
  let leads = false;
  createProcessMetrics(metrics, { command: component, readiness, leads: () => leads });
  showStaleness(metrics, () =>
    followed.map(({ resource, stalenessMs }) => ({ resource: resource.plural, milliseconds: stalenessMs() })),
  );
  const liveness = [informerFreshness(followed, MAX_STALENESS_MS)];
  const ports = await openPorts({ config, liveness, readiness, metrics, logger });
  print(`health on port ${ports.health.port}, metrics on port ${ports.metrics.port}\n`);
  const following = controller.follow(running);
  try {
    await controller.filled(running);
    logger.info('caches are filled');
    const work = async (leading: AbortSignal): Promise<void> => {
      leads = true;
      await controller.work(leading).finally(() => (leads = false));
    };
    await workWhileLeading(session, work, fence, running);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await flushEvents(events, clock);
    eventsStop.abort();
    stop.abort();
    await following;
    await ports.close();
  }
};
