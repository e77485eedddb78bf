// Runs controllers: their caches in every replica, their work in the one that leads, health and metrics in all; what controller-runtime's manager does.
import type { EndpointConfiguration } from '../apis/config/schema.ts';
import { defined } from '../apis/values.ts';
import type { KubernetesObject, ObjectRef } from '../apis/meta.ts';
import type { Resource } from '../apis/resources.ts';
import {
  type Metrics,
  countFailures,
  createControllerMetrics,
  createEventMetrics,
  createMetrics,
  createProcessMetrics,
  showStaleness,
} from '../telemetry/metrics.ts';
import { openPorts } from '../telemetry/ports.ts';
import type { HealthCheck } from '../telemetry/log.ts';
import type { Cache } from './cache.ts';
import { createCaches } from './caches.ts';
import { createController } from './controller.ts';
import { createDeadline } from './wait.ts';
import { createEventRecorder } from './events.ts';
import { createFencedClient } from './client.ts';
import { listedCheck } from './informer.ts';
import { type Candidate, type Fence, workWhileLeading } from './leader-election.ts';
import type { Client, ClientContext, EventRecorder, Reconciler, WriteOptions } from './types.ts';
import type { Watch } from './watches.ts';
import { createWorkQueue } from './work-queue.ts';

/** What the client needs of a cache, whatever its objects. */
type WrittenCache = Pick<Cache<never>, 'resource' | 'beginWrite'>;

/** Does as `client` does, and hands what the API server stored for a write to each cache of the resource; the answer of a dry run goes to none. */
const createWriteThroughClient = (client: Client, caches: Iterable<WrittenCache>): Client => {
  const through = async <T extends KubernetesObject>(
    { group, plural }: Resource,
    ref: ObjectRef,
    { dryRun }: WriteOptions,
    write: () => Promise<T>,
  ): Promise<T> => {
    const concerned = [...caches].filter(({ resource }) => resource.group === group && resource.plural === plural);
    const writes = dryRun === true ? [] : concerned.map((cache) => cache.beginWrite(ref));
    const answer = await write();
    for (const end of writes) end(answer);
    return answer;
  };
  return {
    ...client,
    update: (resource, object, options = {}, signal) =>
      through(resource, { name: '', ...object.metadata }, options, () =>
        client.update(resource, object, options, signal),
      ),
    patch: (resource, ref, type, patch, options = {}, signal) =>
      through(resource, ref, options, () => client.patch(resource, ref, type, patch, options, signal)),
  };
};

/** What a controller that is made for a manager works with. */
export interface ControllerContext extends ClientContext {
  readonly events: EventRecorder;
  readonly metrics: Metrics;
}

/** What reconciles one kind of key, and when. */
export interface ControllerSpec extends Reconciler {
  readonly watches: readonly Watch[];
  /** Caches that must be filled beside those that are watched. Default: none. */
  readonly reads?: readonly Pick<Cache<never>, 'settled'>[];
  /** Keys that are reconciled at the same time. Default 1. */
  readonly concurrency?: number;
  /** Longest reconcile, milliseconds. Default two minutes. */
  readonly timeoutMs?: number;
}

/** Works until the signal aborts, and resolves then. */
export type Task = (signal: AbortSignal) => Promise<unknown>;

/**
 * A cache that was not proved current for so long fails liveness. Bookmarks prove a quiet watch alive every minute; ten of them missing
 * is more than an outage that heals itself.
 */
const MAX_STALENESS_MS = 600_000;
const EVENT_FLUSH_MS = 2_000;

export const createManager = (
  options: Candidate & {
    client: Client;
    /** Name of the command: what its events are from. */
    component: string;
    config: { health: EndpointConfiguration; metrics: EndpointConfiguration };
    /** Events that wait to be sent; more are dropped. Default the recorder's own. */
    eventQueue?: number;
    /** Where the line with the ports goes. */
    print(text: string): void;
  },
) => {
  const { component, config, clock, random, logger, identity: instance, print } = options;
  const fence: Fence = { holds: () => true };
  const metrics: Metrics = createMetrics();
  const hooksOf = createControllerMetrics(metrics);
  const failures = countFailures(metrics);
  const failed = new Set<() => void>();
  const onFailure = (): void => {
    failures.inc();
    for (const callback of failed) callback();
  };
  const caches = createCaches({ client: options.client, clock, random, logger, onFailure });
  const fenced = createFencedClient(options.client, () => fence.holds());
  const client = createWriteThroughClient(fenced, caches.own);
  const stop = new AbortController();
  const resigned = new AbortController();
  // Outlives the controllers a little, so that the last events are sent.
  const eventsStop = new AbortController();
  const recording = { client: fenced, clock, logger, component, instance, onDropped: createEventMetrics(metrics) };
  const queueSize = defined({ queueSize: options.eventQueue });
  const events = createEventRecorder({ ...recording, ...queueSize }, eventsStop.signal);
  const everywhere: Task[] = [];
  const steps: Task[] = [];
  const leading: Task[] = [];

  const controller = (
    name: string,
    { watches, reads = [], concurrency, timeoutMs, ...reconciler }: ControllerSpec,
  ): void => {
    const hooks = hooksOf(name);
    const queue = createWorkQueue({ clock, hooks });
    const limits = defined({ concurrency, timeoutMs });
    const workers = createController({ name, reconciler, queue, clock, logger, hooks, ...limits });
    leading.push(async (signal) => {
      const filled = Promise.all([...watches, ...reads].map((source) => source.settled(signal)));
      if ((await filled.catch(() => undefined)) === undefined) return;
      for (const watch of watches) watch.start(queue.addAfter, signal);
      await workers.run(signal);
    });
  };

  /** Opens the ports, and shows what every controller shows; returns what closes them. */
  const open = async (leads: () => boolean) => {
    const listed = listedCheck(() => caches.own.filter(({ state }) => state === 'pending'));
    const fresh: HealthCheck = {
      name: 'informer-freshness',
      check() {
        const stale = caches.own
          .map(({ resource, stalenessMs }) => ({ plural: resource.plural, age: stalenessMs() }))
          .filter(({ age }) => age > MAX_STALENESS_MS)
          .map(({ plural, age }) => `${plural} for ${Math.round(age / 1000)} s`);
        return stale.length === 0 ? undefined : `no news of ${stale.join(', ')}`;
      },
    };
    const [readiness, liveness] = [[listed], [fresh]];
    createProcessMetrics(metrics, { command: component, readiness, leads });
    showStaleness(metrics, () =>
      caches.own.map(({ resource, stalenessMs }) => ({ resource: resource.plural, milliseconds: stalenessMs() })),
    );
    const ports = await openPorts({ config, liveness, readiness, metrics, logger });
    print(`health on port ${ports.health.port}, metrics on port ${ports.metrics.port}\n`);
    return ports;
  };

  const flushEvents = async (): Promise<void> => {
    using limit = createDeadline(clock, EVENT_FLUSH_MS);
    await events.flush(limit.signal).catch(() => undefined);
  };

  return {
    /** Writes only while this process leads; caches read what it wrote. */
    client,
    events,
    metrics,
    /** Aborts when this process stops leading: ends what outlives a reconcile. */
    get resigned(): AbortSignal {
      return resigned.signal;
    },
    /** Opens a cache that runs in every replica. All caches are opened before `run`. */
    cache: <T extends KubernetesObject>(...args: Parameters<typeof caches.open<T>>) => caches.open(...args),
    /** Calls back when a list or watch failed; the caches recover by themselves. */
    onCacheFailure: (callback: () => void): void => void failed.add(callback),
    /** Reconciles in the replica that leads, once the caches that it watches are filled. */
    controller,
    inEveryReplica: (task: Task): void => void everywhere.push(task),
    /** Is done in every replica once the caches are filled, before anything is decided; in order. */
    beforeLeading: (step: Task): void => void steps.push(step),
    /** Runs in the replica that leads, beside its controllers. */
    whileLeading: (task: Task): void => void leading.push(task),
    /**
     * Runs everything until the signal aborts. Stops in this order: controllers, the Lease, events, caches, ports. Rejects when leadership
     * is lost or a port cannot be opened.
     */
    async run(signal: AbortSignal): Promise<void> {
      let leads = false;
      const ports = await open(() => leads);
      const running = AbortSignal.any([signal, stop.signal]);
      const following = Promise.all([caches.run(running), ...everywhere.map((task) => task(running))]);
      const lead = async (term: AbortSignal): Promise<void> => {
        leads = true;
        term.addEventListener('abort', () => resigned.abort(term.reason), { once: true });
        await Promise.all(leading.map((task) => task(term))).finally(() => (leads = false));
        logger.info('controllers stopped', { command: component });
      };
      try {
        await caches.settled(running);
        for (const step of steps) await step(running);
        logger.info('caches are filled');
        await workWhileLeading(options, lead, fence, running);
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        await flushEvents();
        eventsStop.abort();
        stop.abort();
        await following;
        await ports.close();
      }
    },
  };
};
